"""Folders on a local disk: private to their owner, durable, and measured."""

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mulligan.boundaries import act

_PRIVATE = 0o700
_BLOCK = 512  # bytes: the unit of st_blocks, whatever the filesystem
_NOT_DURABLE = stat.S_ISVTX | _PRIVATE  # no folder of a user's has the sticky bit and is closed to all others
_AT_FDCWD, _STATX_BTIME, _STATX_SIZE, _BTIME_OFFSET = (
    -100,
    0x800,
    256,
    80,
)  # of the call statx, which Python lacks


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


def birth_time(path: Path) -> int:
    """Return when a file or folder was made, in nanoseconds; 0 where the system or the filesystem does not say."""
    import ctypes
    import struct

    statx = getattr(ctypes.CDLL(None), "statx", None)
    facts = ctypes.create_string_buffer(_STATX_SIZE)
    if statx is None or statx(_AT_FDCWD, os.fsencode(path), 0, _STATX_BTIME, facts) != 0:
        return 0
    if not struct.unpack_from("=I", facts)[0] & _STATX_BTIME:
        return 0
    seconds, nanoseconds = struct.unpack_from("=qI", facts, _BTIME_OFFSET)
    return seconds * 10**9 + nanoseconds


def size_of_folder(folder: Path) -> int:
    """Add up what its files hold, as far as it can be looked into: the number is for people."""
    return sum(st.st_size for st in _files_below(folder))


def disk_use_of(folder: Path) -> int:
    """Add up what its files take on the disk: small files take whole blocks, and holes in files take nothing."""
    return sum(st.st_blocks * _BLOCK for st in _files_below(folder))


def _files_below(folder: Path) -> Iterator[os.stat_result]:
    pending = [str(folder)]
    while pending:
        with suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    yield entry.stat(follow_symlinks=False)


def is_one_filesystem(one: Path, other: Path) -> bool:
    """Return whether names can be moved between two folders: they are on one filesystem, reached through one mount."""
    try:
        return _mount_of(one) == _mount_of(other)
    except OSError:
        return False


def _mount_of(folder: Path) -> tuple[int, bytes]:
    """Return the device of a folder, and the number of the mount through which it is reached."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        facts = b""
        with suppress(OSError), open(f"/proc/self/fdinfo/{fd}", "rb") as file:
            facts = file.read()
        return os.fstat(fd).st_dev, facts.partition(b"mnt_id:")[2].split(b"\n")[0].strip()
    finally:
        os.close(fd)


@contextmanager
def reserved(path: Path, size: int) -> Generator[None]:
    """Keep so many bytes of the disk of a path until the end, in a file without a name: nothing has to be cleared.

    Where such a file cannot be made, or takes no space before it is written, none are kept.
    """
    folder = next(each for each in (path, *path.parents) if each.is_dir())
    try:
        file = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except (OSError, AttributeError):  # macOS has no such flag
        yield
        return
    try:
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as exc:
            if exc.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
        yield
    finally:
        os.close(file)


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
