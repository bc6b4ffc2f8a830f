"""The kernel's inotify, through libc: what happens in watched folders, queued with the operation itself."""

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8  # also the last munmap of a file that was mapped to be written
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
OVERFLOW = 0x4000
IGNORED = 0x8000
IS_FOLDER = 0x40000000
_ONLY_FOLDERS = 0x01000000
WANTED = (
    MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
) | _ONLY_FOLDERS
_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 1 << 16
_MOST_KEPT = 1 << 23  # bytes of events that wait to be looked at: some hundred thousand


class Event(NamedTuple):
    """Something that happened in a watched folder, or to it where the name is empty."""

    watch: int
    mask: int
    cookie: int  # the two halves of a rename have the same
    name: str


class Inotify:
    """One queue of events. OSError where the system has none left."""

    def __init__(self) -> None:
        import ctypes  # here: most commands watch nothing

        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "inotify_init1"):  # pragma: no cover - not on Linux
            raise OSError("this system has no inotify")
        self._add = libc.inotify_add_watch
        self._remove = libc.inotify_rm_watch
        self.fd: int = _checked(libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        self._kept: list[bytes] = []  # read from the queue already
        self._overflown = False

    def watch(self, folder_fd: int) -> int:
        """Watch an open folder; return the number of its events, the same for the same folder."""
        # By its descriptor: no path that could be too long, or lead elsewhere by now.
        return _checked(self._add(self.fd, b"/proc/self/fd/%d" % folder_fd, WANTED))

    def forget(self, watch: int) -> None:
        """Stop watching a folder; it may be gone already."""
        self._remove(self.fd, watch)

    def events(self) -> list[Event]:
        """All that happened since the last time, in order."""
        kept, self._kept = self._kept, []
        found = [event for data in kept for event in _events_in(data)]
        while data := self._read():
            found += _events_in(data)
        if self._overflown:
            self._overflown = False
            found.append(Event(-1, OVERFLOW, 0, ""))
        return found

    def arrived(self) -> Iterator[Event]:
        """Yield what happened since this was last asked; all of it stays for `events`, and the queue is empty."""
        new: list[bytes] = []
        while data := self._read():
            new.append(data)
        self._kept += new
        if sum(map(len, self._kept)) > _MOST_KEPT:
            self._kept, self._overflown = [], True
        for data in new:
            yield from _events_in(data)

    def close(self) -> None:
        os.close(self.fd)

    def _read(self) -> bytes:
        try:
            return os.read(self.fd, _BUFFER)
        except BlockingIOError:
            return b""


def _events_in(data: bytes) -> Iterator[Event]:
    at = 0
    while at < len(data):
        watch, mask, cookie, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + length].rstrip(b"\0")
        at += length
        yield Event(watch, mask, cookie, os.fsdecode(name))


def _checked(result: int) -> int:
    if result < 0:
        import ctypes

        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
