"""The cache of packs on this machine, shared by its processes: as large as it may be, and never needed.

A file gets its name when it is complete, but is not synced: a reader proves every object by its hash, and what is not
as it was written is dropped and read from the store again. A disk that is full, or broken, is as good as no cache.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock
from weakref import finalize

from mulligan.osfiles.folders import make_private_folder

_TAIL = ".tail"
_DRAFT = ".draft"
_NUMBER = 8  # bytes: where in its pack a tail begins
_OPEN_FILES = 32
_LOOK_EVERY = 16  # of that part of the limit that was added
_ABANDONED = 3600.0  # seconds: a draft that is older is of a process that died


class PackCache:
    """Whole packs, and tails of others, by name. Safe for threads and for other processes."""

    def __init__(self, folder: Path, limit: int, now: Callable[[], float]) -> None:
        self._folder = folder
        self._limit = limit
        self._now = now
        self._lock = Lock()
        self._files: OrderedDict[str, int] = OrderedDict()
        self._tails: dict[str, tuple[int, bytes]] = {}
        self._added: int | None = None  # None: the folder was not looked at yet
        finalize(self, _close, self._files)

    def read(self, name: str, size: int, offset: int, length: int) -> bytes | None:
        """Return the bytes of a range of a pack of that size; None where they are not here."""
        with self._lock:
            fd = self._opened(name, size)
            if fd is not None:
                with suppress(OSError):
                    return os.pread(fd, length, offset)
            start, data = self._tails.get(name) or self._tail(name, size)
        if data and start <= offset:
            return data[offset - start : offset - start + length]
        return None

    def keep(self, name: str, data: bytes | memoryview) -> None:
        """Keep a whole pack."""
        if len(data) <= self._limit and self._write(name, data):
            with suppress(OSError):
                (self._folder / f"{name}{_TAIL}").unlink(missing_ok=True)

    def keep_tail(self, name: str, start: int, data: bytes) -> None:
        """Keep the end of a pack, with its index, in memory too."""
        self._tails[name] = (start, data)
        self._write(f"{name}{_TAIL}", start.to_bytes(_NUMBER, "little") + data)

    def drop(self, names: Iterable[str]) -> bool:
        """Drop all that is kept of packs; return whether there was something."""
        found = False
        with self._lock:
            for name in names:
                found = self._tails.pop(name, None) is not None or found
                fd = self._files.pop(name, None)
                if fd is not None:
                    os.close(fd)
                for each in (name, f"{name}{_TAIL}"):
                    with suppress(OSError):
                        (self._folder / each).unlink()
                        found = True
        return found

    def shrink(self) -> None:
        """Remove the packs that were not used for longest, down to nine tenths of the limit."""
        found = list[tuple[float, int, str]]()
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    st = entry.stat(follow_symlinks=False)
                    if entry.name.endswith(_DRAFT) and st.st_mtime < self._now() - _ABANDONED:
                        Path(entry.path).unlink()
                    elif entry.name.endswith(".pack"):
                        found.append((st.st_mtime, st.st_size, entry.name))
        total = sum(size for _, size, _ in found)
        if total > self._limit:
            gone = list[str]()
            for _, size, name in sorted(found):
                if total <= self._limit * 0.9:
                    break
                total -= size
                gone.append(name)
            self.drop(gone)
        self._added = 0

    def _opened(self, name: str, size: int) -> int | None:
        fd = self._files.get(name)
        if fd is None:
            path = self._folder / name
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                return None
            if os.fstat(fd).st_size != size:
                os.close(fd)
                return None
            with suppress(OSError):
                os.utime(path)  # it is used
            self._files[name] = fd
            if len(self._files) > _OPEN_FILES:
                os.close(self._files.popitem(last=False)[1])
        self._files.move_to_end(name)
        return fd

    def _tail(self, name: str, size: int) -> tuple[int, bytes]:
        try:
            data = (self._folder / f"{name}{_TAIL}").read_bytes()
        except OSError:
            return 0, b""
        start, tail = int.from_bytes(data[:_NUMBER], "little"), data[_NUMBER:]
        if start + len(tail) != size:
            return 0, b""
        self._tails[name] = (start, tail)
        return start, tail

    def _write(self, name: str, data: bytes | memoryview) -> bool:
        """Write a file that others see when it is complete."""
        draft = self._folder / f"{os.urandom(8).hex()}{_DRAFT}"
        try:
            make_private_folder(self._folder)
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                with os.fdopen(fd, "wb", buffering=0) as file:
                    left = memoryview(data)
                    while left:
                        left = left[file.write(left) :]
                draft.rename(self._folder / name)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError:
            return False  # there is no room: the store has it
        if self._added is not None:
            self._added += len(data)
        if self._added is None or self._added * _LOOK_EVERY > self._limit:
            self.shrink()
        return True


def _close(files: Mapping[str, int]) -> None:
    for fd in files.values():
        os.close(fd)
