"""The store's locks: `flock` on a file, which the system releases when a process dies."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mulligan.errors import LockImpossible


@contextmanager
def shared(path: Path) -> Generator[None]:
    """Hold a lock together with others who share it; waits for a process that wants it alone."""
    with _opened(path) as fd:
        _flock(fd, fcntl.LOCK_SH, path)
        yield


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold a lock alone; waits until all others have released it."""
    with _opened(path) as fd:
        _flock(fd, fcntl.LOCK_EX, path)
        yield


@contextmanager
def alone_if_free(path: Path) -> Generator[bool]:
    """Hold a lock alone where no process has it; return whether it was free."""
    with _opened(path) as fd:
        try:
            _flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, path)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_named(fd: int, path: Path) -> bool:
    """Return whether an open file is the one of that name; on NFS its link count proves nothing."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _flock(fd: int, kind: int, path: Path) -> None:
    try:
        fcntl.flock(fd, kind)
    except BlockingIOError:
        raise
    except OSError as exc:
        raise LockImpossible(path=str(path), reason=exc.strerror or str(exc)) from exc


@contextmanager
def _opened(path: Path) -> Generator[int]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
