/* A walk over a tree: lists every folder below an open one, by names and stat alone.

   This is the quick half of scan.py, and knows only the good case: a folder in which anything is odd (it cannot
   be entered, something in it went away, a time does not fit into 64 bits, too many folders are open) is given
   back as not listed, and scan.py lists it by hand. So every rule about failures is in one place, in Python.

   Where the tree was known before (archive.py has the format), folders that are still as they were, with all
   below, are described by their rows alone, and the names in a folder that was not touched are taken from its row. That an entry is younger than the grain of timestamps, or has several
   links, or cannot be held, is for scan.py to judge: a folder with such an entry is never described by its row.

   Folders are opened by name from their open parents and never through a symlink. The lists are made by several
   threads without the GIL; Python objects are made at the end, by the caller's thread, with the GIL. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "_patterns.h"

#ifdef __linux__
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#endif

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define MOST_OPEN 256 /* folders, while some of their own are not opened yet */
#define MOST_THREADS 16
#define SIGNATURE 48 /* bytes, as signatures.py packs them */
#define ROW 104      /* bytes, as archive.py packs them */
#define PLAIN 1      /* among the flags of a row */
#define SKIPPED 4
#define SECOND_NS 1000000000LL
#define FARTHEST_SECOND 9223372035LL /* some time in the year 2262: later ones do not fit */

#ifdef __APPLE__
#define MTIME st_mtimespec
#define CTIME st_ctimespec
#else
#define MTIME st_mtim
#define CTIME st_ctim
#endif

typedef struct {
    union {
        size_t at; /* in the folder's text, while that may still move */
        const char *start;
    } name;
    size_t length;
    unsigned char signature[SIGNATURE];
    unsigned char held; /* a file, a folder or a symlink */
    unsigned char odd;  /* more than its signature is to be noted of it */
    unsigned char folder;
} Entry;

typedef struct Node {
    struct Node *parent;
    size_t number; /* among those that are returned */
    int told;
    char *name;
    char *path;      /* from the tree's own folder, with a slash at its end; NULL: no pattern needs it */
    int in_git;      /* it is a git directory, or in one: no pattern is about it */
    DIR *dir;        /* open until all folders in it are */
    size_t unopened; /* folders in it */
    char *text;      /* the names of all entries, each ended by a zero byte */
    size_t text_used, text_room;
    Entry *entries; /* sorted by the bytes of their names */
    size_t count, room;
    int watch;      /* number of its watch; negative: why there is none; 0: not asked for */
    int skipped;    /* something was left out */
    int listed;
    long long known; /* row in the archive; -1: none */
    int as_known;    /* it holds what its row says; its own entries are given up then */
    int whole;       /* with all below */
    int same_names;  /* its own times show that it holds the names that are known */
} Node;

/* One folder of the archive. */
typedef struct {
    uint32_t end; /* the row after the last one below */
    size_t name_length, names_length, count;
    int plain, skipped;
    const unsigned char *name, *names, *signatures;
} Row;

typedef struct {
    int top;              /* descriptor of the folder to begin with */
    const char *left_out; /* the one name that is never looked at */
    Pattern *patterns;    /* of what else is left out; the last one that fits decides */
    size_t pattern_count;
    const char *prefix; /* path of the folder to begin with, with a slash at its end; empty: the tree itself */
    int needs_paths;    /* some pattern is about paths */
    long long recent_ns;  /* what changed since then is marked */
    int queue;            /* inotify; -1: nothing is watched */
    uint32_t mask;
    Py_buffer rows, heap; /* of the archive; empty: nothing is known */
    Py_buffer stale;      /* a byte for each row: 1 where more has happened than the row says; empty: nowhere */
    int32_t *watches;     /* for each row: the number of its watch, where it is not described; 0: none */
    int stamps_folders;   /* the filesystem is one that stamps a folder whenever a name in it comes or goes */
    dev_t device;         /* of that filesystem */
    pthread_mutex_t lock; /* over all that follows, and over `dir` and `unopened` of nodes */
    pthread_cond_t more;
    Node **nodes; /* parents before children */
    size_t count, room;
    Node **pending; /* those that nobody has begun yet, the last one first */
    size_t waiting, pending_room;
    size_t busy, asleep, open;
    int no_memory;
} Walk;

