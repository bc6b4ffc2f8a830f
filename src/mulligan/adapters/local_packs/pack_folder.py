"""Packs as files of a folder on a local disk; a file has no name until it is complete and durable."""

import errno
import os
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from weakref import finalize

from mulligan.boundaries import act
from mulligan.osfiles.folders import make_private_folder, sync_folder
from mulligan.osfiles.tempdirs import Rooms

_SUFFIX = ".pack"
_BUFFER = 128 * 1024
_OPEN_FILES = 32
# What a system or filesystem that knows no files without names answers.
_UNKNOWN = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class PackFolder:
    """The PackStorage port over a folder. Files that are read stay open, a few of them."""

    pack_limit = sys.maxsize  # one more file would be two more syncs

    def __init__(self, folder: Path, rooms: Rooms) -> None:
        """`rooms` are on the same filesystem: drafts need one where no file can be without a name."""
        self._folder = folder
        self._rooms = rooms
        self._lock = Lock()
        self._files: OrderedDict[str, int] = OrderedDict()
        finalize(self, _close, self._files)  # a program may open and drop any number of projects

    def list(self) -> set[str]:
        try:
            names = {name for name in os.listdir(self._folder) if name.endswith(_SUFFIX)}
        except FileNotFoundError:
            names = set[str]()
        with self._lock:
            self._forget(self._files.keys() - names)
        return names

    def draft(self) -> "NewPack":
        return NewPack(self._folder, self._rooms)

    def size(self, name: str) -> int:
        with self._lock:
            return os.fstat(self._opened(name)).st_size

    def read(self, name: str, offset: int, length: int) -> bytes:
        with self._lock:  # held over the read: another thread must not close the file under it
            return os.pread(self._opened(name), length, offset)

    def leaving(self) -> frozenset[str]:
        return frozenset()  # what is needed does not go, so that no grace is needed either

    def distrust(self, name: str) -> bool:
        return False

    def remove(self, *names: str) -> tuple[str, ...]:
        for name in names:
            with act("pack.remove"):
                _place(self._folder, name).unlink(missing_ok=True)
        with self._lock:
            self._forget(names)
        return names

    def replace(self, names: Iterable[str], pack: str) -> tuple[str, ...]:
        return self.remove(*names) if _place(self._folder, pack).exists() else ()

    def spare(self, names: Iterable[str]) -> None:
        """Do nothing: no pack is about to go."""

    def missing(self) -> tuple[str, ...]:
        return ()  # a file is listed because it is there

    def clear(self, *, dry_run: bool) -> tuple[int, int]:
        return 0, 0  # a file has no name before it is complete

    def settle(self) -> None:
        """Make the names that other processes gave to packs durable."""
        with act("folder.sync"):
            sync_folder(self._folder)

    def _opened(self, name: str) -> int:
        fd = self._files.get(name)
        if fd is None:
            fd = os.open(_place(self._folder, name), os.O_RDONLY | os.O_CLOEXEC)
            self._files[name] = fd
            if len(self._files) > _OPEN_FILES:
                os.close(self._files.popitem(last=False)[1])
        self._files.move_to_end(name)
        return fd

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            fd = self._files.pop(name, None)
            if fd is not None:
                os.close(fd)


class NewPack:
    """A file on its way into the folder; where the filesystem wants a name for it, it is in a room, and is renamed."""

    def __init__(self, folder: Path, rooms: Rooms) -> None:
        make_private_folder(folder)
        self._folder = folder
        self._room = ExitStack()
        self._written: Path | None = None
        try:
            fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            if exc.errno not in _UNKNOWN:
                raise
            self._written = self._room.enter_context(rooms.room()) / "new"
            fd = os.open(self._written, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)  # whatever the umask is
        self.file = os.fdopen(fd, "wb", buffering=_BUFFER)

    def put(self, name: str) -> None:
        place = _place(self._folder, name)
        self.file.flush()
        with act("pack.sync"):
            os.fsync(self.file.fileno())
        try:
            with act("pack.name"):
                self._give_name(place)
        except OSError as exc:  # its first name is of no use to a user: it is a descriptor's, or in a room
            raise OSError(exc.errno, exc.strerror, str(place)) from exc
        with act("folder.sync"):
            sync_folder(self._folder)

    def close(self) -> None:
        try:
            self.file.close()
        except OSError:
            # What could not be flushed is thrown away anyway; an earlier error is raised already.
            return
        finally:
            self._room.close()

    def _give_name(self, place: Path) -> None:
        if self._written is None:
            fd = self.file.fileno()
            # The descriptor is not a folder's: a path from the root needs none, and with one linkat follows.
            os.link(f"/proc/self/fd/{fd}", place, src_dir_fd=fd, follow_symlinks=True)
        else:
            self._written.rename(place)


def _place(folder: Path, name: str) -> Path:
    if not name.endswith(_SUFFIX) or "/" in name or "\0" in name:
        raise ValueError(f"not the name of a pack: {name!r}")
    return folder / name


def _close(files: Mapping[str, int]) -> None:
    for fd in files.values():
        os.close(fd)
