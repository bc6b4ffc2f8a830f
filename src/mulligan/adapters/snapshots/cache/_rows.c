/* Questions about all rows of an archive in one go: the quick half of tree_archive.py, which has the format.

   Rows are read only as far as the archive holds them. The caller has verified its bytes. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SIGNATURE 48 /* bytes, as signatures.py packs them */
#define ROW 104      /* bytes, as tree_archive.py packs them */

typedef struct {
    Py_buffer rows, heap;
    Py_ssize_t first, end; /* the rows that are asked about */
} Archive;

typedef struct {
    const char *names;
    const unsigned char *signatures;
    size_t names_length, count;
} Listing;

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int at = bytes; at-- > 0;)
        value = value << 8 | from[at];
    return value;
}

/* Read the listing of a row; 0 with an exception where the archive does not hold it. */
static int read_listing(const Archive *archive, Py_ssize_t number, Listing *listing)
{
    const unsigned char *from = (const unsigned char *)archive->rows.buf + number * ROW;
    uint64_t name = get(from + 4, 4), names = get(from + 8, 4), count = get(from + 12, 4), at = get(from + 24, 8);
    uint64_t length = name + names + count * SIGNATURE, heap = (uint64_t)archive->heap.len;
    if (at > heap || length > heap - at) {
        PyErr_SetString(PyExc_ValueError, "the archive does not hold this row");
        return 0;
    }
    listing->names = (const char *)archive->heap.buf + at + name;
    listing->names_length = names;
    listing->signatures = (const unsigned char *)listing->names + names;
    listing->count = count;
    return 1;
}

static int check_range(const Archive *archive)
{
    if (archive->first >= 0 && archive->first <= archive->end && archive->end <= archive->rows.len / ROW)
        return 1;
    PyErr_SetString(PyExc_ValueError, "the archive does not have these rows");
    return 0;
}

static void release(Archive *archive)
{
    PyBuffer_Release(&archive->rows);
    PyBuffer_Release(&archive->heap);
}

/* How many names are not folders, and how many bytes the files among them hold. */
static PyObject *measure(PyObject *Py_UNUSED(module), PyObject *args)
{
    Archive archive = {0};
    Listing listing;
    if (!PyArg_ParseTuple(args, "y*y*nn:measure", &archive.rows, &archive.heap, &archive.first, &archive.end))
        return NULL;
    unsigned long long files = 0, size = 0;
    int sound = check_range(&archive);
    for (Py_ssize_t row = archive.first; sound && row < archive.end; row++) {
        sound = read_listing(&archive, row, &listing);
        for (size_t each = 0; sound && each < listing.count; each++) {
            const unsigned char *signature = listing.signatures + each * SIGNATURE;
            mode_t mode = (mode_t)get(signature, 4);
            files += !S_ISDIR(mode);
            size += S_ISREG(mode) ? get(signature + 16, 8) : 0;
        }
    }
    release(&archive);
    return sound ? Py_BuildValue("(KK)", files, size) : NULL;
}

static int by_number(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Whether one of these inodes, as eight bytes each and sorted, is among the signatures. */
static PyObject *has_inode(PyObject *Py_UNUSED(module), PyObject *args)
{
    Archive archive = {0};
    Listing listing;
    PyObject *given;
    if (!PyArg_ParseTuple(args, "y*y*nnO!:has_inode", &archive.rows, &archive.heap, &archive.first,
                          &archive.end, &PyList_Type, &given))
        return NULL;
    size_t count = (size_t)PyList_GET_SIZE(given);
    uint64_t *inodes = malloc((count + 1) * sizeof *inodes);
    int sound = check_range(&archive), found = 0;
    if (sound && inodes == NULL) {
        PyErr_NoMemory();
        sound = 0;
    }
    for (size_t each = 0; sound && each < count; each++) {
        inodes[each] = PyLong_AsUnsignedLongLong(PyList_GET_ITEM(given, (Py_ssize_t)each));
        sound = !PyErr_Occurred();
    }
    if (sound)
        qsort(inodes, count, sizeof *inodes, by_number);
    for (Py_ssize_t row = archive.first; sound && !found && row < archive.end; row++) {
        sound = read_listing(&archive, row, &listing);
        for (size_t each = 0; sound && !found && each < listing.count; each++) {
            uint64_t inode = get(listing.signatures + each * SIGNATURE + 8, 8);
            found = bsearch(&inode, inodes, count, sizeof inode, by_number) != NULL;
        }
    }
    free(inodes);
    release(&archive);
    return sound ? PyBool_FromLong(found) : NULL;
}

/* Return whether names, with zero bytes between them, have one. */
static int has_name(const Listing *listing, const char *name, size_t length)
{
    const char *at = listing->names, *end = at + listing->names_length;
    while (at < end) {
        const char *next = memchr(at, '\0', (size_t)(end - at));
        size_t found = (size_t)((next ? next : end) - at);
        if (found == length && memcmp(at, name, length) == 0)
            return 1;
        at += found + 1;
    }
    return 0;
}

/* The rows of folders that have a name in them. */
static PyObject *with_name(PyObject *Py_UNUSED(module), PyObject *args)
{
    Archive archive = {0};
    Listing listing;
    const char *name;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "y*y*nny#:with_name", &archive.rows, &archive.heap, &archive.first, &archive.end,
                          &name, &length))
        return NULL;
    PyObject *found = check_range(&archive) ? PyList_New(0) : NULL;
    for (Py_ssize_t row = archive.first; found != NULL && row < archive.end; row++) {
        if (!read_listing(&archive, row, &listing)) {
            Py_CLEAR(found);
        } else if (has_name(&listing, name, (size_t)length)) {
            PyObject *number = PyLong_FromSsize_t(row);
            if (number == NULL || PyList_Append(found, number) != 0)
                Py_CLEAR(found);
            Py_XDECREF(number);
        }
    }
    release(&archive);
    return found;
}