/* --- memory ------------------------------------------------------------------------------------------- */

/* Make room for one more; 0 where there is no memory. */
static int grow(void **items, size_t *room, size_t needed, size_t item_size)
{
    if (needed <= *room)
        return 1;
    size_t larger = *room < 16 ? 16 : *room * 2;
    while (larger < needed)
        larger *= 2;
    void *moved = realloc(*items, larger * item_size);
    if (moved == NULL)
        return 0;
    *items = moved;
    *room = larger;
    return 1;
}

static void free_node(Node *node)
{
    if (node->dir != NULL)
        closedir(node->dir);
    free(node->name);
    free(node->path);
    free(node->text);
    free(node->entries);
    free(node);
}

/* Let a folder know its path; 0 where there is no memory. */
static int set_path(const Walk *walk, Node *node, const Node *parent)
{
    if (!walk->needs_paths)
        return 1;
    const char *above = parent ? parent->path : walk->prefix, *name = parent ? node->name : "";
    size_t length = strlen(above) + strlen(name) + 2;
    node->path = malloc(length);
    if (node->path != NULL)
        snprintf(node->path, length, "%s%s%s", above, name, parent ? "/" : "");
    return node->path != NULL;
}

/* A new folder to look at; NULL where there is no memory. */
static Node *add_node(Walk *walk, Node *parent, const char *name, long long known)
{
    Node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->name = strdup(name);
    if (node->name == NULL || !set_path(walk, node, parent) ||
        !grow((void **)&walk->nodes, &walk->room, walk->count + 1, sizeof *walk->nodes) ||
        !grow((void **)&walk->pending, &walk->pending_room, walk->waiting + 1, sizeof *walk->pending)) {
        free_node(node);
        return NULL;
    }
    node->parent = parent;
    node->in_git = parent != NULL && (parent->in_git || strcmp(name, ".git") == 0);
    node->known = known;
    walk->nodes[walk->count++] = node;
    walk->pending[walk->waiting++] = node;
    return node;
}

/* --- what was known ------------------------------------------------------------------------------------ */

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int at = bytes; at-- > 0;)
        value = value << 8 | from[at];
    return value;
}

/* Read a row; 0 where the archive does not hold it, whole. */
static int read_row(const Walk *walk, long long number, Row *row)
{
    size_t rows = (size_t)walk->rows.len / ROW, heap = (size_t)walk->heap.len;
    if (number < 0 || (size_t)number >= rows)
        return 0;
    const unsigned char *from = (const unsigned char *)walk->rows.buf + (size_t)number * ROW;
    row->end = (uint32_t)get(from, 4);
    row->name_length = get(from + 4, 4);
    row->names_length = get(from + 8, 4);
    row->count = get(from + 12, 4);
    int is_stale = number < walk->stale.len && ((const char *)walk->stale.buf)[number] != 0;
    row->plain = (get(from + 16, 4) & PLAIN) != 0 && !is_stale;
    row->skipped = (get(from + 16, 4) & SKIPPED) != 0;
    uint64_t at = get(from + 24, 8);
    uint64_t length = (uint64_t)row->name_length + row->names_length + (uint64_t)row->count * SIGNATURE;
    if (row->end <= number || row->end > rows || at > heap || length > heap - at)
        return 0;
    row->name = (const unsigned char *)walk->heap.buf + at;
    row->names = row->name + row->name_length;
    row->signatures = row->names + row->names_length;
    return 1;
}

