/* One system call that writes fails, or the process dies at it: the Nth of all processes of a command together.
 *
 * FAULTS_CONTROL  a file with a `struct control`, which all processes map
 * FAULTS_LOG      a file that gets a line "CALL PATH" for each call; only where it is set
 *
 * What a step runs is the user's own, and is left alone: its processes carry MULLIGAN_CALL_ID. So are the command's own
 * output and error streams: what cannot be written there changes nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#define DIES_ALONE -1    /* the process that makes the call */
#define DIE_TOGETHER -2  /* that one, and the command itself */
#define TEXT 512

struct control {           /* as tests/faults/syscall_shim.py packs it */
    _Atomic uint64_t count;  /* calls so far */
    uint64_t wanted;         /* the one that is struck; 0: none */
    int32_t how;             /* an errno, or one of the above */
    int32_t lasting;         /* with an errno: so does every later call that needs what is missing */
    _Atomic uint32_t fired;  /* how often */
    int32_t main;            /* the command's own process */
    uint64_t streams[2];     /* inodes of its output and error streams */
    char call[32];           /* the first that was struck */
    char path[TEXT];
};

static struct control *control;
static int log_file = -1;

/* What a call needs: where a failure lasts, only calls that need the same fail again. */
enum need { ROOM = 1, CHANGE = 2, FILES = 4, LOCKS = 8 };

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("FAULTS_CONTROL"), *log = getenv("FAULTS_LOG");
    if (!file || getenv("MULLIGAN_CALL_ID")) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0) return;
    void *place = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (place == MAP_FAILED) return;
    struct control *found = place;
    if (!found->main) {
        struct stat st;
        found->main = getpid();
        for (int stream = 1; stream <= 2; stream++) if (!fstat(stream, &st)) found->streams[stream - 1] = st.st_ino;
    }
    if (log) {
        int opened = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_file = fcntl(opened, F_DUPFD_CLOEXEC, 900); /* out of the way of programs that count on low numbers */
        syscall(SYS_close, opened);
    }
    control = found;
}

static enum need lacking(int error) {
    switch (error) {
    case ENOSPC: case EDQUOT: return ROOM;
    case EMFILE: return FILES;
    case ENOLCK: return LOCKS;
    case EROFS: case EACCES: case EPERM: return CHANGE;
    default: return ROOM | CHANGE;
    }
}

static void named(char *text, const char *path, int fd) {
    if (path) { snprintf(text, TEXT, "%s", path); return; }
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, text, TEXT - 1);
    text[length > 0 ? length : 0] = 0;
}

/* Whether this call fails; with errno then. */
static int struck(const char *call, const char *path, int fd, enum need needs) {
    if (!control) return 0;
    int before = errno;
    uint64_t number = atomic_fetch_add(&control->count, 1) + 1;
    char text[TEXT];
    if (log_file >= 0) {
        char line[TEXT + 64];
        named(text, path, fd);
        for (char *each = text; *each; each++) if (*each == '\n') *each = '?';
        int length = snprintf(line, sizeof line, "%s %s\n", call, text);
        syscall(SYS_write, log_file, line, length);
    }
    int first = control->wanted && number == control->wanted;
    int again = control->wanted && number > control->wanted && control->lasting && lacking(control->how) & needs;
    if (!first && !again) { errno = before; return 0; }
    if (first) {
        named(text, path, fd);
        snprintf(control->call, sizeof control->call, "%s", call);
        memcpy(control->path, text, TEXT);
    }
    atomic_fetch_add(&control->fired, 1);
    if (control->how == DIE_TOGETHER) kill(control->main, SIGKILL);
    if (control->how < 0) { kill(getpid(), SIGKILL); for (;;) pause(); }
    errno = control->how;
    return 1;
}

static int is_stream(int fd) {
    struct stat st;
    int before = errno;
    int found = control && !fstat(fd, &st) && (st.st_ino == control->streams[0] || st.st_ino == control->streams[1]);
    errno = before;
    return found;
}

