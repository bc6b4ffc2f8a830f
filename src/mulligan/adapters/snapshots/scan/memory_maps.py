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
from typing import NamedTuple

_PROC = "/proc"
_LINE = re.compile(rb"\S+ .w.s \S+ [0-9a-f]+:[0-9a-f]+ (\d+) +(/.*)")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_PIECE = 1 << 16
# PROCMAP_QUERY asks for the next map of a kind. Linux has it since 6.11; to list all maps takes ten times as long.
_QUERY = 0xC0686611
_WRITABLE, _SHARED, _OR_NEXT, _OF_A_FILE = 0x02, 0x08, 0x10, 0x20
_WANTED = _WRITABLE | _SHARED | _OR_NEXT | _OF_A_FILE
_LAYOUT = struct.Struct("=9Q4I2Q")
_LONGEST_NAME = 4096


class Maps(NamedTuple):
    """Files that are mapped, by path and by inode.

    Of inodes only the numbers: on btrfs and overlayfs the device there is another than that of stat. A file of another
    filesystem with the same number means that one file more is read.
    """

    paths: frozenset[str]
    inodes: frozenset[int]


def shared_writable_maps() -> Maps:
    """Look at every process that we may look at; those of others cannot write what is ours alone."""
    found: set[tuple[int, bytes]] = set()
    for process in _processes():
        try:
            maps = os.open(f"{_PROC}/{process}/maps", os.O_RDONLY)
        except OSError:
            continue  # it ended, or is not ours
        try:
            found.update(_asked_for(maps))
        except OSError:  # an older system, or a path that is too long to be answered
            found.update(_listed(maps))
        finally:
            os.close(maps)
    return Maps(frozenset(os.fsdecode(path) for _, path in found), frozenset(inode for inode, _ in found))


class Moments(threading.local):
    """Moments that take some time: looks in one of them know the same maps.

    A process that maps a file meanwhile and writes to it has the same effect as one that does so right after. The next
    moment finds the map, or the system reports that it is gone.
    """

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
        found = self._found or shared_writable_maps()
        if self._under_way:
            self._found = found
        return found


def _asked_for(maps: int) -> Iterator[tuple[int, bytes]]:
    """Ask for the inodes and paths of what a process has mapped so; OSError where that cannot be asked."""
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
        end, inode, length = answer[4], answer[8], answer[11]
        yield inode, bytes(name[: max(length - 1, 0)])  # it ends with a zero


def _listed(maps: int) -> Iterator[tuple[int, bytes]]:
    """Find the same in the list of all maps of a process."""
    try:
        data = b"".join(iter(lambda: os.read(maps, _PIECE), b""))
    except OSError:  # it ended
        return
    for line in data.splitlines() if b"w-s " in data or b"wxs " in data else ():
        match = _LINE.fullmatch(line)
        if match is not None:
            inode, path = match.groups()
            yield int(inode), _ESCAPED.sub(lambda octal: bytes([int(octal[1], 8)]), path)


def _processes() -> list[str]:
    try:
        return [name for name in os.listdir(_PROC) if name.isdecimal()]
    except OSError:  # pragma: no cover - not on Linux
        return []