/* The rows of folders that have one of these flags. */
static PyObject *with_flag(PyObject *Py_UNUSED(module), PyObject *args)
{
    Archive archive = {0};
    unsigned int flag;
    if (!PyArg_ParseTuple(args, "y*y*nnI:with_flag", &archive.rows, &archive.heap, &archive.first, &archive.end,
                          &flag))
        return NULL;
    PyObject *found = check_range(&archive) ? PyList_New(0) : NULL;
    for (Py_ssize_t row = archive.first; found != NULL && row < archive.end; row++) {
        if ((get((const unsigned char *)archive.rows.buf + row * ROW + 16, 4) & flag) == 0)
            continue;
        PyObject *number = PyLong_FromSsize_t(row);
        if (number == NULL || PyList_Append(found, number) != 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    release(&archive);
    return found;
}

static void put(unsigned char *into, uint64_t value, int bytes)
{
    for (int at = 0; at < bytes; at++, value >>= 8)
        into[at] = (unsigned char)value;
}

/* The rows as they are in another archive, where they have other numbers, and other places in the heap. */
static PyObject *moved(PyObject *Py_UNUSED(module), PyObject *args)
{
    Archive archive = {0};
    Py_ssize_t numbers;
    long long places;
    if (!PyArg_ParseTuple(args, "y*y*nnnL:moved", &archive.rows, &archive.heap, &archive.first, &archive.end, &numbers,
                          &places))
        return NULL;
    PyObject *found = NULL;
    if (check_range(&archive))
        found = PyBytes_FromStringAndSize((const char *)archive.rows.buf + archive.first * ROW,
                                          (archive.end - archive.first) * ROW);
    for (Py_ssize_t row = 0; found != NULL && row < archive.end - archive.first; row++) {
        unsigned char *here = (unsigned char *)PyBytes_AS_STRING(found) + row * ROW;
        put(here, get(here, 4) + (uint64_t)numbers, 4);
        put(here + 24, get(here + 24, 8) + (uint64_t)places, 8);
    }
    release(&archive);
    return found;
}

static PyMethodDef methods[] = {
    {"measure", measure, METH_VARARGS,
     "measure(rows, heap, first, end)\n--\n\nReturn how many names are not folders, and the bytes of files."},
    {"has_inode", has_inode, METH_VARARGS,
     "has_inode(rows, heap, first, end, inodes)\n--\n\nReturn whether one of these inodes is in the folders."},
    {"with_name", with_name, METH_VARARGS,
     "with_name(rows, heap, first, end, name)\n--\n\nReturn the rows of folders that have this name in them."},
    {"with_flag", with_flag, METH_VARARGS,
     "with_flag(rows, heap, first, end, flag)\n--\n\nReturn the rows of folders that have this flag."},
    {"moved", moved, METH_VARARGS,
     "moved(rows, heap, first, end, numbers, places)\n--\n\n"
     "Return rows with these added to their numbers and to their places in the heap."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_rows",
    .m_doc = "Questions about all rows of an archive in one go: the quick half of tree_archive.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&module); }