/* Return whether a listed folder is what its row says. */
static int is_as_known(const Walk *walk, const Node *node)
{
    Row row;
    if (!read_row(walk, node->known, &row) || !row.plain || node->skipped != row.skipped ||
        row.count != node->count)
        return 0;
    const unsigned char *name = row.names, *end = row.names + row.names_length;
    for (size_t at = 0; at < node->count; at++) {
        const Entry *entry = &node->entries[at];
        if (at > 0 && (name == end || *name++ != '\0'))
            return 0;
        if (entry->odd || entry->length > (size_t)(end - name) ||
            memcmp(name, entry->name.start, entry->length) != 0 ||
            memcmp(row.signatures + at * SIGNATURE, entry->signature, SIGNATURE) != 0)
            return 0;
        name += entry->length;
    }
    return name == end;
}

/* The row of a folder in a known one, sought from `*at` on, which moves there: names come in order. */
static long long known_below(const Walk *walk, long long *at, long long end, const Entry *entry)
{
    Row row;
    while (*at < end && read_row(walk, *at, &row)) {
        size_t shorter = row.name_length < entry->length ? row.name_length : entry->length;
        int order = memcmp(row.name, entry->name.start, shorter);
        if (order == 0 && row.name_length == entry->length)
            return *at;
        if (order > 0 || (order == 0 && row.name_length > entry->length))
            return -1;
        *at = row.end;
    }
    return -1;
}

/* --- one folder --------------------------------------------------------------------------------------- */

static unsigned char *put(unsigned char *to, uint64_t value, int bytes)
{
    for (int at = 0; at < bytes; at++)
        *to++ = (unsigned char)(value >> (8 * at));
    return to;
}

/* Nanoseconds, where they fit. */
static int nanoseconds(struct timespec time, long long *found)
{
    if (time.tv_sec > FARTHEST_SECOND || time.tv_sec < -FARTHEST_SECOND)
        return 0;
    *found = (long long)time.tv_sec * SECOND_NS + time.tv_nsec;
    return 1;
}

