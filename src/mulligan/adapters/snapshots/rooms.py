"""Rooms: private folders for work in progress; what a killed process left in one is cleared by the next."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from mulligan.adapters.snapshots.durable import make_private_folder
from mulligan.boundaries import act


class Rooms:
    """A folder of rooms. A room is locked while its maker lives, which tells live work from leftovers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cleared = False

    @contextmanager
    def room(self) -> Generator[Path]:
        """A new empty folder, removed with all that is in it at the end."""
        make_private_folder(self._folder)
        self._clear_abandoned()
        path, lock = self._make()
        try:
            yield path
        finally:
            with act("room.clear"):
                _remove(path)
            os.close(lock)

    def _make(self) -> tuple[Path, int]:
        while True:
            path = self._folder / os.urandom(8).hex()
            with act("room.make"):
                path.mkdir(mode=0o700)
            lock = _lock(path)
            # Between mkdir and lock another process may have taken the room for abandoned and cleared it.
            if lock is not None and path.is_dir():
                return path, lock
            if lock is not None:
                os.close(lock)

    def abandoned(self, *, clear: bool) -> tuple[int, int]:
        """Find the rooms whose makers died, and remove them where asked; gives how many, and their bytes."""
        count = size = 0
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            lock = _lock(path)
            if lock is not None:
                count += 1
                size += _size_of(path)
                if clear:
                    _remove(path)
                os.close(lock)
        return count, size

    def _clear_abandoned(self) -> None:
        if not self._cleared:
            self._cleared = True
            self.abandoned(clear=True)


def _remove(room: Path) -> None:
    """Remove a room, which is empty most of the time; what cannot be removed now the next one clears."""
    try:
        room.rmdir()
    except OSError:
        import shutil  # here: it loads every kind of compression there is

        shutil.rmtree(room, ignore_errors=True)


def _size_of(folder: Path) -> int:
    """What its files hold, as far as it can be looked into: the number is for people."""
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


def _lock(path: Path) -> int | None:
    """Lock a folder for as long as the descriptor is open; None where a live process has it or it is gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd
