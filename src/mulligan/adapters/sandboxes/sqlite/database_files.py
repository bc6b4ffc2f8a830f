"""The files of a database: the file itself and what SQLite keeps beside it, never reached through a symlink."""

import os
import shutil
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from urllib.parse import quote_from_bytes

from msgspec import Struct

from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.boundaries import act
from mulligan.domain.resources.resource import ResourceType

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FINE_GRAIN_NS = 20_000_000  # two ticks of the slowest kernel clock that stamps files
_COARSE_GRAIN_NS = 2_000_000_000  # filesystems that stamp whole seconds, or every other one
_SECOND_NS = 1_000_000_000

Stamp = tuple[int, int, int, int, int, int, int]
Stamps = tuple[Stamp | None, ...]  # of the database, its -wal and its -journal; None: not there
Version = tuple[tuple[int, int, int] | None, ...]  # of the database and its -wal; None: not there, or empty


class DatabaseFiles(Struct, frozen=True):
    """A database file, by a folder that can be trusted and the way from there."""

    root: Path
    inside: tuple[str, ...]  # folders, then the file's name

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.inside)

    @property
    def name(self) -> str:
        return self.inside[-1]

    def look(self) -> Stamps:
        """Return the stamps that differ after a change of the database."""
        wal, _shm, journal = sidecars(self.name)
        with self.folder() as fd:
            return tuple(_stamp(fd, name) for name in (self.name, wal, journal))

    def version(self) -> Version:
        """Return the stamps that every commit changes, in any journal mode; opening a file would release locks."""
        with self.folder() as fd:
            found = [_stat(fd, name) for name in (self.name, sidecars(self.name)[0])]
        files = [st if st and stat.S_ISREG(st.st_mode) and st.st_size else None for st in found]
        return tuple((st.st_ino, st.st_size, st.st_mtime_ns) if st else None for st in files)

    def stat(self, name: str) -> os.stat_result | None:
        with self.folder() as fd:
            return _stat(fd, name)

    def is_plain(self, name: str) -> bool:
        found = self.stat(name)
        return found is None or stat.S_ISREG(found.st_mode)

    def head(self, size: int) -> bytes:
        with self.folder() as fd:
            assert fd is not None, "asked for what was not found"
            descriptor = os.open(self.name, _READ, dir_fd=fd)
        try:
            return os.pread(descriptor, size, 0)
        finally:
            os.close(descriptor)

    def copy_to(self, target: Path, names: tuple[str, ...]) -> None:
        """Copy files byte for byte, and symlinks as such; what is neither is left out."""
        with self.folder() as fd:
            for name in names:
                found = _stat(fd, name)
                if found is not None and stat.S_ISLNK(found.st_mode):
                    (target / name).symlink_to(os.readlink(name, dir_fd=fd))
                elif found is not None and stat.S_ISREG(found.st_mode):
                    with (
                        open(os.open(name, _READ, dir_fd=fd), "rb") as source,
                        (target / name).open("xb") as copy,
                    ):
                        shutil.copyfileobj(source, copy, 1 << 20)
                else:
                    continue
                times = (found.st_atime_ns, found.st_mtime_ns)
                os.utime(target / name, ns=times, follow_symlinks=False)

    def replace_from(self, new: Path, trash: Path) -> None:
        """Replace these files by those in the folder `new`.

        The old database goes first, and its sidecars before the new one comes: at no instant is a file
        beside another's -wal or -journal. A folder in the way is moved to `trash`.
        """
        with self.folder(make=True) as fd:
            assert fd is not None, "it was made"
            self._clear(fd, trash)
            for path in sorted(new.iterdir(), key=lambda each: each.name == self.name):
                with act("database.place"):
                    os.rename(path, path.name, dst_dir_fd=fd)
            with act("database.sync"):
                os.fsync(fd)

    def remove(self, trash: Path) -> None:
        with self.folder() as fd:
            if fd is not None:
                self._clear(fd, trash)

    def _clear(self, fd: int, trash: Path) -> None:
        for name in (self.name, *sidecars(self.name)):
            _remove(fd, name, trash)

    @contextmanager
    def folder(self, *, make: bool = False) -> Generator[int | None]:
        """The descriptor of the folder the database is in; None where only a symlink, or nothing, leads there."""
        opened: list[int] = []
        try:
            with nullcontext() if make else suppress(FileNotFoundError, NotADirectoryError):
                for name in (self.root, *self.inside[:-1]):  # a symlink is "not a directory" here
                    if make and opened:
                        with suppress(FileExistsError):
                            os.mkdir(name, dir_fd=opened[-1])
                    opened.append(os.open(name, _FOLDER, dir_fd=opened[-1] if opened else None))
            yield opened[-1] if len(opened) == len(self.inside) else None
        finally:
            for fd in opened:
                os.close(fd)


def opened(database: Path, how: str, *, timeout: float = 5.0) -> sqlite3.Connection:
    """Open a database without implicit transactions; `how` are the parameters of its address."""
    address = f"file:{quote_from_bytes(os.fsencode(database))}{how}"
    return sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None)


def is_settled(stamps: Stamps, now_ns: int) -> bool:
    """Return whether any later change would show in the stamps: none is younger than the clock's granularity."""
    times = [stamp[6] for stamp in stamps if stamp is not None]
    return all(at < now_ns - (_FINE_GRAIN_NS if at % _SECOND_NS else _COARSE_GRAIN_NS) for at in times)


def _stat(folder: int | None, name: str) -> os.stat_result | None:
    if folder is None:
        return None
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _remove(folder: int, name: str, trash: Path) -> None:
    found = _stat(folder, name)
    if found is not None and stat.S_ISDIR(found.st_mode):
        with act("database.remove"):
            os.rename(name, trash / "in-the-way", src_dir_fd=folder)
        remove_tree(trash / "in-the-way", trash)
    elif found is not None:
        with act("database.remove"):
            os.unlink(name, dir_fd=folder)


def _stamp(folder: int | None, name: str) -> Stamp | None:
    st = _stat(folder, name)
    if st is None:
        return None
    return (st.st_mode, st.st_dev, st.st_ino, st.st_nlink, st.st_size, st.st_mtime_ns, st.st_ctime_ns)


def sidecars(database: str) -> tuple[str, ...]:
    """Return the names of the -wal, -shm and -journal that SQLite keeps beside a database in use."""
    return ResourceType.SQLITE.traits.files_of(database)[1:]