/* Note what stat returns for an entry; 0 where that is not what scan.py's quick case is. */
static int look_at(const Walk *walk, Entry *entry, int fd)
{
    struct stat st;
    long long mtime_ns, ctime_ns;
    if (fstatat(fd, entry->name.start, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    if (!nanoseconds(st.MTIME, &mtime_ns) || !nanoseconds(st.CTIME, &ctime_ns))
        return 0;
    int file = S_ISREG(st.st_mode);
    entry->folder = S_ISDIR(st.st_mode);
    entry->held = file || entry->folder || S_ISLNK(st.st_mode);
    entry->odd = !entry->held || (file && st.st_nlink > 1) || ctime_ns >= walk->recent_ns;
    unsigned char *to = entry->signature;
    to = put(to, st.st_mode, 4);
    to = put(to, st.st_nlink, 4);
    to = put(to, st.st_ino, 8);
    to = put(to, (uint64_t)st.st_size, 8);
    to = put(to, (uint64_t)mtime_ns, 8);
    to = put(to, (uint64_t)ctime_ns, 8);
    put(to, st.st_dev, 8);
    return 1;
}

static int by_name(const void *left, const void *right)
{
    const Entry *a = left, *b = right;
    return strcmp(a->name.start, b->name.start); /* as unsigned bytes, which is how Python orders bytes */
}

/* Note a name of a folder; 0 where there is no memory. */
static int add_entry(Node *node, const char *name, size_t length)
{
    if (!grow((void **)&node->text, &node->text_room, node->text_used + length + 1, 1) ||
        !grow((void **)&node->entries, &node->room, node->count + 1, sizeof *node->entries)) {
        errno = ENOMEM;
        return 0;
    }
    Entry *entry = &node->entries[node->count++];
    memset(entry, 0, sizeof *entry);
    entry->name.at = node->text_used;
    entry->length = length;
    memcpy(node->text + node->text_used, name, length);
    node->text_used += length;
    node->text[node->text_used++] = '\0';
    return 1;
}

/* Let entries know their names, which no longer move. */
static void settle_names(Node *node)
{
    for (size_t at = 0; at < node->count; at++)
        node->entries[at].name.start = node->text + node->entries[at].name.at;
}

/* Take in the names that are known of a folder; 0 where there is no memory. */
static int recall_names(Node *node, const Row *row)
{
    const char *name = (const char *)row->names, *end = name + row->names_length;
    for (size_t at = 0; at < row->count; at++) {
        const char *next = memchr(name, '\0', (size_t)(end - name));
        if (!add_entry(node, name, (size_t)((next ? next : end) - name)))
            return 0;
        name = next ? next + 1 : end;
    }
    settle_names(node);
    return 1;
}

/* Return whether the patterns leave a name out. */
static int is_matched(const Walk *walk, const Node *node, const struct dirent *found)
{
    const unsigned char *name = (const unsigned char *)found->d_name, *path = name;
    char *whole = NULL;
    int is_folder = found->d_type == DT_UNKNOWN ? -1 : found->d_type == DT_DIR, matched = 0;
    if (node->path != NULL && node->path[0] != '\0') {
        size_t length = strlen(node->path) + strlen(found->d_name) + 1;
        whole = malloc(length);
        if (whole == NULL)
            return -1;
        snprintf(whole, length, "%s%s", node->path, found->d_name);
        path = (const unsigned char *)whole;
    }
    for (size_t at = walk->pattern_count; at-- > 0;) {
        const Pattern *pattern = &walk->patterns[at];
        if (!fits(pattern, path, name))
            continue;
        if (pattern->flags & FOLDERS_ONLY) {
            struct stat st;
            if (is_folder < 0)
                is_folder = fstatat(dirfd(node->dir), found->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                            S_ISDIR(st.st_mode);
            if (!is_folder)
                continue;
        }
        matched = !(pattern->flags & BRINGS_BACK);
        break;
    }
    free(whole);
    return matched;
}

/* Take in the names of an open folder; 0 where they cannot be read, or there is no memory (see errno). */
static int read_names(const Walk *walk, Node *node)
{
    struct dirent *found;
    for (errno = 0; (found = readdir(node->dir)) != NULL; errno = 0) {
        const char *name = found->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (strcmp(name, walk->left_out) == 0) {
            node->skipped = 1;
            continue;
        }
        if (walk->pattern_count > 0 && !node->in_git) {
            int matched = is_matched(walk, node, found);
            if (matched < 0) {
                errno = ENOMEM;
                return 0;
            }
            if (matched) {
                node->skipped = 1;
                continue;
            }
        }
        if (!add_entry(node, name, strlen(name)))
            return 0;
    }
    if (errno != 0)
        return 0;
    settle_names(node);
    if (node->count > 1)
        qsort(node->entries, node->count, sizeof *node->entries, by_name);
    return 1;
}

static void set_watch(const Walk *walk, Node *node)
{
#ifdef __linux__
    char path[64]; /* by the descriptor: no path that could be too long, or lead elsewhere by now */
    snprintf(path, sizeof path, "/proc/self/fd/%d", dirfd(node->dir));
    node->watch = inotify_add_watch(walk->queue, path, walk->mask);
    if (node->watch < 0)
        node->watch = -errno;
#else
    (void)walk;
    node->watch = -ENOSYS;
#endif
}

/* List an open folder; its watch is set before that. Returns 0 or an errno. */
static int list(const Walk *walk, Node *node)
{
    if (walk->queue >= 0)
        set_watch(walk, node);
    Row row;
    /* What came before the watch was set is reported by nobody: the names are read, however old the folder seems. */
    int recall = node->same_names && walk->queue < 0 && read_row(walk, node->known, &row) && row.plain;
    if (!(recall ? recall_names(node, &row) : read_names(walk, node)))
        return errno;
    if (recall)
        node->skipped = row.skipped;
    int fd = dirfd(node->dir);
    for (size_t at = 0; at < node->count; at++)
        if (!look_at(walk, &node->entries[at], fd))
            return EAGAIN;
    node->listed = 1;
    node->as_known = node->whole = is_as_known(walk, node);
    return 0;
}

static DIR *open_folder(int parent, const char *name)
{
    int fd;
    do
        fd = openat(parent, name, FOLDER_FLAGS);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return NULL;
    DIR *dir = fdopendir(fd);
    if (dir == NULL)
        close(fd);
    return dir;
}

/* --- all folders --------------------------------------------------------------------------------------- */

/* Where a folder's own signature is what it was, and was old enough then, so are the names in it, if only its
   filesystem stamps folders: reading them again would be a fifth of the walk. */
static void find_filesystem(Walk *walk)
{
#ifdef __linux__
    struct statfs fs;
    struct stat st;
    if (fstatfs(walk->top, &fs) != 0 || fstat(walk->top, &st) != 0)
        return;
    walk->device = st.st_dev;
    switch ((unsigned long)fs.f_type) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        walk->stamps_folders = 1;
    }
#else
    (void)walk;
#endif
}

static int keeps_stamps(const Walk *walk, const Entry *entry)
{
    return walk->stamps_folders && get(entry->signature + SIGNATURE - 8, 8) == (uint64_t)walk->device;
}

/* Note the folders in a folder, to be looked at next. With the lock. */
static void go_on_below(Walk *walk, Node *node)
{
    Row row;
    long long at = node->known + 1, end = read_row(walk, node->known, &row) ? row.end : 0;
    for (size_t each = 0; node->listed && each < node->count && !walk->no_memory; each++) {
        const Entry *entry = &node->entries[each];
        if (!entry->folder)
            continue;
        Node *below = add_node(walk, node, entry->name.start, known_below(walk, &at, end, entry));
        if (below == NULL) {
            walk->no_memory = 1;
        } else {
            below->same_names = below->known >= 0 && node->whole && keeps_stamps(walk, entry);
            node->unopened++;
        }
    }
}

/* Give a folder away that is needed no more, to be closed without the lock. With the lock. */
static DIR *give_away(Walk *walk, Node *node)
{
    DIR *dir = node->dir;
    if (dir == NULL || node->unopened > 0)
        return NULL;
    node->dir = NULL;
    walk->open--;
    return dir;
}

/* Take the next folder, or NULL when there is nothing left to do. With the lock. */
static Node *next_node(Walk *walk)
{
    while (walk->waiting == 0 && walk->busy > 0 && !walk->no_memory) {
        walk->asleep++;
        pthread_cond_wait(&walk->more, &walk->lock);
        walk->asleep--;
    }
    return walk->waiting == 0 || walk->no_memory ? NULL : walk->pending[--walk->waiting];
}

/* Room for the entries of one folder. Most folders are as they are known, and one room does for all of them: what
   is not asked for from the system need not be given, page by page. */
typedef struct {
    char *text;
    size_t text_room;
    Entry *entries;
    size_t room;
} Spare;

static void lend(Spare *spare, Node *node)
{
    node->text = spare->text;
    node->text_room = spare->text_room;
    node->entries = spare->entries;
    node->room = spare->room;
    memset(spare, 0, sizeof *spare);
}

static void take_back(Spare *spare, Node *node)
{
    spare->text = node->text;
    spare->text_room = node->text_room;
    spare->entries = node->entries;
    spare->room = node->room;
    node->text = NULL;
    node->entries = NULL;
    node->text_used = node->text_room = node->count = node->room = 0;
}

/* Wake those that wait, where there is something for them to do, or nothing left at all. With the lock. */
static void wake(Walk *walk)
{
    if (walk->asleep > 0 && (walk->waiting > 0 || walk->busy == 0 || walk->no_memory))
        pthread_cond_broadcast(&walk->more);
}

static void close_both(DIR **dirs)
{
    for (int at = 0; at < 2; at++)
        if (dirs[at] != NULL)
            closedir(dirs[at]);
}

static void *work(void *argument)
{
    Walk *walk = argument;
    Node *node;
    Spare spare = {0};
    DIR *done[2] = {NULL, NULL}; /* closed without the lock, which is taken but once for each folder */
    pthread_mutex_lock(&walk->lock);
    while ((node = next_node(walk)) != NULL) {
        Node *parent = node->parent; /* stays open: this node is one of its unopened */
        int failed = 0, may_open = walk->open < MOST_OPEN;
        walk->busy++;
        walk->open += may_open;
        pthread_mutex_unlock(&walk->lock);
        close_both(done);
        lend(&spare, node);
        if (may_open)
            node->dir = open_folder(parent ? dirfd(parent->dir) : walk->top, node->name);
        if (node->dir != NULL)
            failed = list(walk, node);
        pthread_mutex_lock(&walk->lock);
        walk->busy--;
        if (node->dir == NULL)
            walk->open -= may_open;
        if (failed == ENOMEM)
            walk->no_memory = 1;
        go_on_below(walk, node);
        if (node->as_known || node->count == 0)
            take_back(&spare, node);
        done[0] = give_away(walk, node);
        done[1] = NULL;
        if (parent != NULL) {
            parent->unopened--;
            done[1] = give_away(walk, parent);
        }
        wake(walk);
    }
    wake(walk);
    pthread_mutex_unlock(&walk->lock);
    close_both(done);
    free(spare.text);
    free(spare.entries);
    return NULL;
}

/* Walk with several threads, this one included. Where the system allows fewer, fewer do it. */
static void work_together(Walk *walk, int threads)
{
    pthread_t others[MOST_THREADS];
    int started = 0;
    sigset_t all, before; /* signals are for Python's own threads */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < threads - 1 && pthread_create(&others[started], NULL, work, walk) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(walk);
    while (started > 0)
        pthread_join(others[--started], NULL);
}

/* --- for Python --------------------------------------------------------------------------------------- */

/* All held entries of a folder: their names, with zero bytes between them, and their signatures. */
static int pack_held(const Node *node, PyObject **names, PyObject **signatures)
{
    size_t count = 0, length = 0;
    for (size_t at = 0; at < node->count; at++) {
        if (node->entries[at].held) {
            count++;
            length += node->entries[at].length + 1;
        }
    }
    *names = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count ? length - 1 : 0));
    *signatures = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(count * SIGNATURE));
    if (*names == NULL || *signatures == NULL) {
        Py_CLEAR(*names);
        Py_CLEAR(*signatures);
        return 0;
    }
    char *name = PyBytes_AS_STRING(*names), *signature = PyBytes_AS_STRING(*signatures);
    for (size_t at = 0, done = 0; at < node->count; at++) {
        const Entry *entry = &node->entries[at];
        if (!entry->held)
            continue;
        if (done++ > 0)
            *name++ = '\0';
        memcpy(name, entry->name.start, entry->length);
        name += entry->length;
        memcpy(signature, entry->signature, SIGNATURE);
        signature += SIGNATURE;
    }
    return 1;
}

