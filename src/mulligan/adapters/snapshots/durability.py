"""Making things last: owner-only folders, and the calls after which a power cut loses nothing."""

import os
import stat
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
        sync_folder(path.parent)
        path.chmod(_PRIVATE)


def sync_folder(path: Path) -> None:
    """Make the entries of a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with act("folder.sync"):
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
