/* Loaded before the C library: folders below $IGNORE_CASE_IN find names in upper and lower case alike, as those of
 * macOS, Windows and some of Linux do. What is not a name in an open folder passes. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

/* The name as the folder has it; the given one where it has none like it. */
static const char *found(int folder, const char *name, char *room) {
    char link[64], where[PATH_MAX];
    const char *top = getenv("IGNORE_CASE_IN");
    if (!top || folder < 0 || !*name || strchr(name, '/'))
        return name;
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, where, sizeof where - 1);
    if (length < 0)
        return name;
    where[length] = 0;
    if (strncmp(where, top, strlen(top)))
        return name;
    DIR *open = opendir(link);
    struct dirent *entry;
    room[0] = 0;
    while (open && (entry = readdir(open))) {
        if (!strcmp(entry->d_name, name)) {
            room[0] = 0;
            break;
        }
        if (!strcasecmp(entry->d_name, name))
            snprintf(room, NAME_MAX + 1, "%s", entry->d_name);
    }
    if (open)
        closedir(open);
    return room[0] ? room : name;
}

int fstatat(int folder, const char *name, struct stat *st, int flags) {
    char room[NAME_MAX + 1];
    return REAL(fstatat)(folder, found(folder, name, room), st, flags);
}
int fstatat64(int folder, const char *name, struct stat64 *st, int flags) {
    char room[NAME_MAX + 1];
    return REAL(fstatat64)(folder, found(folder, name, room), st, flags);
}
static int opened(int folder, const char *name, int flags, mode_t mode) {
    char room[NAME_MAX + 1];
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
    return real(folder, found(folder, name, room), flags, mode);
}
int openat(int folder, const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(folder, name, flags, mode);
}
int openat64(int folder, const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return opened(folder, name, flags, mode);
}
int renameat(int from, const char *old, int to, const char *new) {
    char one[NAME_MAX + 1], two[NAME_MAX + 1];
    return REAL(renameat)(from, found(from, old, one), to, found(to, new, two));
}
int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    char one[NAME_MAX + 1], two[NAME_MAX + 1];
    return REAL(renameat2)(from, found(from, old, one), to, found(to, new, two), flags);
}
int unlinkat(int folder, const char *name, int flags) {
    char room[NAME_MAX + 1];
    return REAL(unlinkat)(folder, found(folder, name, room), flags);
}
int mkdirat(int folder, const char *name, mode_t mode) {
    char room[NAME_MAX + 1];
    return REAL(mkdirat)(folder, found(folder, name, room), mode);
}
int linkat(int from, const char *old, int to, const char *new, int flags) {
    char one[NAME_MAX + 1], two[NAME_MAX + 1];
    return REAL(linkat)(from, found(from, old, one), to, found(to, new, two), flags);
}
int symlinkat(const char *target, int folder, const char *name) {
    char room[NAME_MAX + 1];
    return REAL(symlinkat)(target, folder, found(folder, name, room));
}