/* Add a marked entry to a list. */
static int add_marked(PyObject *marked, const char *name, size_t length, const unsigned char *signature)
{
    PyObject *text = PyUnicode_DecodeFSDefaultAndSize(name, (Py_ssize_t)length);
    PyObject *pair =
        text ? Py_BuildValue("(Ny#)", text, (const char *)signature, (Py_ssize_t)SIGNATURE) : NULL;
    int added = pair != NULL && PyList_Append(marked, pair) == 0;
    Py_XDECREF(pair);
    return added;
}

/* The marked entries of a folder: a list of (name, signature). */
static PyObject *list_marked(const Node *node)
{
    PyObject *marked = PyList_New(0);
    for (size_t at = 0; marked != NULL && at < node->count; at++) {
        const Entry *entry = &node->entries[at];
        if ((entry->odd || entry->folder) &&
            !add_marked(marked, entry->name.start, entry->length, entry->signature))
            Py_CLEAR(marked);
    }
    return marked;
}

/* Return the content of a folder that is as its row says, in the form of `describe_content`. */
static PyObject *describe_known(const Walk *walk, const Node *node)
{
    Row row;
    if (!read_row(walk, node->known, &row)) /* it was read before, and is never written */
        return PyErr_Format(PyExc_SystemError, "row %lld is gone", node->known);
    PyObject *marked = PyList_New(0);
    if (marked == NULL)
        return NULL;
    const char *name = (const char *)row.names, *end = name + row.names_length;
    for (size_t at = 0; at < row.count; at++) {
        const unsigned char *signature = row.signatures + at * SIGNATURE;
        const char *next = memchr(name, '\0', (size_t)(end - name));
        size_t length = (size_t)((next ? next : end) - name);
        mode_t mode = (mode_t)get(signature, 4);
        if (S_ISDIR(mode) && !add_marked(marked, name, length, signature)) {
            Py_DECREF(marked);
            return NULL;
        }
        name = next ? next + 1 : end;
    }
    return Py_BuildValue("(y#y#NN)", (const char *)row.names, (Py_ssize_t)row.names_length,
                         (const char *)row.signatures, (Py_ssize_t)(row.count * SIGNATURE), marked,
                         PyBool_FromLong(row.skipped));
}

