"""The index of a copied working tree, with the copies' inodes and times, so that git need not read them again."""

import hashlib
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.git.repository.git_packs import GITLINK_MODE

follow: "Callable[[bytearray, int, int, int], int] | None" = None
odd: "Callable[[bytearray, int], list[tuple[int, bytes]] | None] | None" = None
listing: "Callable[[bytes, int], dict[bytes, bytes] | None] | None" = None
with suppress(ImportError):  # it was not built: the same in Python takes ten times as long
    from mulligan.adapters.sandboxes.git.position import _entries

    follow, odd, listing = _entries.follow, _entries.odd, _entries.listing

_HEADER = struct.Struct(">4sII")
_STAT = struct.Struct(">10I")  # ctime, mtime (seconds, nanoseconds each), dev, ino, mode, uid, gid, size
_EXTENDED, _STAGE, _NAME = 0x40, 0x30, 0x0F  # in the first byte of the flags
_LONG_NAME = 0x0FFF  # this long, or longer
_INTENT = 0x20  # in the third
_FULL = 0xFFFFFFFF
# Remembered of folders and by daemons at the old place; or offsets, which change when these go.
_DROPPED = frozenset({b"UNTR", b"FSMN", b"EOIE", b"IEOT"})


class IndexEntry(Struct, frozen=True):
    """One entry: the position of its stat data in the file, and its path."""

    offset: int
    path: bytes
    mode: int
    stage: int
    announced: bool  # by `git add -N`: no tree has it yet


class IndexFile:
    """The bytes of an index with changeable stat data."""

    def __init__(self, data: bytes, object_format: str) -> None:
        self._data = bytearray(data)
        self._hash = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
        self._id_size = self._hash().digest_size
        self._entries_end = 0

    @property
    def is_split(self) -> bool:
        """Return whether it holds only the differences from another file, the shared index."""
        return any(name == b"link" for name, _ in self._extensions())

    def entries(self) -> Iterator[IndexEntry]:
        self._entries_end = _HEADER.size
        for at, end, path in _walk(bytes(self._data), self._id_size):
            yield self._entry(at, path)
            self._entries_end = end

    def odd_entries(self) -> Iterator[IndexEntry]:
        """Return those entries that are not simply a file: repositories, several versions, announced ones."""
        found = odd(self._data, self._id_size) if odd is not None else None
        if found is not None:
            return (self._entry(at, path) for at, path in found)
        return (e for e in self.entries() if e.stage or e.announced or e.mode == GITLINK_MODE)

    def _entry(self, at: int, path: bytes) -> IndexEntry:
        data, flags_at = self._data, at + _STAT.size + self._id_size
        mode = int.from_bytes(data[at + 24 : at + 28], "big")
        high = data[flags_at]
        more = data[flags_at + 2] if high & _EXTENDED else 0
        return IndexEntry(at, path, mode, (high & _STAGE) >> 4, bool(more & _INTENT))

    def object_of(self, entry: IndexEntry) -> str:
        at = entry.offset + _STAT.size
        return self._data[at : at + self._id_size].hex()

    def follow(self, old: Path, new: Path) -> None:
        """Update entries that were valid for the old tree with the stat data of equal files in the new one.

        Files that git would have read again in the old tree, it reads again in the new one.
        """
        if not self._followed_in_c(old, new):
            self._follow(list(self.entries()), old, new)

    def _followed_in_c(self, old: Path, new: Path) -> bool:
        if follow is None:
            return False
        with ExitStack() as opened:
            folders: list[int] = []
            for path in (old, new):
                try:
                    folders.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
                except OSError:
                    return False
                opened.callback(os.close, folders[-1])
            end = follow(self._data, self._id_size, *folders)
        self._entries_end = max(end, 0)
        return end >= 0

    def _follow(self, entries: list[IndexEntry], old: Path, new: Path) -> None:
        old_top, new_top = os.fsencode(old) + b"/", os.fsencode(new) + b"/"
        for entry in entries:
            if entry.stage or entry.mode == GITLINK_MODE or stat.S_ISDIR(entry.mode):
                continue
            try:
                was, now = os.lstat(old_top + entry.path), os.lstat(new_top + entry.path)
            except OSError:
                continue  # deleted, or never checked out
            same = (was.st_mtime_ns, was.st_size, stat.S_IFMT(was.st_mode)) == (
                now.st_mtime_ns,
                now.st_size,
                stat.S_IFMT(now.st_mode),
            )
            if same and self._knows(entry, was):
                self._learn(entry, now)

    def to_bytes(self) -> bytes:
        """Return the file without cached data about its old location."""
        extensions = [(name, data) for name, data in self._extensions() if name not in _DROPPED]
        body = bytes(self._data[: self._entries_end]) + b"".join(
            name + len(data).to_bytes(4, "big") + data for name, data in extensions
        )
        unhashed = not any(self._data[-self._id_size :])  # index.skipHash
        return body + (bytes(self._id_size) if unhashed else self._hash(body).digest())

    def _knows(self, entry: IndexEntry, st: os.stat_result) -> bool:
        known = _STAT.unpack_from(self._data, entry.offset)
        ctime, ctime_ns, mtime, mtime_ns, _, ino, _, uid, gid, size = known
        return (ctime, mtime, ino, uid, gid, size) == (
            st.st_ctime_ns // 10**9 & _FULL,
            st.st_mtime_ns // 10**9 & _FULL,
            st.st_ino & _FULL,
            st.st_uid,
            st.st_gid,
            st.st_size & _FULL,
        ) and (ctime_ns, mtime_ns) in ((st.st_ctime_ns % 10**9, st.st_mtime_ns % 10**9), (0, 0))

    def _learn(self, entry: IndexEntry, st: os.stat_result) -> None:
        stamped = (*divmod(st.st_ctime_ns, 10**9), *divmod(st.st_mtime_ns, 10**9))
        values = (*stamped, st.st_dev, st.st_ino, entry.mode, st.st_uid, st.st_gid, st.st_size)
        _STAT.pack_into(self._data, entry.offset, *(value & _FULL for value in values))

    def _extensions(self) -> Iterator[tuple[bytes, bytes]]:
        if not self._entries_end and follow is not None:
            self._entries_end = max(follow(self._data, self._id_size, -1, -1), 0)
        if not self._entries_end:
            for _ in self.entries():
                pass
        at, end = self._entries_end, len(self._data) - self._id_size
        while at + 8 <= end:
            size = int.from_bytes(self._data[at + 4 : at + 8], "big")
            yield bytes(self._data[at : at + 4]), bytes(self._data[at + 8 : at + 8 + size])
            at += 8 + size


