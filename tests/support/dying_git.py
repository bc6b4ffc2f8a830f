"""A git that dies with the process that started it, at a chosen touch of a lock file: a library that is preloaded."""

import os
import subprocess
from pathlib import Path

# Git's opening, renaming and unlinking of a lock in a `.git` folder count twice each: right before, and right after.
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_lock(const char *path) {
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".lock") == 0 && strstr(path, "/.git/") != NULL;
}

static void pass(const char *path) {
    const char *log = getenv("DYING_GIT_LOG"), *at = getenv("DYING_GIT_AT");
    struct stat st;
    int saved = errno, fd;
    if (log == NULL || at == NULL || !is_lock(path) || strcmp(program_invocation_short_name, "git") != 0) return;
    fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, ".", 1) != 1 || fstat(fd, &st) != 0) abort();
    close(fd);
    if (st.st_size == atoi(at)) { kill(0, SIGKILL); pause(); }
    errno = saved;
}

static int opened(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    int result;
    if (!(flags & O_CREAT)) return real(path, flags, mode);
    pass(path);
    result = real(path, flags, mode);
    pass(path);
    return result;
}

#define OPEN(NAME) int NAME(const char *path, int flags, ...) { \
    va_list rest; va_start(rest, flags); mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; va_end(rest); \
    return opened(#NAME, path, flags, mode); }
OPEN(open64)

int rename(const char *old, const char *new) {
    int (*real)(const char *, const char *) = dlsym(RTLD_NEXT, "rename");
    pass(old);
    int result = real(old, new);
    pass(old);
    return result;
}

int unlink(const char *path) {
    int (*real)(const char *) = dlsym(RTLD_NEXT, "unlink");
    pass(path);
    int result = real(path);
    pass(path);
    return result;
}
"""


class DyingGit:
    """The library, and how often a command touched locks."""

    def __init__(self, folder: Path) -> None:
        """Compile it in a folder."""
        self._library, self._log = folder / "dying.so", folder / "touches"
        source = folder / "dying.c"
        source.write_text(_SOURCE)
        compile_it = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(source), "-ldl"]
        subprocess.run(compile_it, check=True, capture_output=True)

    def run(
        self, command: list[str], *, at: int, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a process group of its own, which dies at that touch of a lock; 0: it does not."""
        self._log.write_bytes(b"")
        dying = {"LD_PRELOAD": str(self._library), "DYING_GIT_LOG": str(self._log), "DYING_GIT_AT": str(at)}
        return subprocess.run(
            command,
            env={**os.environ, **environment, **dying},
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def touches(self) -> int:
        """How often the last command touched a lock."""
        return self._log.stat().st_size