/* What a folder holds: (names, signatures, marked, skipped). */
static PyObject *describe_content(const Walk *walk, const Node *node)
{
    if (node->as_known)
        return describe_known(walk, node);
    PyObject *names, *signatures, *marked = list_marked(node);
    if (marked == NULL || !pack_held(node, &names, &signatures)) {
        Py_XDECREF(marked);
        return NULL;
    }
    return Py_BuildValue("(NNNN)", names, signatures, marked, PyBool_FromLong(node->skipped));
}

/* (number of the parent, name, watch, row, content): no content where the folder was not listed, or where the
   row describes all of it; the row is -1 where it does not. */
static PyObject *describe(const Walk *walk, const Node *node)
{
    Py_ssize_t parent = node->parent ? (Py_ssize_t)node->parent->number : -1;
    PyObject *name = PyUnicode_DecodeFSDefault(node->name);
    PyObject *content = node->listed && !node->whole ? describe_content(walk, node) : Py_NewRef(Py_None);
    if (name == NULL || content == NULL) {
        Py_XDECREF(name);
        Py_XDECREF(content);
        return NULL;
    }
    return Py_BuildValue("(nNiLN)", parent, name, node->watch, node->whole ? node->known : -1LL, content);
}

/* Find what is whole with all below, and number what is to be returned; returns how much that is. */
static size_t number_nodes(const Walk *walk)
{
    for (size_t at = walk->count; at-- > 1;) {
        Node *node = walk->nodes[at];
        if (!node->whole)
            node->parent->whole = 0;
    }
    size_t told = 0;
    for (size_t at = 0; at < walk->count; at++) {
        Node *node = walk->nodes[at];
        node->told = node->parent == NULL || (node->parent->told && !node->parent->whole);
        if (node->told)
            node->number = told++;
        else if (walk->watches != NULL)
            walk->watches[node->known] = node->watch; /* what is whole has a row */
    }
    return told;
}

