"""Folders on a local disk: private to their owner, durable, and measured."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from mulligan.boundaries import act

_PRIVATE = 0o700
_NOT_DURABLE = stat.S_ISVTX | _PRIVATE  # no folder of a user's has the sticky bit and is closed to all others


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, and what is missing above it; it may be there already.

    What is made durable inside it must not be lost with it: so it has a mark until its own name is durable, and
    one that a killed process left marked is completed by the next.
    """
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        make_private_folder(path.parent)
        with act("folder.make"):
            path.mkdir(mode=_NOT_DURABLE, exist_ok=True)
        mode = _NOT_DURABLE
    if mode == _NOT_DURABLE:
        with act("folder.sync"):
            sync_folder(path.parent)
        path.chmod(_PRIVATE)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable; the caller names the act."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_filesystem(fd: int) -> None:
    """Make everything on the filesystem of an open file durable; on all where that call is missing."""
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
    elif syncfs(fd) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def size_of_folder(folder: Path) -> int:
    """Add up what its files hold, as far as it can be looked into: the number is for people."""
    size = 0
    pending = [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def is_named(fd: int, path: Path) -> bool:
    """Return whether an open file is the one of that name; on NFS its link count proves nothing."""
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False
    except OSError as exc:
        if exc.errno == errno.ESTALE:  # another host removed it
            return False
        raise
