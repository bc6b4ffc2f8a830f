/* mulligan-hook COMMAND... : ask the local server of this folder's project to do what COMMAND would do, or run COMMAND.

   COMMAND is the program with the words of a hook, such as `/usr/bin/mulligan hook claude-code`. The server gets
   these words, the current folder, the settings in the environment, and all of stdin; it answers with an exit code
   and what to print. Where there is no server, or anything is in doubt, COMMAND runs with the same input.

   A file in the folder, or in one above it, leads to the project home, and a file there to the socket. A stranger may
   have written them: the socket must be in the private folder of this user, and so must be the process behind it. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES (16u << 20) /* of a frame, as in frames.py */
#define MOST_FIELDS 64u
#define MOST_INPUT (64u << 20) /* bytes of a payload, as in hook_payload.py */
#define PATIENCE 20 /* seconds; agents give a hook a minute, and the command may have to run yet */
#define SMALL_FILE 8192

extern char **environ;

struct buffer {
    char *data;
    size_t length, room;
};

static int append(struct buffer *to, const void *data, size_t length) {
    if (to->length + length > to->room) {
        size_t room = to->room ? to->room : 65536;
        while (room < to->length + length) room *= 2;
        char *grown = realloc(to->data, room);
        if (grown == NULL) return -1;
        to->data = grown;
        to->room = room;
    }
    memcpy(to->data + to->length, data, length);
    to->length += length;
    return 0;
}

static int append_field(struct buffer *to, const void *data, size_t length) {
    uint32_t size = (uint32_t)length; /* little-endian on every machine that this is built for */
    return append(to, &size, sizeof size) || append(to, data, length) ? -1 : 0;
}

/* Read all of stdin that can be read, or so much that COMMAND sees that it is too long; -1 without memory for it. */
static int read_all(int fd, struct buffer *into) {
    char piece[65536];
    while (into->length <= MOST_INPUT) {
        ssize_t got = read(fd, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        if (append(into, piece, (size_t)got)) return -1;
    }
    return 0;
}

static int write_all(int fd, const char *data, size_t length) {
    while (length > 0) {
        ssize_t put = write(fd, data, length);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        data += put;
        length -= (size_t)put;
    }
    return 0;
}

/* Return the text of one key in a small JSON file that mulligan wrote; 0 where it is not there. */
static int text_of(const char *file, const char *key, char *found, size_t room) {
    char data[SMALL_FILE];
    int fd = open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return 0;
    struct stat st;
    ssize_t length = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        length = read(fd, data, sizeof data - 1);
    close(fd);
    if (length <= 0) return 0;
    data[length] = 0;
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
    char *at = strstr(data, wanted);
    if (at == NULL) return 0;
    at += strlen(wanted);
    size_t used = 0;
    while (*at && *at != '"') {
        if (*at == '\\') {
            at++;
            if (*at != '"' && *at != '\\' && *at != '/') return 0; /* a name for which the program itself runs */
        }
        if (used + 1 >= room) return 0;
        found[used++] = *at++;
    }
    if (*at != '"') return 0;
    found[used] = 0;
    return 1;
}

/* Return whether a socket is in a private folder of this user for such sockets, as server_place.py makes it. */
static int is_ours(const char *path) {
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    char folder[PATH_MAX], allowed[3][PATH_MAX];
    const char *end = strrchr(path, '/');
    if (end == NULL || (size_t)(end - path) >= sizeof folder) return 0;
    memcpy(folder, path, (size_t)(end - path));
    folder[end - path] = 0;
    snprintf(allowed[0], PATH_MAX, "%s/mulligan", runtime ? runtime : "");
    snprintf(allowed[1], PATH_MAX, "%s/mulligan-%u", temporary ? temporary : "", (unsigned)geteuid());
    snprintf(allowed[2], PATH_MAX, "/tmp/mulligan-%u", (unsigned)geteuid());
    struct stat st;
    if (lstat(folder, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 07777) != 0700)
        return 0;
    for (int i = 0; i < 3; i++)
        if (strcmp(folder, allowed[i]) == 0) return 1;
    return 0;
}

/* Find the project home of a folder or of one above it. */
static int find_home(const char *folder, char *home) {
    char path[PATH_MAX], file[PATH_MAX + 32];
    if (strlen(folder) >= sizeof path) return 0;
    strcpy(path, folder);
    for (;;) {
        snprintf(file, sizeof file, "%s/.mulligan/home.json", strcmp(path, "/") == 0 ? "" : path);
        if (access(file, F_OK) == 0) return text_of(file, "home", home, PATH_MAX);
        char *end = strrchr(path, '/');
        if (end == NULL || strcmp(path, "/") == 0) return 0;
        if (end == path) end++;
        *end = 0;
    }
}

static int seconds_left(const struct timespec *begun) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long left = PATIENCE - (now.tv_sec - begun->tv_sec);
    return left > 0 ? (int)left : 0;
}