/* All folders that no row describes, and the watches of the others, by row. */
static PyObject *describe_all(Walk *walk)
{
    size_t rows = (size_t)walk->rows.len / ROW;
    if (walk->queue >= 0 && rows > 0 && !walk->no_memory) {
        walk->watches = calloc(rows, sizeof *walk->watches);
        walk->no_memory = walk->watches == NULL;
    }
    if (walk->no_memory)
        return PyErr_NoMemory();
    PyObject *found = PyList_New((Py_ssize_t)number_nodes(walk));
    for (size_t at = 0; found != NULL && at < walk->count; at++) {
        const Node *node = walk->nodes[at];
        if (!node->told)
            continue;
        PyObject *described = describe(walk, node);
        if (described == NULL)
            Py_CLEAR(found);
        else
            PyList_SET_ITEM(found, (Py_ssize_t)node->number, described);
    }
    size_t length = walk->watches != NULL ? rows * sizeof *walk->watches : 0;
    return found ? Py_BuildValue("(Ny#)", found, length ? (const char *)walk->watches : "",
                                 (Py_ssize_t)length) : NULL;
}

static void walk_all(Walk *walk, int threads, long long row)
{
    find_filesystem(walk);
    if (add_node(walk, NULL, ".", row) == NULL)
        walk->no_memory = 1;
    else
        work_together(walk, threads);
}

