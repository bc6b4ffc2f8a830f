/* The entries of a git index, walked and brought up to date: the quick half of index_file.py.

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

/* Where the entries end; -1: not walked. Without folders nothing is changed. */
static Py_ssize_t walk(unsigned char *data, Py_ssize_t size, Py_ssize_t id_size, int old_fd, int new_fd) {
    if (size < HEADER + id_size) return -1;
    uint32_t version = number_at(data + 4), count = number_at(data + 8);
    if (version != 2 && version != 3) return -1;
    Py_ssize_t at = HEADER, flags_at = STAT + id_size, limit = size - id_size;
    for (uint32_t index = 0; index < count; index++) {
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
        if (next > limit || data[name + length] != 0) return -1;
        if (old_fd >= 0 && !(high & STAGE)) follow_one(data + at, (const char *)data + name, old_fd, new_fd);
        at = next;
    }
    return at;
}

static PyObject *follow(PyObject *self, PyObject *args) {
    (void)self;
    Py_buffer buffer;
    Py_ssize_t id_size, end;
    int old_fd, new_fd;
    if (!PyArg_ParseTuple(args, "w*nii:follow", &buffer, &id_size, &old_fd, &new_fd)) return NULL;
    Py_BEGIN_ALLOW_THREADS
    end = walk(buffer.buf, buffer.len, id_size, old_fd, new_fd);
    Py_END_ALLOW_THREADS
    PyBuffer_Release(&buffer);
    return PyLong_FromSsize_t(end);
}

static PyMethodDef methods[] = {
    {"follow", follow, METH_VARARGS,
     "follow(data, id_size, old_fd, new_fd)\n--\n\n"
     "Bring entries that were valid for the files below one folder up to date with those below another; return where "
     "the entries end, or -1."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_entries",
    .m_doc = "Walking the entries of a git index without the GIL.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__entries(void) { return PyModuleDef_Init(&module); }
