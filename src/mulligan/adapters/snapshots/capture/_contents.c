/* Reads the files of a folder: the quick half of entry_reader.py.

   A file is read only where it is plain: it has one name, no user.* attributes and no holes, and its signature is
   what the scan found, before its bytes are read and afterwards. Anything else is left to Python, so that every rule
   about it is in one place: files that change meanwhile, large ones, databases in the middle of a transaction. */

#define _GNU_SOURCE /* SEEK_HOLE */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <unistd.h>

#include "../format/_signatures.h"

#ifdef __linux__
#include <sys/xattr.h>
#endif

#define SMALLEST_PAGE 512 /* bytes: what the size of a database is a multiple of */
#define ATTRIBUTES 1024   /* bytes of names: a file with more is left to Python */

static const char DATABASE[16] = "SQLite format 3";

typedef struct {
    const char *name;
    const unsigned char *known; /* its signature */
    char *bytes;                /* as many as the signature says */
    int is_read;
} File;

/* Return whether an open file may have attributes that are kept. */
static int has_attributes(int fd)
{
#ifdef __linux__
    char names[ATTRIBUTES];
    ssize_t length = flistxattr(fd, names, sizeof names);
    if (length < 0)
        return errno != ENOTSUP && errno != ENOSYS;
    for (const char *name = names; name < names + length; name += strlen(name) + 1)
        if (strncmp(name, "user.", 5) == 0)
            return 1;
#else
    (void)fd;
#endif
    return 0;
}

/* Return whether an open file may have holes. */
static int has_holes(int fd, const struct stat *st)
{
    return (uint64_t)st->st_blocks * 512 < (uint64_t)st->st_size && lseek(fd, 0, SEEK_HOLE) < st->st_size;
}

static int is_database(const char *bytes, uint64_t size)
{
    return size > 0 && size % SMALLEST_PAGE == 0 && memcmp(bytes, DATABASE, sizeof DATABASE) == 0;
}

/* Return whether all bytes of an open file were read, and it did not change. */
static int read_open(int fd, const File *file)
{
    struct stat st;
    uint64_t size = get(file->known + 16, 8), done = 0;
    if (!has_signature(fd, file->known, &st) || has_holes(fd, &st))
        return 0;
    while (done < size) {
        ssize_t found = pread(fd, file->bytes + done, (size_t)(size - done), (off_t)done);
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0)
            return 0;
        done += (uint64_t)found;
    }
    return !is_database(file->bytes, size) && !has_attributes(fd) && has_signature(fd, file->known, &st);
}

static void read_all(int folder, File *files, size_t count)
{
    for (File *file = files; file < files + count; file++) {
        if (file->bytes == NULL)
            continue;
        int fd = open_at(folder, file->name, OLD_FILE, 0);
        if (fd < 0)
            continue;
        file->is_read = read_open(fd, file);
        close(fd);
    }
}

/* Return whether a file is one to be read here, by its signature. */
static int is_wanted(const unsigned char *known, Py_ssize_t largest)
{
    return S_ISREG((mode_t)get(known, 4)) && get(known + 4, 4) == 1 && get(known + 16, 8) <= (uint64_t)largest;
}

/* Make room for the files; returns how many there is room for, or -1 with an exception. */
static Py_ssize_t prepare(File *files, PyObject **contents, Py_ssize_t count, Py_ssize_t largest, Py_ssize_t enough)
{
    Py_ssize_t total = 0, at = 0;
    for (; at < count && total < enough; at++) {
        contents[at] = NULL;
        if (!is_wanted(files[at].known, largest))
            continue;
        Py_ssize_t size = (Py_ssize_t)get(files[at].known + 16, 8);
        /* Not seen by anyone yet, except where it is empty or a single byte, which are shared: the latter are read
           into a larger one, which is cut afterwards. */
        contents[at] = PyBytes_FromStringAndSize(NULL, size < 2 ? 2 : size);
        if (contents[at] == NULL)
            return -1;
        files[at].bytes = PyBytes_AS_STRING(contents[at]);
        total += size;
    }
    return at;
}

/* What was read: a list of bytes, with None for each file that is left. */
static PyObject *list_contents(const File *files, PyObject **contents, Py_ssize_t count)
{
    PyObject *found = PyList_New(count);
    for (Py_ssize_t at = 0; found != NULL && at < count; at++) {
        Py_ssize_t size = (Py_ssize_t)get(files[at].known + 16, 8);
        if (files[at].is_read && size < 2 && _PyBytes_Resize(&contents[at], size) != 0) {
            Py_CLEAR(found);
            break;
        }
        PyObject *content = files[at].is_read ? contents[at] : Py_None;
        Py_INCREF(content);
        PyList_SET_ITEM(found, at, content);
    }
    return found;
}

static PyObject *read_files(PyObject *Py_UNUSED(module), PyObject *args)
{
    int folder;
    const char *names, *known;
    Py_ssize_t names_length, known_length, largest, enough;
    if (!PyArg_ParseTuple(args, "iy#y#nn:read", &folder, &names, &names_length, &known, &known_length, &largest,
                          &enough))
        return NULL;
    Py_ssize_t count = 0, all = known_length / SIGNATURE;
    File *files = calloc((size_t)all + 1, sizeof *files);
    PyObject **contents = calloc((size_t)all + 1, sizeof *contents), *found = NULL;
    if (files == NULL || contents == NULL) {
        PyErr_NoMemory();
    } else {
        const char *name = names, *end = names + names_length;
        for (; count < all && name < end; count++, name += strlen(name) + 1) {
            files[count].name = name;
            files[count].known = (const unsigned char *)known + count * SIGNATURE;
        }
        Py_ssize_t ready = prepare(files, contents, count, largest, enough);
        if (ready >= 0) {
            Py_BEGIN_ALLOW_THREADS
            read_all(folder, files, (size_t)ready);
            Py_END_ALLOW_THREADS
            found = list_contents(files, contents, ready);
        }
    }
    for (Py_ssize_t at = 0; contents != NULL && at < count; at++)
        Py_XDECREF(contents[at]);
    free(contents);
    free(files);
    return found;
}

static PyMethodDef methods[] = {
    {"read", read_files, METH_VARARGS,
     "read(folder_fd, names, signatures, largest, enough)\n--\n\n"
     "Read the files that are plain and as known, until these are enough bytes; None for any other."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_contents",
    .m_doc = "Reading the files of a folder without the GIL: the quick half of entry_reader.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__contents(void) { return PyModuleDef_Init(&module); }