/* Whether it leads to another process: no disk is full or broken there. */
static int is_channel(int fd) {
    struct stat st;
    int before = errno;
    int found = control && !fstat(fd, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
    errno = before;
    return found;
}

#define NEXT(name) ({ static __typeof__(&name) next; if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); next; })
#define ON_PATH(type, name, path, needs, parameters, arguments) \
    type name parameters { return struck(#name, path, -1, needs) ? (type)-1 : NEXT(name) arguments; }
#define ON_FILE(type, name, fd, needs, parameters, arguments) \
    type name parameters { return struck(#name, NULL, fd, needs) ? (type)-1 : NEXT(name) arguments; }
#define WRITING(name, parameters, arguments) \
    ssize_t name parameters { \
        if (is_stream(fd)) return NEXT(name) arguments; \
        int failed = is_channel(fd) ? struck("send", NULL, fd, 0) : struck(#name, NULL, fd, ROOM | CHANGE); \
        return failed ? -1 : NEXT(name) arguments; \
    }

WRITING(write, (int fd, const void *data, size_t size), (fd, data, size))
WRITING(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
WRITING(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
WRITING(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))

ON_FILE(ssize_t, copy_file_range, to, ROOM | CHANGE,
        (int from, off64_t *from_at, int to, off64_t *to_at, size_t size, unsigned flags), (from, from_at, to, to_at, size, flags))
ON_FILE(ssize_t, sendfile64, to, ROOM | CHANGE, (int to, int from, off64_t *at, size_t size), (to, from, at, size))
ON_FILE(int, ftruncate64, fd, CHANGE, (int fd, off64_t size), (fd, size))
ON_FILE(int, ftruncate, fd, CHANGE, (int fd, off_t size), (fd, size))
ON_PATH(int, truncate64, path, CHANGE, (const char *path, off64_t size), (path, size))
ON_FILE(int, fallocate64, fd, ROOM | CHANGE, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size))
int posix_fallocate64(int fd, off64_t at, off64_t size) { /* returns the error */
    return struck("posix_fallocate64", NULL, fd, ROOM | CHANGE) ? errno : NEXT(posix_fallocate64)(fd, at, size);
}
ON_FILE(int, fsync, fd, ROOM, (int fd), (fd))
ON_FILE(int, fdatasync, fd, ROOM, (int fd), (fd))
ON_FILE(int, syncfs, fd, ROOM, (int fd), (fd))
ON_FILE(int, fchmod, fd, CHANGE, (int fd, mode_t mode), (fd, mode))
ON_PATH(int, chmod, path, CHANGE, (const char *path, mode_t mode), (path, mode))
ON_PATH(int, fchmodat, path, CHANGE, (int dir, const char *path, mode_t mode, int flags), (dir, path, mode, flags))
ON_FILE(int, fchown, fd, CHANGE, (int fd, uid_t user, gid_t group), (fd, user, group))
ON_PATH(int, chown, path, CHANGE, (const char *path, uid_t user, gid_t group), (path, user, group))
ON_PATH(int, lchown, path, CHANGE, (const char *path, uid_t user, gid_t group), (path, user, group))
ON_PATH(int, fchownat, path, CHANGE, (int dir, const char *path, uid_t user, gid_t group, int flags), (dir, path, user, group, flags))
ON_PATH(int, utimensat, path, CHANGE, (int dir, const char *path, const struct timespec times[2], int flags), (dir, path, times, flags))
ON_FILE(int, futimens, fd, CHANGE, (int fd, const struct timespec times[2]), (fd, times))
ON_PATH(int, utime, path, CHANGE, (const char *path, const struct utimbuf *times), (path, times))
ON_FILE(int, fsetxattr, fd, ROOM | CHANGE, (int fd, const char *name, const void *value, size_t size, int flags), (fd, name, value, size, flags))
ON_PATH(int, setxattr, path, ROOM | CHANGE, (const char *path, const char *name, const void *value, size_t size, int flags), (path, name, value, size, flags))
ON_FILE(int, fremovexattr, fd, CHANGE, (int fd, const char *name), (fd, name))
ON_PATH(int, rename, to, ROOM | CHANGE, (const char *from, const char *to), (from, to))
ON_PATH(int, renameat, to, ROOM | CHANGE, (int from_dir, const char *from, int to_dir, const char *to), (from_dir, from, to_dir, to))
ON_PATH(int, renameat2, to, ROOM | CHANGE, (int from_dir, const char *from, int to_dir, const char *to, unsigned flags), (from_dir, from, to_dir, to, flags))
ON_PATH(int, link, to, ROOM | CHANGE, (const char *from, const char *to), (from, to))
ON_PATH(int, linkat, to, ROOM | CHANGE, (int from_dir, const char *from, int to_dir, const char *to, int flags), (from_dir, from, to_dir, to, flags))
ON_PATH(int, symlink, to, ROOM | CHANGE, (const char *from, const char *to), (from, to))
ON_PATH(int, symlinkat, to, ROOM | CHANGE, (const char *from, int dir, const char *to), (from, dir, to))
ON_PATH(int, unlink, path, CHANGE, (const char *path), (path))
ON_PATH(int, unlinkat, path, CHANGE, (int dir, const char *path, int flags), (dir, path, flags))
ON_PATH(int, mkdir, path, ROOM | CHANGE, (const char *path, mode_t mode), (path, mode))
ON_PATH(int, mkdirat, path, ROOM | CHANGE, (int dir, const char *path, mode_t mode), (dir, path, mode))
ON_PATH(int, rmdir, path, CHANGE, (const char *path), (path))
ON_PATH(int, mkstemp64, template, ROOM | CHANGE | FILES, (char *template), (template))
char *mkdtemp(char *template) { return struck("mkdtemp", template, -1, ROOM | CHANGE) ? NULL : NEXT(mkdtemp)(template); }
ON_FILE(int, flock, fd, LOCKS, (int fd, int kind), (fd, kind))

#define MODE(flags, last) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list given; va_start(given, last); mode = va_arg(given, mode_t); va_end(given); }
/* Whether an open makes or empties a file: one that is there already is only opened. */
static int makes(int dir, const char *path, int flags) {
    int before = errno, made = flags & O_TRUNC || (flags & O_TMPFILE) == O_TMPFILE;
    if (!made && flags & O_CREAT) made = flags & O_EXCL || faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW);
    errno = before;
    return made;
}
int open64(const char *path, int flags, ...) {
    MODE(flags, flags)
    return makes(AT_FDCWD, path, flags) && struck("open", path, -1, ROOM | CHANGE | FILES) ? -1 : NEXT(open64)(path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...) {
    MODE(flags, flags)
    return makes(dir, path, flags) && struck("openat", path, -1, ROOM | CHANGE | FILES) ? -1 : NEXT(openat64)(dir, path, flags, mode);
}
FILE *fopen64(const char *path, const char *mode) {
    return strpbrk(mode, "wa+") && struck("fopen", path, -1, ROOM | CHANGE | FILES) ? NULL : NEXT(fopen64)(path, mode);
}
int ioctl(int fd, unsigned long request, ...) {
    va_list given;
    va_start(given, request);
    void *argument = va_arg(given, void *);
    va_end(given);
    int clones = request == FICLONE || request == FICLONERANGE;
    return clones && struck("ioctl", NULL, fd, ROOM | CHANGE) ? -1 : NEXT(ioctl)(fd, request, argument);
}
/* What calls the system by number. */
long syscall(long number, ...) {
    long a[6];
    va_list given;
    va_start(given, number);
    for (int each = 0; each < 6; each++) a[each] = va_arg(given, long);
    va_end(given);
    if (number == SYS_renameat2 && struck("renameat2", (const char *)a[3], -1, ROOM | CHANGE)) return -1;
    return NEXT(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