/* Return whether a process was stopped, and would not answer; as frame_stream.py looks at it. */
static int is_held_up(pid_t pid) {
    char file[64], data[1024];
    snprintf(file, sizeof file, "/proc/%ld/stat", (long)pid);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, data, sizeof data - 1);
    close(fd);
    if (length <= 0) return 0;
    data[length] = 0;
    const char *state = strrchr(data, ')'); /* behind the name of the program, which may hold anything */
    return state != NULL && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -1;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct timeval limit = {.tv_sec = PATIENCE}; /* for the connection, and for each write */
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid() &&
        !is_held_up(peer.pid))
        return fd;
    close(fd);
    return -1;
}

static int read_exactly(int fd, char *data, size_t length, const struct timespec *begun) {
    while (length > 0) {
        struct pollfd waiting = {.fd = fd, .events = POLLIN};
        int ready = poll(&waiting, 1, seconds_left(begun) * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) return -1;
        ssize_t got = read(fd, data, length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return -1;
        data += got;
        length -= (size_t)got;
    }
    return 0;
}

/* Read an answer: "done", exit code, stdout, stderr; print it, and return the exit code. -1: not answered. */
static int obey(int fd, const struct timespec *begun) {
    char head[12];
    uint32_t count, length;
    if (read_exactly(fd, head, sizeof head, begun) || memcmp(head, "mlg1", 4)) return -1;
    memcpy(&count, head + 4, 4);
    memcpy(&length, head + 8, 4);
    if (count != 4 || length > MOST_BYTES) return -1;
    char *body = malloc(length + 1u);
    if (body == NULL || read_exactly(fd, body, length, begun)) return -1;
    const char *fields[4];
    uint32_t sizes[4], at = 0;
    for (int i = 0; i < 4; i++) {
        if (length - at < 4) return -1;
        memcpy(&sizes[i], body + at, 4);
        at += 4;
        if (sizes[i] > length - at) return -1;
        fields[i] = body + at;
        at += sizes[i];
    }
    if (sizes[0] != 4 || memcmp(fields[0], "done", 4) || sizes[1] == 0 || sizes[1] > 3) return -1;
    int code = 0;
    for (uint32_t i = 0; i < sizes[1]; i++) {
        if (fields[1][i] < '0' || fields[1][i] > '9') return -1;
        code = code * 10 + (fields[1][i] - '0');
    }
    (void)!write_all(STDOUT_FILENO, fields[2], sizes[2]);
    (void)!write_all(STDERR_FILENO, fields[3], sizes[3]);
    return code;
}

static int by_bytes(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Ask the server; -1 where it has to be done without it. */
static int ask(int argc, char **argv, const struct buffer *payload) {
    char folder[PATH_MAX], home[PATH_MAX], record[PATH_MAX + 32], path[PATH_MAX];
    struct timespec begun;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    if (getcwd(folder, sizeof folder) == NULL || !find_home(folder, home)) return -1;
    snprintf(record, sizeof record, "%s/server.json", home);
    if (!text_of(record, "socket", path, sizeof path) || !is_ours(path)) return -1;
    int fd = connect_to(path);
    if (fd < 0) return -1;

    struct buffer settings = {0}, body = {0}, frame = {0};
    size_t variables = 0;
    while (environ[variables]) variables++;
    qsort(environ, variables, sizeof *environ, by_bytes);
    for (char **each = environ; *each; each++)
        if (strncmp(*each, "MULLIGAN_", 9) == 0 && append(&settings, *each, strlen(*each) + 1)) return -1;
    uint32_t count = 4;
    int wrong = append_field(&body, "hook", 4) || append_field(&body, folder, strlen(folder)) ||
                append_field(&body, settings.data, settings.length) ||
                append_field(&body, payload->data, payload->length);
    for (int i = 2; i < argc && !wrong; i++, count++) wrong = append_field(&body, argv[i], strlen(argv[i]));
    if (wrong || count > MOST_FIELDS || body.length > MOST_BYTES) return -1;
    uint32_t length = (uint32_t)body.length;
    if (append(&frame, "mlg1", 4) || append(&frame, &count, 4) || append(&frame, &length, 4) ||
        append(&frame, body.data, body.length) || write_all(fd, frame.data, frame.length))
        return -1;
    return obey(fd, &begun);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: mulligan-hook COMMAND...\n", stderr);
        return 2;
    }
    struct buffer payload = {0};
    if (read_all(STDIN_FILENO, &payload)) return 1;
    signal(SIGPIPE, SIG_IGN);
    int code = ask(argc, argv, &payload);
    if (code >= 0) return code;

    signal(SIGPIPE, SIG_DFL);
    int again = memfd_create("payload", 0);
    if (again < 0 || write_all(again, payload.data, payload.length) || lseek(again, 0, SEEK_SET) < 0 ||
        dup2(again, STDIN_FILENO) < 0)
        return 1;
    if (again != STDIN_FILENO) close(again);
    execv(argv[1], argv + 1);
    fprintf(stderr, "mulligan-hook: %s: %s\n", argv[1], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
