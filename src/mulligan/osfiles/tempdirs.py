"""Rooms: private folders for work in progress; what a killed process left in one is cleared by the next.

A room is a folder, and beside it a file that its maker keeps locked. The file comes first and goes last, so that a
folder without one is a leftover. A folder itself is not locked: on NFS it cannot be.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from mulligan import errors
from mulligan.boundaries import act
from mulligan.osfiles.folders import is_named, make_private_folder, size_of_folder

_LOCK = ".lock"
_TRIES = 20  # each is lost only to a process that clears leftovers in the instant between two calls


def _remove_folder(folder: Path) -> None:
    import shutil  # here: it loads every kind of compression there is

    shutil.rmtree(folder, ignore_errors=True)


class Rooms:
    """A folder of rooms. A room is locked while its maker lives: that distinguishes live work from leftovers."""

    def __init__(self, folder: Path, remove: Callable[[Path], None] = _remove_folder) -> None:
        """Keep rooms in this folder; `remove` removes one with all that is in it, as far as it can."""
        self._folder = folder
        self._remove_folder = remove
        self._cleared = False

    @contextmanager
    def room(self) -> Generator[Path]:
        """Make a new empty folder, and remove it with its contents at the end."""
        make_private_folder(self._folder)
        if not self._cleared:
            self._cleared = True
            self.abandoned(clear=True)
        path, lock = self._make()
        try:
            yield path
        finally:
            try:
                with act("room.clear"):
                    self._remove(path)
            finally:
                os.close(lock)

    def _make(self) -> tuple[Path, int]:
        for _ in range(_TRIES):
            path = self._folder / os.urandom(8).hex()
            with act("room.make"):
                lock = _new_lock(path)
                if lock is None:
                    continue
                try:
                    path.mkdir(mode=0o700)
                except BaseException:
                    self._remove(path)
                    os.close(lock)
                    raise
            return path, lock
        reason = "other processes kept removing the file that was to be locked"
        raise errors.LockImpossible(path=str(self._folder), reason=reason)

    def abandoned(self, *, clear: bool) -> tuple[int, int]:
        """Find the rooms whose makers died, and remove them where asked; return how many, and their bytes."""
        count = size = 0
        names = os.listdir(self._folder) if self._folder.is_dir() else ()
        # NFS keeps a file that was removed while it was open as .nfs…, until it is closed.
        for name in sorted({name.removesuffix(_LOCK) for name in names if not name.startswith(".")}):
            path = self._folder / name
            lock = _lock_of_dead(path)
            if lock is not None:
                count += 1
                size += size_of_folder(path)
                if clear:
                    self._remove(path)
                os.close(lock)
        return count, size

    def _remove(self, room: Path) -> None:
        """Remove a room, which is empty most of the time; what cannot be removed now the next one clears."""
        try:
            room.rmdir()
        except FileNotFoundError:
            pass
        except OSError:
            self._remove_folder(room)
        with suppress(OSError):  # the next process finds it unlocked
            _lock_file(room).unlink()


def _lock_file(room: Path) -> Path:
    return room.with_name(f"{room.name}{_LOCK}")


def _new_lock(room: Path) -> int | None:
    """Make the lock file of a room and lock it; None where another process took it for a leftover before that."""
    file = _lock_file(room)
    fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return _locked(fd, file)
    except errors.LockImpossible:
        with suppress(OSError):
            file.unlink()
        raise


def _lock_of_dead(room: Path) -> int | None:
    """Lock a room whose maker died; None where its maker lives, or it is gone."""
    file = _lock_file(room)
    try:
        fd = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return _lock_of_older(room)
    return _locked(fd, file)


def _locked(fd: int, file: Path) -> int | None:
    """Lock an open file; close it and return None where another process has it, or it lost its name."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_named(fd, file):
            return fd
    except BlockingIOError:
        pass
    except OSError as exc:
        os.close(fd)
        raise errors.LockImpossible(path=str(file), reason=exc.strerror or str(exc)) from exc
    os.close(fd)
    return None


def _lock_of_older(room: Path) -> int | None:
    """Lock a folder without a lock file: a leftover, or the room of an older version, which locks the folder itself."""
    try:
        fd = os.open(room, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None  # removed since it was listed, or not a room
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError as exc:
        if exc.errno != errno.EBADF:  # where folders cannot be locked no older version has a room
            os.close(fd)
            raise errors.LockImpossible(path=str(room), reason=exc.strerror or str(exc)) from exc
    return fd
