"""Copying files of a known tree in Python, by the rules of _copy.c, where no C could be compiled."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from mulligan.adapters.snapshots.format.signatures import Listing, fields_of, signature
from mulligan.adapters.snapshots.new_trees.c_copy import Known
from mulligan.osfiles.directory_handles import FOLDER_FLAGS
from mulligan.osfiles.file_clones import copy_contents

_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def copy(source_fd: int, target_fd: int, folders: Sequence[Known]) -> list[tuple[int, str]]:
    """Make folders, and copy the files in them that are as known; return the others, by folder and name."""
    left: list[tuple[int, str]] = []
    for number, (path, names, signatures) in enumerate(folders):
        if path:
            around, _, name = path.rpartition(b"\0")
            with _opened(target_fd, around) as parent:
                os.mkdir(name, 0o700, dir_fd=parent)
        files = [
            (name, known)
            for name, known in Listing(names, signatures).opened().items()
            if stat.S_ISREG(fields_of(known)[0])
        ]
        left += [(number, name) for name in _uncopied(source_fd, target_fd, path, files)]
    return left


def _uncopied(source_fd: int, target_fd: int, path: bytes, files: Sequence[tuple[str, bytes]]) -> list[str]:
    """Copy the files of one folder; return the names of those that are not as known."""
    if not files:
        return []
    with _opened(target_fd, path) as target:
        try:
            with _opened(source_fd, path) as source:
                return [name for name, known in files if not _is_copied(source, target, name, known)]
        except _Unreachable:
            return [name for name, _ in files]


def _is_copied(source: int, target: int, name: str, known: bytes) -> bool:
    """Copy one file; leave nothing where it is not as known, before and afterwards."""
    try:
        old = os.open(name, _OLD, dir_fd=source)
    except OSError:
        return False  # it is gone, or another kind of thing
    try:
        if signature(os.fstat(old)) != known:
            return False
        mode, _, _, size, mtime_ns, _, _ = fields_of(known)
        new = os.open(name, _NEW, 0o600, dir_fd=target)
        try:
            done = copy_contents(old, new) == size and signature(os.fstat(old)) == known
            os.fchmod(new, stat.S_IMODE(mode))
            os.utime(new, ns=(mtime_ns, mtime_ns))
        finally:
            os.close(new)
        if not done:
            os.unlink(name, dir_fd=target)
        return done
    finally:
        os.close(old)


class _Unreachable(Exception):
    """A folder that is not there, or is another kind of thing."""


@contextmanager
def _opened(top: int, path: bytes) -> Generator[int]:
    """Open a folder by its names, never through a symlink."""
    fd = os.dup(top)
    try:
        for name in path.split(b"\0") if path else ():
            try:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=fd)
            except OSError as exc:
                raise _Unreachable from exc
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)
