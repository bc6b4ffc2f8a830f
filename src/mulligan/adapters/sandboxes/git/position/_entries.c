/* The entries of a git index, walked, listed and brought up to date: the quick half of index_file.py.

   It knows versions 2 and 3 of the format, in which every name is followed by a zero byte. Anything else (version 4, an
   index that is cut off) is given back as not walked, and index_file.py does it by hand. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER 12
#define STAT 40 /* bytes: ctime, mtime (seconds, nanoseconds each), dev, ino, mode, uid, gid, size */
#define EXTENDED 0x40
#define STAGE 0x30
#define LONG_NAME 0x0FFF
#define INTENT 0x20 /* in the third byte of the flags */
#define GITLINK 0160000

#ifdef __APPLE__
#define MTIME st_mtimespec
#define CTIME st_ctimespec
#else
#define MTIME st_mtim
#define CTIME st_ctim
#endif

static uint32_t number_at(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put(unsigned char *at, uint64_t value) {
    at[0] = (unsigned char)(value >> 24);
    at[1] = (unsigned char)(value >> 16);
    at[2] = (unsigned char)(value >> 8);
    at[3] = (unsigned char)value;
}

/* Whether an entry was valid for a file; some systems keep no nanoseconds. */
static int knows(const unsigned char *entry, const struct stat *st) {
    uint32_t ctime_ns = number_at(entry + 4), mtime_ns = number_at(entry + 12);
    return number_at(entry) == (uint32_t)st->CTIME.tv_sec && number_at(entry + 8) == (uint32_t)st->MTIME.tv_sec &&
           number_at(entry + 20) == (uint32_t)st->st_ino && number_at(entry + 28) == (uint32_t)st->st_uid &&
           number_at(entry + 32) == (uint32_t)st->st_gid && number_at(entry + 36) == (uint32_t)st->st_size &&
           ((ctime_ns == (uint32_t)st->CTIME.tv_nsec && mtime_ns == (uint32_t)st->MTIME.tv_nsec) ||
            (ctime_ns == 0 && mtime_ns == 0));
}

static void learn(unsigned char *entry, const struct stat *st) {
    put(entry, (uint64_t)st->CTIME.tv_sec);
    put(entry + 4, (uint64_t)st->CTIME.tv_nsec);
    put(entry + 8, (uint64_t)st->MTIME.tv_sec);
    put(entry + 12, (uint64_t)st->MTIME.tv_nsec);
    put(entry + 16, (uint64_t)st->st_dev);
    put(entry + 20, (uint64_t)st->st_ino);
    put(entry + 28, (uint64_t)st->st_uid);
    put(entry + 32, (uint64_t)st->st_gid);
    put(entry + 36, (uint64_t)st->st_size);
}

static void follow_one(unsigned char *entry, const char *path, int old_fd, int new_fd) {
    struct stat was, now;
    uint32_t mode = number_at(entry + 24);
    if ((mode & S_IFMT) == GITLINK || (mode & S_IFMT) == S_IFDIR) return;
    if (fstatat(old_fd, path, &was, AT_SYMLINK_NOFOLLOW) != 0) return; /* deleted, or never checked out */
    if (fstatat(new_fd, path, &now, AT_SYMLINK_NOFOLLOW) != 0) return;
    if (was.MTIME.tv_sec == now.MTIME.tv_sec && was.MTIME.tv_nsec == now.MTIME.tv_nsec && was.st_size == now.st_size &&
        (was.st_mode & S_IFMT) == (now.st_mode & S_IFMT) && knows(entry, &was))
        learn(entry, &now);
}

/* One entry, as a walk meets it. */
typedef struct {
    Py_ssize_t at; /* where it begins */
    const unsigned char *path;
    Py_ssize_t length; /* of the path */
    uint32_t mode;
    int stage;
    int is_announced; /* by `git add -N` */
} Entry;

typedef struct {
    unsigned char *data;
    Py_ssize_t size, id_size, next;
    uint32_t count; /* of entries to come */
} Walk;

/* Whether the index is one that can be walked. */
static int begin(Walk *walk, unsigned char *data, Py_ssize_t size, Py_ssize_t id_size) {
    if (size < HEADER + id_size) return 0;
    uint32_t version = number_at(data + 4);
    *walk = (Walk){data, size, id_size, HEADER, number_at(data + 8)};
    return version == 2 || version == 3;
}

/* 1 with the next entry, 0 at the end, -1 where the index cannot be walked. */
static int step(Walk *walk, Entry *entry) {
    const unsigned char *data = walk->data;
    Py_ssize_t at = walk->next, flags_at = STAT + walk->id_size, limit = walk->size - walk->id_size;
    if (walk->count == 0) return 0;
    if (at > limit - flags_at - 4) return -1;
    unsigned char high = data[at + flags_at], low = data[at + flags_at + 1];
    Py_ssize_t name = at + flags_at + (high & EXTENDED ? 4 : 2);
    Py_ssize_t length = (Py_ssize_t)(high & 0x0F) << 8 | low;
    if (length == LONG_NAME) {
        const unsigned char *zero = name < limit ? memchr(data + name, 0, (size_t)(limit - name)) : NULL;
        if (zero == NULL) return -1;
        length = zero - (data + name);
    }
    Py_ssize_t next = at + (name + length - at + 8) / 8 * 8;
    if (next > limit || memchr(data + name, 0, (size_t)length + 1) != data + name + length) return -1;
    int more = high & EXTENDED ? data[at + flags_at + 2] : 0;
    *entry = (Entry){at, data + name, length, number_at(data + at + 24), (high & STAGE) >> 4, (more & INTENT) != 0};
    walk->next = next;
    walk->count--;
    return 1;
}

static PyObject *follow(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer buffer;
    Py_ssize_t id_size;
    int old_fd, new_fd, found = -1;
    Walk walk;
    Entry entry;
    if (!PyArg_ParseTuple(args, "w*nii:follow", &buffer, &id_size, &old_fd, &new_fd)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    if (begin(&walk, buffer.buf, buffer.len, id_size))
        while ((found = step(&walk, &entry)) == 1)
            if (old_fd >= 0 && !entry.stage)
                follow_one(walk.data + entry.at, (const char *)entry.path, old_fd, new_fd);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return PyLong_FromSsize_t(found == 0 ? walk.next : -1);
}

/* Put what stands for an entry into a list or dict. */
typedef int (*Adding)(PyObject *found, const Walk *walk, const Entry *entry);

static PyObject *collected(PyObject *args, PyObject *found, Adding add) {
    Py_buffer buffer;
    Py_ssize_t id_size;
    int more = -1;
    Walk walk;
    Entry entry;
    if (found == NULL || !PyArg_ParseTuple(args, "y*n", &buffer, &id_size)) {
        Py_XDECREF(found);
        return NULL;
    }
    if (begin(&walk, buffer.buf, buffer.len, id_size))
        while ((more = step(&walk, &entry)) == 1)
            if (add(found, &walk, &entry) < 0) {
                PyBuffer_Release(&buffer);
                Py_DECREF(found);
                return NULL;
            }
    PyBuffer_Release(&buffer);
    if (more == 0) return found;
    Py_DECREF(found);
    Py_RETURN_NONE;
}

static int add_odd(PyObject *found, const Walk *walk, const Entry *entry) {
    (void)walk;
    if (!entry->stage && !entry->is_announced && entry->mode != GITLINK) return 0;
    PyObject *each = Py_BuildValue("ny#", entry->at, (const char *)entry->path, entry->length);
    int failed = each == NULL || PyList_Append(found, each) < 0;
    Py_XDECREF(each);
    return failed ? -1 : 0;
}

static int add_listed(PyObject *found, const Walk *walk, const Entry *entry) {
    const unsigned char *at = walk->data + entry->at;
    PyObject *key = NULL, *value = NULL;
    int failed = -1;
    if (entry->stage || entry->length == 0)
        key = PyBytes_FromFormat("%s%c%zd", (const char *)entry->path, 0, entry->stage ? entry->stage : walk->next);
    else
        key = PyBytes_FromStringAndSize((const char *)entry->path, entry->length);
    if (key != NULL) value = PyBytes_FromStringAndSize(NULL, 4 + walk->id_size);
    if (value != NULL) {
        memcpy(PyBytes_AS_STRING(value), at + 24, 4);
        memcpy(PyBytes_AS_STRING(value) + 4, at + STAT, (size_t)walk->id_size);
        failed = PyDict_SetItem(found, key, value);
    }
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

static PyObject *odd(PyObject *self, PyObject *args) {
    (void)self;
    return collected(args, PyList_New(0), add_odd);
}

static PyObject *listing(PyObject *self, PyObject *args) {
    (void)self;
    return collected(args, PyDict_New(), add_listed);
}

static PyMethodDef methods[] = {
    {"follow", follow, METH_VARARGS,
     "follow(data, id_size, old_fd, new_fd)\n--\n\n"
     "Bring entries that were valid for the files below one folder up to date with those below another; return where "
     "the entries end, or -1."},
    {"odd", odd, METH_VARARGS,
     "odd(data, id_size)\n--\n\n"
     "Return where entries begin that are more or less than a file, and their paths: of repositories, of several "
     "versions, announced. None: not walked."},
    {"listing", listing, METH_VARARGS,
     "listing(data, id_size)\n--\n\nReturn the entries as `listing_of` does. None: not walked."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_entries",
    .m_doc = "The entries of a git index, walked without Python.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__entries(void) { return PyModuleDef_Init(&module); }