static void free_walk(Walk *walk)
{
    for (size_t at = 0; at < walk->count; at++)
        free_node(walk->nodes[at]);
    free(walk->nodes);
    free(walk->pending);
    free(walk->watches);
}

/* Take over the patterns, each as (text, flags, plain); 0 with an exception where that fails. */
static int read_patterns(Walk *walk, PyObject *patterns)
{
    Py_ssize_t count = PyList_GET_SIZE(patterns);
    if (count == 0)
        return 1;
    walk->patterns = calloc((size_t)count, sizeof *walk->patterns);
    if (walk->patterns == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        Pattern *pattern = &walk->patterns[at];
        const char *text;
        Py_ssize_t length, plain;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(patterns, at), "y#in:pattern", &text, &length, &pattern->flags,
                              &plain))
            return 0;
        if (plain < 0 || plain > length || strlen(text) != (size_t)length) {
            PyErr_SetString(PyExc_ValueError, "this is not a pattern");
            return 0;
        }
        pattern->text = (const unsigned char *)text; /* the list keeps it, and the caller the list */
        pattern->length = (size_t)length;
        pattern->plain = (size_t)plain;
        walk->needs_paths |= !(pattern->flags & ANYWHERE);
    }
    walk->pattern_count = (size_t)count;
    return 1;
}

static PyObject *walk_tree(PyObject *Py_UNUSED(module), PyObject *args)
{
    Walk walk = {0};
    PyObject *found = NULL;
    int threads;
    long long row;
    PyObject *patterns;
    if (!PyArg_ParseTuple(args, "iyLiIiy*y*Ly*O!y:walk", &walk.top, &walk.left_out, &walk.recent_ns, &walk.queue,
                          &walk.mask, &threads, &walk.rows, &walk.heap, &row, &walk.stale, &PyList_Type,
                          &patterns, &walk.prefix))
        return NULL;
    if (!read_patterns(&walk, patterns)) {
        /* the exception says why */
    } else if (threads < 1 || threads > MOST_THREADS) {
        PyErr_Format(PyExc_ValueError, "threads must be 1 to %d, not %d", MOST_THREADS, threads);
    } else if (pthread_mutex_init(&walk.lock, NULL) != 0) {
        PyErr_NoMemory();
    } else {
        if (pthread_cond_init(&walk.more, NULL) != 0) {
            PyErr_NoMemory();
        } else {
            Py_BEGIN_ALLOW_THREADS
            walk_all(&walk, threads, row);
            Py_END_ALLOW_THREADS
            found = describe_all(&walk);
            Py_BEGIN_ALLOW_THREADS
            free_walk(&walk);
            Py_END_ALLOW_THREADS
            pthread_cond_destroy(&walk.more);
        }
        pthread_mutex_destroy(&walk.lock);
    }
    free(walk.patterns);
    PyBuffer_Release(&walk.rows);
    PyBuffer_Release(&walk.heap);
    PyBuffer_Release(&walk.stale);
    return found;
}

static PyMethodDef methods[] = {
    {"walk", walk_tree, METH_VARARGS,
     "walk(folder_fd, left_out, recent_ns, inotify_fd, inotify_mask, threads, rows, heap, row, stale,"
     " patterns, prefix)\n--\n\n"
     "List a folder and all below it, the folder itself first, and parents before children; return that with the"
     " watches of folders that are as their rows say, by row."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_walk",
    .m_doc = "Walking a tree without the GIL: the quick half of scan.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__walk(void) { return PyModuleDef_Init(&module); }
