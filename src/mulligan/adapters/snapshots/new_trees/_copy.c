/* Copies the files of a known tree into a new one: the quick half of tree_creation.py.

   A file is copied only where it is what is known of it: its signature is the same before its bytes are read and
   afterwards. Anything else is left to Python, which writes it from the store, so that every rule about it is in one
   place. Contents are shared with the original where the filesystem can do that (FICLONE). Where it cannot, the system
   copies large files on its own (copy_file_range), and small ones are read and written.

   Folders are reached one name at a time and never through a symlink. Several threads copy without the GIL, each
   folder by one of them: two that make names in one folder wait for each other. */

#define _GNU_SOURCE /* copy_file_range */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../format/_signatures.h"

#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define MOST_THREADS 16
#define BUFFER (256 * 1024)
#define LARGE (32 * 1024) /* bytes: smaller files are read and written as fast */
#define HUGE_FILE (64 * 1024 * 1024) /* bytes: larger ones are left to Python, which can be interrupted */

typedef struct {
    const char *path; /* from the tree's own folder, with zero bytes in place of slashes; empty for that folder */
    size_t path_length;
    const char *names; /* with zero bytes between them */
    size_t names_length;
    const unsigned char *signatures;
    size_t count;
    unsigned char *left; /* for each name: 1 where it was not copied */
} Folder;

typedef struct {
    int source, target; /* descriptors of the trees' own folders */
    Folder *folders;
    size_t count;
    pthread_mutex_t lock; /* over all that follows */
    size_t next;
    int shares; /* contents can be shared, as far as is known */
    int failed; /* errno of what the new tree refused; 0: nothing */
    size_t failed_folder;
    const char *failed_name;
} Copy;

static struct timespec time_of(long long ns)
{
    struct timespec time = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
    if (time.tv_nsec < 0) {
        time.tv_sec--;
        time.tv_nsec += SECOND_NS;
    }
    return time;
}

/* --- folders ------------------------------------------------------------------------------------------- */

/* Open a folder by its names; -1 with errno where that fails. */
static int open_folder(int top, const char *path, size_t length)
{
    int fd = open_at(top, ".", FOLDER_FLAGS, 0);
    const char *end = path + length;
    for (const char *name = path; fd >= 0 && name < end; name += strlen(name) + 1) {
        int inner = open_at(fd, name, FOLDER_FLAGS, 0), error = errno;
        close(fd);
        errno = error;
        fd = inner;
    }
    return fd;
}

/* Make a folder in one that is there; returns 0 or an errno. */
static int make_folder(int top, const Folder *folder)
{
    const char *name = folder->path + folder->path_length;
    while (name > folder->path && name[-1] != '\0')
        name--;
    int parent = open_folder(top, folder->path, (size_t)(name - folder->path));
    if (parent < 0)
        return errno;
    int failed = mkdirat(parent, name, 0700) == 0 ? 0 : errno;
    close(parent);
    return failed;
}

/* --- files --------------------------------------------------------------------------------------------- */

/* Share the content of a file with another; 0 where the filesystem cannot. */
static int share(Copy *copy, int source, int target)
{
#ifdef FICLONE
    if (__atomic_load_n(&copy->shares, __ATOMIC_RELAXED)) {
        if (ioctl(target, FICLONE, source) == 0)
            return 1;
        /* Of other errors the next file may be free, and writing reports what is wrong with the disk. */
        if (errno == EOPNOTSUPP || errno == EXDEV || errno == ENOTTY || errno == ENOSYS || errno == EINVAL)
            __atomic_store_n(&copy->shares, 0, __ATOMIC_RELAXED);
    }
#else
    (void)copy, (void)source, (void)target;
#endif
    return 0;
}

