/* Signatures of files, as signatures.py packs them, for all that reads or copies files in C. */

#ifndef MULLIGAN_SIGNATURES_H
#define MULLIGAN_SIGNATURES_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define OLD_FILE (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define SIGNATURE 48 /* bytes */
#define SECOND_NS 1000000000LL
#define FARTHEST_SECOND 9223372035LL /* some time in the year 2262: later ones do not fit */

#ifdef __APPLE__
#define MODIFIED st_mtimespec
#define CHANGED st_ctimespec
#else
#define MODIFIED st_mtim
#define CHANGED st_ctim
#endif

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;
    for (int at = bytes; at-- > 0;)
        value = value << 8 | from[at];
    return value;
}

static unsigned char *put(unsigned char *to, uint64_t value, int bytes)
{
    for (int at = 0; at < bytes; at++)
        *to++ = (unsigned char)(value >> (8 * at));
    return to;
}

static int is_in_range(struct timespec time)
{
    return time.tv_sec <= FARTHEST_SECOND && time.tv_sec >= -FARTHEST_SECOND;
}

/* Return whether an open file has the signature that is known of it; its stat is in `st` afterwards. */
static int has_signature(int fd, const unsigned char *known, struct stat *st)
{
    unsigned char found[SIGNATURE], *to = found;
    if (fstat(fd, st) != 0 || !is_in_range(st->MODIFIED) || !is_in_range(st->CHANGED))
        return 0;
    to = put(to, st->st_mode, 4);
    to = put(to, st->st_nlink, 4);
    to = put(to, st->st_ino, 8);
    to = put(to, (uint64_t)st->st_size, 8);
    to = put(to, (uint64_t)(st->MODIFIED.tv_sec * SECOND_NS + st->MODIFIED.tv_nsec), 8);
    to = put(to, (uint64_t)(st->CHANGED.tv_sec * SECOND_NS + st->CHANGED.tv_nsec), 8);
    put(to, st->st_dev, 8);
    return memcmp(found, known, SIGNATURE) == 0;
}

static int open_at(int folder, const char *name, int flags, mode_t mode)
{
    int fd;
    do
        fd = openat(folder, name, flags, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

#endif
