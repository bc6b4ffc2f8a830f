"""Files that processes have mapped shared and writable.

Such a file can change without a system call: a write to a page that is dirty already changes no timestamp and
raises no event. Only the last munmap does, which a live process has not made yet.
"""

import errno
import fcntl
import os
import re
import struct
import threading
from array import array
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeAlias

from mulligan.adapters.snapshots.scan.filesystems import kind_of

_PROC = "/proc"
_LINE = re.compile(rb"\S+ .w.s \S+ ([0-9a-f]+):([0-9a-f]+) (\d+) +(/.*)")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_PIECE = 1 << 16
# PROCMAP_QUERY asks for the next map of a kind. Linux has it since 6.11; to list all maps takes ten times as long.
_QUERY = 0xC0686611
_WRITABLE, _SHARED, _OR_NEXT, _OF_A_FILE = 0x02, 0x08, 0x10, 0x20
_WANTED = _SHARED | _OR_NEXT | _OF_A_FILE
_LAYOUT = struct.Struct("=9Q4I2Q")
_LONGEST_NAME = 4096
_MOST_OF_STAT = 4096
_SMALL_FAULTS, _LARGE_FAULTS, _STARTED = 7, 9, 19  # in /proc/PID/stat, counted after the name
_SAME_DEVICE = frozenset({"ext2", "ext3", "ext4", "xfs", "f2fs", "tmpfs"})  # as stat reports it


_File: TypeAlias = tuple[int, int, bytes]  # device, inode and path


class _Seen(NamedTuple):
    """The files that a process had mapped shared at a look, to write or only to read."""

    moment: tuple[bytes, ...]  # its page faults until then, and when it was started
    files: frozenset[_File]


class Maps(NamedTuple):
    """Files that are mapped, by path and by device and inode."""

    paths: frozenset[str]
    places: frozenset[tuple[int, int]]

    @property
    def inodes(self) -> frozenset[int]:
        """The numbers of the inodes on any device.

        On btrfs and overlayfs the device of a map is another than that of stat. A file of another filesystem with the
        same number means that one file more is read.
        """
        return frozenset(inode for _, inode in self.places)

    def inodes_on(self, tree: Path) -> frozenset[int]:
        """Return those numbers that may be of files in a folder.

        What processes share in memory takes its numbers from a counter that goes into the millions: in a tree of a
        hundred thousand files, one of them is met by chance.
        """
        if kind_of(tree) not in _SAME_DEVICE:
            return self.inodes
        device = tree.stat().st_dev
        return frozenset(inode for place, inode in self.places if place == device)


def shared_writable_maps() -> Maps:
    """Look at every process that we may look at; those of others cannot write what is ours alone."""
    found: set[_File] = set()
    for process in _processes():
        found.update(mapped_by(process)[0])
    return _maps(found)


def mapped_by(process: str) -> tuple[set[_File], set[_File] | None]:
    """Return what a process has mapped shared: to write, and at all; None where that is not known."""
    try:
        maps = os.open(f"{_PROC}/{process}/maps", os.O_RDONLY)
    except OSError:
        return set(), None  # it ended, or is not ours
    try:
        asked = list(_asked_for(maps))
    except OSError:  # an older system, or a path that is too long to be answered
        return set(_listed(maps)), None
    finally:
        os.close(maps)
    return {file for file, is_writable in asked if is_writable}, {file for file, _ in asked}


def _maps(found: set[_File]) -> Maps:
    return Maps(
        frozenset(os.fsdecode(path) for _, _, path in found),
        frozenset((device, inode) for device, inode, _ in found),
    )


class Moments(threading.local):
    """Moments that take some time: looks in one of them know the same maps.

    A process that maps a file meanwhile and writes to it has the same effect as one that does so right after. The next
    moment finds the map, or the system reports that it is gone.

    Nobody writes to a new map without a page fault of its process, and to count those is quicker than to look through
    thousands of maps. A process without one since the last look has written only to what it had mapped then; a map
    that could be read only counts as well, as it may have become writable since.
    """

    _seen: ClassVar[dict[str, _Seen]] = {}  # by process; of all threads, and replaced as a whole
    _under_way = 0
    _found: Maps | None = None

    @contextmanager
    def at_once(self) -> Generator[None]:
        """Let all looks of this thread belong to one moment."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._found = None

    def maps(self) -> Maps:
        """Return the maps as they are in this moment."""
        found = self._found or self._look()
        if self._under_way:
            self._found = found
        return found

    def _look(self) -> Maps:
        found: set[_File] = set()
        before, now = self._seen, dict[str, _Seen]()
        own = str(os.getpid())
        for process in _processes():
            moment = _moment_of(process) if process != own else None  # to look costs faults of our own
            seen = before.get(process)
            if seen is not None and seen.moment == moment:
                now[process] = seen
                found |= seen.files
                continue
            writable, files = mapped_by(process)
            found |= writable
            if moment is not None and files is not None:
                now[process] = _Seen(moment, frozenset(files))
        Moments._seen = now
        return _maps(found)


def _moment_of(process: str) -> tuple[bytes, ...] | None:
    """Return the counts of a process's page faults, and when it was started; None: it ended, or hides them."""
    try:
        file = os.open(f"{_PROC}/{process}/stat", os.O_RDONLY)
    except OSError:
        return None
    try:
        data = os.read(file, _MOST_OF_STAT)
    except OSError:
        return None
    finally:
        os.close(file)
    words = data[data.rfind(b")") + 2 :].split(b" ", _STARTED + 1)
    return (words[_SMALL_FAULTS], words[_LARGE_FAULTS], words[_STARTED]) if len(words) > _STARTED else None


def _asked_for(maps: int) -> Iterator[tuple[_File, bool]]:
    """Ask for the files that a process has mapped shared, and whether it can write; OSError: that cannot be asked."""
    name = array("B", bytes(_LONGEST_NAME))
    address, _ = name.buffer_info()
    end = 0
    while True:
        asked = _LAYOUT.pack(_LAYOUT.size, _WANTED, end, 0, 0, 0, 0, 0, 0, 0, 0, _LONGEST_NAME, 0, address, 0)
        try:
            answer = _LAYOUT.unpack(fcntl.ioctl(maps, _QUERY, asked))
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.ESRCH):
                return  # there is no other, or the process ended
            raise
        end, flags, inode, major, minor, length = answer[4], answer[5], *answer[8:12]
        path = bytes(name[: max(length - 1, 0)])  # it ends with a zero
        yield (os.makedev(major, minor), inode, path), bool(flags & _WRITABLE)


def _listed(maps: int) -> Iterator[_File]:
    """Find those to write in the list of all maps of a process."""
    try:
        data = b"".join(iter(lambda: os.read(maps, _PIECE), b""))
    except OSError:  # it ended
        return
    for line in data.split(b"\n") if b"w-s " in data or b"wxs " in data else ():
        match = _LINE.fullmatch(line)
        if match is not None:
            major, minor, inode, path = match.groups()
            device = os.makedev(int(major, 16), int(minor, 16))
            yield device, int(inode), _ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), path)


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:  # pragma: no cover - not on Linux
        return []
