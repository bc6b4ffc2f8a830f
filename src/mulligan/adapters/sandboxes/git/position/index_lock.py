"""Replacing a user's index under git's own lock; one that a killed process left locks nobody out."""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from mulligan.boundaries import act
from mulligan.errors import RestoreFailed
from mulligan.osfiles.folders import is_named, sync_folder

_DRAFT = "index.mulligan"
_PATIENCE = 60.0  # seconds, with another command of ours
_PATIENCE_WITH_OTHERS = 1.0
_PAUSE = 0.02

HeldLock: TypeAlias = tuple[Path, int, int]  # of an index: the lock, its inode, when it was made


def replace_index(index: Path, data: bytes | None) -> None:
    """Let the index hold this, durably; None: let there be none. Refused where a git command has it locked."""
    with index_locked(index, data, None):
        pass


@contextmanager
def index_locked(index: Path, data: bytes | None, mtime_ns: int | None) -> Generator[None]:
    """Lock the index against git for the time of the context; then write the data with that mtime.

    The lock is a second name of a draft that its maker keeps locked, which distinguishes it from git's.
    """
    draft, lock = index.with_name(_DRAFT), index.with_name("index.lock")
    try:
        clear_abandoned(index)
        with draft.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(data or b"")
            file.flush()
            if index.exists():
                shutil.copymode(index, draft)
            if mtime_ns is not None:
                os.utime(draft, ns=(mtime_ns, mtime_ns))
            with act("position.sync"):
                os.fsync(file.fileno())
            with act("position.lock"):
                os.link(draft, lock)
            try:
                yield
                with act("position.index"):
                    lock.rename(index) if data is not None else index.unlink(missing_ok=True)
            finally:
                # Else it is the index by now, and a git command may have its own.
                if is_named(file.fileno(), lock):
                    lock.unlink()
                draft.unlink()
        with act("position.keep"):
            sync_folder(index.parent)
    except FileExistsError as exc:
        clear_abandoned(index)
        raise RestoreFailed(
            path=str(lock),
            reason="another git command is at work, or died",
            hint="let it finish; if none is running, delete that file; then try again",
        ) from exc
    except OSError as exc:
        raise RestoreFailed(path=str(index), reason=exc.strerror or str(exc)) from exc


def wait_for_release(index: Path, in_vain: set[HeldLock]) -> bool:
    """Wait until no process has the index locked; return False where that takes long.

    A command of ours that changes the checkout takes as long as its work does. Others refresh the index in passing.
    One that was waited for `in_vain` is not waited for again: an operation asks several times.
    """
    lock = index.with_name("index.lock")
    waited = 0.0
    while True:
        ours = clear_abandoned(index)
        try:
            st = lock.lstat()
        except FileNotFoundError:
            return True
        held = (lock, st.st_ino, st.st_ctime_ns)
        if held in in_vain:
            return False
        if waited >= (_PATIENCE if ours else _PATIENCE_WITH_OTHERS):
            in_vain.add(held)
            return False
        time.sleep(_PAUSE)
        waited += _PAUSE


def clear_abandoned(index: Path) -> bool:
    """Remove what a process of ours that was killed left beside an index; return whether a live one has it locked."""
    draft, lock = index.with_name(_DRAFT), index.with_name("index.lock")
    try:
        fd = _opened(draft)
    except FileNotFoundError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False  # nobody of ours made that
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(fd, lock):
            lock.unlink()
        draft.unlink()
    except BlockingIOError:
        return is_named(fd, lock)  # its maker lives
    finally:
        os.close(fd)
    return False


def _opened(draft: Path) -> int:
    """Open a draft to lock it: for writing, which NFS wants for that, unless it is read-only or not ours."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(draft, os.O_RDWR | flags)
    except (PermissionError, IsADirectoryError):
        return os.open(draft, os.O_RDONLY | flags)
