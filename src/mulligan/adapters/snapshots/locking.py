"""The store's locks: `flock` on a file, which the system lets go of when a process dies."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def shared(path: Path) -> Generator[None]:
    """Hold a lock together with others who share it; waits for one who wants it alone."""
    with _opened(path) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield


@contextmanager
def alone(path: Path) -> Generator[None]:
    """Hold a lock alone; waits until all others have let go."""
    with _opened(path) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield


@contextmanager
def alone_if_free(path: Path) -> Generator[bool]:
    """Hold a lock alone where nobody has it; tells whether it was free."""
    with _opened(path) as fd:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _opened(path: Path) -> Generator[int]:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
