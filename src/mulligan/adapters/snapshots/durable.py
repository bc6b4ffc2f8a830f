"""Making things last: owner-only folders, and the calls after which a power cut loses nothing."""

import os
from pathlib import Path

from mulligan.boundaries import act


def make_private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, and what is missing above it; it may be there already."""
    if not path.is_dir():
        make_private_folder(path.parent)
        with act("folder.make"):
            path.mkdir(mode=0o700, exist_ok=True)
        sync_folder(path.parent)  # what is made durable inside it must not be lost with it


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
