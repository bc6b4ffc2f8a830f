"""Moves of names that never replace anything blindly: exchange two names, or take a name only while it is free.

Linux does both in one call (`renameat2`). Filesystems and systems without it get the same promise in several calls:
a second link to take a free name, and nothing at all for an exchange, which the caller then does in two moves.
"""

import errno
import functools
import os
import stat
from collections.abc import Callable
from contextlib import suppress

_NOREPLACE, _EXCHANGE = 1, 2
# By the filesystem, or by the kernel.
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})
_NO_LINKS = frozenset({errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES})


def exchange(one_fd: int, one: str, other_fd: int, other: str) -> bool:
    """Let two names in open folders change places in one move; return False where this cannot be done here."""
    return _renameat2(one_fd, one, other_fd, other, _EXCHANGE)


def move_to_free_name(from_fd: int, old: str, to_fd: int, new: str) -> None:
    """Move something to a name that is free; FileExistsError where it is taken, at any instant."""
    if _renameat2(from_fd, old, to_fd, new, _NOREPLACE):
        return
    try:
        os.link(old, new, src_dir_fd=from_fd, dst_dir_fd=to_fd, follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
        _copy_to_free_name(from_fd, old, to_fd, new)
    with suppress(FileNotFoundError):  # a folder was moved
        os.unlink(old, dir_fd=from_fd)


def _copy_to_free_name(from_fd: int, old: str, to_fd: int, new: str) -> None:
    """Write what a name holds under a name that is free, where the filesystem has no hard links, or it is a folder.

    Until it is whole others can find it there: the one case in which what they write to it at once may be lost.
    """
    found = os.stat(old, dir_fd=from_fd, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(new, 0o700, dir_fd=to_fd)  # takes the name; a folder can take the place of an empty one
        os.rename(old, new, src_dir_fd=from_fd, dst_dir_fd=to_fd)
        return
    times = (found.st_atime_ns, found.st_mtime_ns)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(old, dir_fd=from_fd), new, dir_fd=to_fd)
        os.utime(new, ns=times, dir_fd=to_fd, follow_symlinks=False)
        return
    source = os.open(old, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=from_fd)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target = os.open(new, flags, 0o600, dir_fd=to_fd)
        try:
            _copy(source, target)
            os.fchmod(target, stat.S_IMODE(found.st_mode))
            os.utime(target, ns=times)
            os.fsync(target)
        except BaseException:
            with suppress(OSError):  # the failure that is raised matters more
                os.unlink(new, dir_fd=to_fd)
            raise
        finally:
            os.close(target)
    finally:
        os.close(source)


def _copy(source: int, target: int) -> None:
    while data := os.read(source, 1 << 20):
        view = memoryview(data)
        while view:
            view = view[os.write(target, view) :]


@functools.cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes  # here: only commands that change real files need it

    return getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)


def _renameat2(one_fd: int, one: str, other_fd: int, other: str, flags: int) -> bool:
    import ctypes  # here: only commands that change real files need it

    call = _system_call()
    if call is None:
        return False
    if call(one_fd, os.fsencode(one), other_fd, os.fsencode(other), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), one, None, other)
