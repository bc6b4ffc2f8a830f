"""Keeping git from a user's index while it is replaced: git's own lock, told from others' if we die with it."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from mulligan.errors import RestoreFailed

_OURS = b"held by mulligan\n"


@contextmanager
def index_locked(git_dir: Path) -> Generator[None]:
    """Hold `index.lock`, which no git command works beside; RestoreFailed where one is at work."""
    lock, draft = git_dir / "index.lock", git_dir / f"index.lock.mulligan-{os.getpid()}"
    fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, _OURS)
        try:
            os.link(draft, lock)  # at once with what says that it is ours
        except FileExistsError as exc:
            raise RestoreFailed(
                path=str(lock),
                reason="another git command is at work, or died",
                hint="let it finish; if none is running, delete that file; then try again",
            ) from exc
        finally:
            draft.unlink()
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)
    finally:
        os.close(fd)


def release_dead_lock(git_dir: Path) -> None:
    """Remove an `index.lock` that a process of ours left when it was killed; nobody else's."""
    lock = git_dir / "index.lock"
    with suppress(FileNotFoundError, BlockingIOError), lock.open("rb") as file:
        if file.read(len(_OURS) + 1) == _OURS:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            lock.unlink()
            for draft in git_dir.glob("index.lock.mulligan-*"):
                draft.unlink(missing_ok=True)