/* Let the system copy a large file on its own; returns how far it came, negative: -errno of writing. */
static int64_t copy_inside(int source, int target, uint64_t size)
{
    uint64_t done = 0;
#ifdef __linux__
    while (size >= LARGE && done < size) {
        ssize_t copied = copy_file_range(source, NULL, target, NULL, (size_t)(size - done), 0);
        if (copied < 0 && errno == EINTR)
            continue;
        if (copied < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
            return -errno;
        if (copied <= 0)
            break; /* between these two it cannot: the rest is read and written */
        done += (uint64_t)copied;
    }
#else
    (void)source, (void)target, (void)size;
#endif
    return (int64_t)done;
}

/* Read a file and write what was read; 1: done, 0: it is not as long as is known, negative: -errno of writing. */
static int copy_bytes(int source, int target, uint64_t size, char *buffer)
{
    if (size > HUGE_FILE)
        return 0;
    int64_t inside = copy_inside(source, target, size);
    if (inside < 0)
        return (int)inside;
    for (uint64_t done = (uint64_t)inside; done < size;) {
        ssize_t found = read(source, buffer, BUFFER);
        if (found < 0 && errno == EINTR)
            continue;
        if (found <= 0)
            return 0;
        for (ssize_t at = 0; at < found;) {
            ssize_t written = write(target, buffer + at, (size_t)(found - at));
            if (written < 0 && errno == EINTR)
                continue;
            if (written < 0)
                return -errno;
            at += written;
        }
        done += (uint64_t)found;
    }
    return 1;
}

/* Return whether an open file has the signature that is known of it. */
static int is_as_known(int fd, const unsigned char *known)
{
    struct stat st;
    return has_signature(fd, known, &st);
}

/* Copy an open file into a new one; 1: done, 0: it is not what is known of it, negative: -errno of the new one. */
static int fill(Copy *copy, int source, int target, const unsigned char *known, char *buffer)
{
    uint64_t size = get(known + 16, 8);
    int done = size == 0 || share(copy, source, target);
    if (!done)
        done = copy_bytes(source, target, size, buffer);
    if (done <= 0 || !is_as_known(source, known))
        return done < 0 ? done : 0;
    struct timespec mtime = time_of((long long)get(known + 24, 8)), times[2] = {mtime, mtime};
    if (fchmod(target, (mode_t)get(known, 4) & 07777) != 0 || futimens(target, times) != 0)
        return -errno;
    return 1;
}

/* Copy a file from an open folder to another, with the results of `fill`. */
static int copy_file(Copy *copy, int from, int to, const char *name, const unsigned char *known, char *buffer)
{
    int source = open_at(from, name, OLD_FILE, 0);
    if (source < 0)
        return 0;
    int done = is_as_known(source, known);
    if (done) {
        int target = open_at(to, name, NEW_FILE, 0600);
        if (target < 0) {
            done = -errno;
        } else {
            done = fill(copy, source, target, known, buffer);
            if (close(target) != 0 && done > 0)
                done = -errno;
            if (done == 0 && unlinkat(to, name, 0) != 0)
                done = -errno;
        }
    }
    close(source);
    return done;
}

static void fail(Copy *copy, int error, const Folder *folder, const char *name)
{
    pthread_mutex_lock(&copy->lock);
    if (copy->failed == 0) {
        copy->failed = error;
        copy->failed_folder = (size_t)(folder - copy->folders);
        copy->failed_name = name;
    }
    pthread_mutex_unlock(&copy->lock);
}

static void copy_folder(Copy *copy, Folder *folder, char *buffer)
{
    int to = open_folder(copy->target, folder->path, folder->path_length);
    if (to < 0) {
        fail(copy, errno, folder, "");
        return;
    }
    int from = open_folder(copy->source, folder->path, folder->path_length);
    const char *name = folder->names, *end = name + folder->names_length;
    for (size_t at = 0; at < folder->count && name < end; at++) {
        const unsigned char *known = folder->signatures + at * SIGNATURE;
        int done = 1;
        if (S_ISREG((mode_t)get(known, 4)))
            done = from < 0 ? 0 : copy_file(copy, from, to, name, known, buffer);
        if (done < 0) {
            fail(copy, -done, folder, name);
            break;
        }
        folder->left[at] = done == 0;
        name += strlen(name) + 1;
    }
    if (from >= 0)
        close(from);
    close(to);
}

/* --- all folders --------------------------------------------------------------------------------------- */

static void *work(void *argument)
{
    Copy *copy = argument;
    char *buffer = malloc(BUFFER);
    if (buffer == NULL) {
        fail(copy, ENOMEM, copy->folders, "");
        return NULL;
    }
    for (;;) {
        pthread_mutex_lock(&copy->lock);
        Folder *folder = copy->failed == 0 && copy->next < copy->count ? &copy->folders[copy->next++] : NULL;
        pthread_mutex_unlock(&copy->lock);
        if (folder == NULL)
            break;
        if (folder->count > 0)
            copy_folder(copy, folder, buffer);
    }
    free(buffer);
    return NULL;
}

static void copy_all(Copy *copy, int threads)
{
    for (size_t at = 0; at < copy->count; at++) {
        const Folder *folder = &copy->folders[at];
        int failed = folder->path_length > 0 ? make_folder(copy->target, folder) : 0;
        if (failed) {
            fail(copy, failed, folder, "");
            return;
        }
    }
    pthread_t others[MOST_THREADS];
    int started = 0;
    sigset_t all, before; /* signals are for Python's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < threads - 1 && pthread_create(&others[started], NULL, work, copy) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(copy);
    while (started > 0)
        pthread_join(others[--started], NULL);
}

/* --- for Python ---------------------------------------------------------------------------------------- */

static void free_folders(Copy *copy)
{
    for (size_t at = 0; at < copy->count; at++)
        free(copy->folders[at].left);
    free(copy->folders);
}

/* Take over the folders, each as (path, names, signatures); 0 with an exception where that fails. */
static int read_folders(Copy *copy, PyObject *folders)
{
    Py_ssize_t count = PyList_GET_SIZE(folders);
    copy->folders = calloc((size_t)count + 1, sizeof *copy->folders);
    if (copy->folders == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        Folder *folder = &copy->folders[at];
        Py_ssize_t path, names, signatures;
        const char *known;
        /* The list keeps them, and the caller the list; each ends with a zero byte, as all bytes do. */
        if (!PyArg_ParseTuple(PyList_GET_ITEM(folders, at), "y#y#y#:folder", &folder->path, &path,
                              &folder->names, &names, &known, &signatures))
            return 0;
        folder->path_length = (size_t)path;
        folder->names_length = (size_t)names;
        folder->signatures = (const unsigned char *)known;
        folder->count = (size_t)signatures / SIGNATURE;
        folder->left = calloc(folder->count + 1, 1);
        copy->count++;
        if (folder->left == NULL) {
            PyErr_NoMemory();
            return 0;
        }
    }
    return 1;
}

/* What was not copied: a list of (number of the folder, name). */
static PyObject *list_left(const Copy *copy)
{
    PyObject *left = PyList_New(0);
    for (size_t at = 0; left != NULL && at < copy->count; at++) {
        const Folder *folder = &copy->folders[at];
        const char *name = folder->names;
        for (size_t each = 0; left != NULL && each < folder->count; each++, name += strlen(name) + 1) {
            if (!folder->left[each])
                continue;
            PyObject *text = PyUnicode_DecodeFSDefault(name);
            PyObject *pair = text ? Py_BuildValue("(nN)", (Py_ssize_t)at, text) : NULL;
            if (pair == NULL || PyList_Append(left, pair) != 0)
                Py_CLEAR(left);
            Py_XDECREF(pair);
        }
    }
    return left;
}

/* Raise what the new tree refused, with the path in the form of the folders' paths. */
static PyObject *raise_failure(const Copy *copy)
{
    const Folder *folder = &copy->folders[copy->failed_folder];
    PyObject *path = PyBytes_FromStringAndSize(folder->path, (Py_ssize_t)folder->path_length);
    if (path != NULL && copy->failed_name[0] != '\0') {
        if (folder->path_length > 0)
            PyBytes_ConcatAndDel(&path, PyBytes_FromStringAndSize("", 1));
        if (path != NULL)
            PyBytes_ConcatAndDel(&path, PyBytes_FromString(copy->failed_name));
    }
    if (path == NULL)
        return NULL;
    errno = copy->failed;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    Py_DECREF(path);
    return NULL;
}

static PyObject *copy_tree(PyObject *Py_UNUSED(module), PyObject *args)
{
    Copy copy = {.shares = 1};
    PyObject *folders, *left = NULL;
    int threads;
    if (!PyArg_ParseTuple(args, "iiO!i:copy", &copy.source, &copy.target, &PyList_Type, &folders, &threads))
        return NULL;
    if (threads < 1 || threads > MOST_THREADS) {
        PyErr_Format(PyExc_ValueError, "threads must be 1 to %d, not %d", MOST_THREADS, threads);
    } else if (pthread_mutex_init(&copy.lock, NULL) != 0) {
        PyErr_NoMemory();
    } else {
        if (read_folders(&copy, folders)) {
            Py_BEGIN_ALLOW_THREADS
            copy_all(&copy, threads);
            Py_END_ALLOW_THREADS
            left = copy.failed ? raise_failure(&copy) : list_left(&copy);
        }
        pthread_mutex_destroy(&copy.lock);
    }
    free_folders(&copy);
    return left;
}

static PyMethodDef methods[] = {
    {"copy", copy_tree, METH_VARARGS,
     "copy(source_fd, target_fd, folders, threads)\n--\n\n"
     "Make folders, each as (path, names, signatures), and copy the files in them that are as known; return the"
     " others."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_copy",
    .m_doc = "Copying files of a known tree without the GIL: the quick half of tree_creation.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__copy(void) { return PyModuleDef_Init(&module); }