def paths_in(data: bytes, object_format: str) -> frozenset[bytes]:
    """The paths of an index; of one that cannot be read, as an agent may leave it, none."""
    return frozenset(path.partition(b"\0")[0] for path in listing_of(data, object_format))


def listing_of(data: bytes, object_format: str) -> dict[bytes, bytes]:
    """The entries of an index: paths, each with mode and object; of one that cannot be read none.

    Where a path has several versions, each has a NUL and its stage after the path; what replaces an entry of a
    shared index has no path, and a NUL and a number instead.
    """
    id_size = 32 if object_format == "sha256" else 20
    in_c = listing(data, id_size) if listing is not None else None
    if in_c is not None:
        return in_c
    flags_at = _STAT.size + id_size
    found: dict[bytes, bytes] = {}
    try:
        for at, end, path in _walk(data, id_size):
            stage = data[at + flags_at] & _STAGE
            key = b"%s\0%d" % (path, stage >> 4 or end) if stage or not path else path
            found[key] = data[at + 24 : at + 28] + data[at + 40 : at + flags_at]
    except (IndexError, ValueError, struct.error):
        return {}
    return found


def _walk(data: bytes, id_size: int) -> Iterator[tuple[int, int, bytes]]:
    """Return where each entry begins and ends, and its path."""
    _, version, count = _HEADER.unpack_from(data)
    at, path = _HEADER.size, b""
    flags_at = _STAT.size + id_size
    limit = len(data) - id_size - flags_at - 2
    for _ in range(count):
        if at > limit:
            raise ValueError("the index is cut off")
        high, low = data[at + flags_at], data[at + flags_at + 1]
        name_at = at + flags_at + (4 if high & _EXTENDED else 2)
        if version >= 4:
            strip, name_at = _varint(data, name_at)
            end = data.index(0, name_at)
            path = path[: len(path) - strip] + data[name_at:end]
            following = end + 1
        else:
            end = name_at + ((high & _NAME) << 8 | low)
            if end - name_at == _LONG_NAME:
                end = data.index(0, end)
            path = data[name_at:end]
            following = at + (end - at + 8) // 8 * 8
        yield at, following, path
        at = following


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Git's offset encoding, as in packs: the value and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
