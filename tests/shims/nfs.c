/* Below one folder, the filesystem behaves as NFS does.
 *
 * NFS_ROOT   the folder
 * NFS_LOCKS  "none": flock fails (ENOLCK), as without a lock service
 *
 * - An exclusive flock needs a descriptor that can write (EBADF otherwise), which that of a folder cannot.
 * - renameat2 with flags, O_TMPFILE, FICLONE and copy_file_range are not supported; neither is a link to what
 *   /proc/self/fd names.
 * - A file that is removed or replaced while a process has it open stays in its folder, as .nfsXXXX, until it is closed.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_length;
static int no_locks;
static atomic_uint names;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *given = getenv("NFS_ROOT"), *locks = getenv("NFS_LOCKS");
    if (given && realpath(given, root)) root_length = strlen(root);
    no_locks = locks && !strcmp(locks, "none");
}

static int is_below(const char *path) {
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The path of an open file; empty where it has none. */
static void path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

static int fd_is_below(int fd) {
    char path[PATH_MAX];
    path_of(fd, path);
    return is_below(path);
}

/* The absolute path of a name, its folder resolved. */
static int resolved(int dir, const char *name, char *path) {
    char folder[PATH_MAX], whole[PATH_MAX * 2];
    if (name[0] == '/') snprintf(whole, sizeof whole, "%s", name);
    else {
        if (dir == AT_FDCWD) { if (!getcwd(folder, sizeof folder)) return 0; }
        else path_of(dir, folder);
        snprintf(whole, sizeof whole, "%s/%s", folder, name);
    }
    char *slash = strrchr(whole, '/');
    if (!slash || slash == whole) return 0;
    *slash = 0;
    if (!realpath(whole, folder)) return 0;
    return snprintf(path, PATH_MAX, "%s/%s", folder, slash + 1) < PATH_MAX;
}

/* Whether a process has the file open. */
static int is_open(const struct stat *wanted) {
    int found = 0;
    DIR *processes = opendir("/proc");
    struct dirent *process, *entry;
    while (processes && !found && (process = readdir(processes))) {
        if (process->d_name[0] < '0' || process->d_name[0] > '9') continue;
        char place[NAME_MAX + 32];
        snprintf(place, sizeof place, "/proc/%s/fd", process->d_name);
        DIR *files = opendir(place);
        while (files && !found && (entry = readdir(files))) {
            struct stat st;
            if (!fstatat(dirfd(files), entry->d_name, &st, 0))
                found = st.st_dev == wanted->st_dev && st.st_ino == wanted->st_ino && S_ISREG(st.st_mode);
        }
        if (files) closedir(files);
    }
    if (processes) closedir(processes);
    return found;
}

/* Where a name is that of a file which is open, give that file another name; tells whether it did. */
static int set_aside(int dir, const char *name) {
    char path[PATH_MAX], aside[PATH_MAX + 64];
    struct stat st;
    if (!resolved(dir, name, path) || !is_below(path)) return 0;
    if (lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1 || !is_open(&st)) return 0;
    char *slash = strrchr(path, '/');
    snprintf(aside, sizeof aside, "%.*s/.nfs%08x%08x", (int)(slash - path), path, (unsigned)getpid(), names++);
    return !NEXT(rename)(path, aside);
}

int unlinkat(int dir, const char *name, int flags) {
    if (!(flags & AT_REMOVEDIR) && set_aside(dir, name)) return 0;
    return NEXT(unlinkat)(dir, name, flags);
}
int unlink(const char *name) { return set_aside(AT_FDCWD, name) ? 0 : NEXT(unlink)(name); }

static void set_target_aside(int from_dir, const char *from, int to_dir, const char *to) {
    struct stat source, target;
    if (fstatat(from_dir, from, &source, AT_SYMLINK_NOFOLLOW) || fstatat(to_dir, to, &target, AT_SYMLINK_NOFOLLOW)) return;
    if (source.st_ino != target.st_ino || source.st_dev != target.st_dev) set_aside(to_dir, to);
}
int rename(const char *from, const char *to) {
    set_target_aside(AT_FDCWD, from, AT_FDCWD, to);
    return NEXT(rename)(from, to);
}
int renameat(int from_dir, const char *from, int to_dir, const char *to) {
    set_target_aside(from_dir, from, to_dir, to);
    return NEXT(renameat)(from_dir, from, to_dir, to);
}
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
    char path[PATH_MAX];
    if (flags && resolved(to_dir, to, path) && is_below(path)) { errno = EINVAL; return -1; }
    if (!flags) return renameat(from_dir, from, to_dir, to);
    return NEXT(renameat2)(from_dir, from, to_dir, to, flags);
}

/* The last close of a file that was set aside removes it. */
int close(int fd) {
    char path[PATH_MAX];
    struct stat st;
    int saved = errno, gone = 0;
    if (root_length) {
        path_of(fd, path);
        char *slash = strrchr(path, '/');
        gone = slash && !strncmp(slash, "/.nfs", 5) && is_below(path) && !fstat(fd, &st);
    }
    errno = saved;
    int result = NEXT(close)(fd);
    saved = errno;
    if (gone && !is_open(&st)) NEXT(unlink)(path);
    errno = saved;
    return result;
}
__attribute__((destructor)) static void end(void) {
    for (int fd = 0; root_length && fd < 1024; fd++) {
        char path[PATH_MAX];
        path_of(fd, path);
        if (is_below(path) && strstr(path, "/.nfs")) close(fd);
    }
}

int flock(int fd, int kind) {
    if (kind != LOCK_UN && fd_is_below(fd)) {
        int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
        if (no_locks) { errno = ENOLCK; return -1; }
        if ((kind & LOCK_EX && mode == O_RDONLY) || (kind & LOCK_SH && mode == O_WRONLY)) { errno = EBADF; return -1; }
    }
    return NEXT(flock)(fd, kind);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags) {
    char path[PATH_MAX];
    if (!strncmp(from, "/proc/self/fd/", 14) && resolved(to_dir, to, path) && is_below(path)) { errno = ENOENT; return -1; }
    return NEXT(linkat)(from_dir, from, to_dir, to, flags);
}
int ioctl(int fd, unsigned long request, ...) {
    va_list given;
    va_start(given, request);
    void *argument = va_arg(given, void *);
    va_end(given);
    if ((request == FICLONE || request == FICLONERANGE) && fd_is_below(fd)) { errno = EOPNOTSUPP; return -1; }
    return NEXT(ioctl)(fd, request, argument);
}
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
    if (fd_is_below(to)) { errno = EOPNOTSUPP; return -1; }
    return NEXT(copy_file_range)(from, from_at, to, to_at, length, flags);
}

static int nameless(int dir, const char *name, int flags) {
    char path[PATH_MAX];
    if ((flags & O_TMPFILE) != O_TMPFILE || !resolved(dir, name, path) || !is_below(path)) return 0;
    errno = EOPNOTSUPP;
    return 1;
}
#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list given; va_start(given, last); mode = va_arg(given, mode_t); va_end(given); }
int open64(const char *name, int flags, ...) {
    MODE(flags, flags)
    return nameless(AT_FDCWD, name, flags) ? -1 : NEXT(open64)(name, flags, mode);
}
int openat64(int dir, const char *name, int flags, ...) {
    MODE(flags, flags)
    return nameless(dir, name, flags) ? -1 : NEXT(openat64)(dir, name, flags, mode);
}
/* What calls the system by number. */
long syscall(long number, ...) {
    long a[6];
    va_list given;
    va_start(given, number);
    for (int each = 0; each < 6; each++) a[each] = va_arg(given, long);
    va_end(given);
    if (number == SYS_renameat2) return renameat2((int)a[0], (const char *)a[1], (int)a[2], (const char *)a[3], (unsigned)a[4]);
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
