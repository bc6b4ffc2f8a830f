"""Packs of git objects, written whole and durably: cheaper than a file, and a sync, for each object."""

import hashlib
import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from mulligan.boundaries import act
from mulligan.errors import SystemFailed
from mulligan.osfiles.folders import sync_folder

FOLDER, GITLINK = b"40000", b"160000"  # modes, as trees have them
GITLINK_MODE = int(GITLINK, 8)
_TYPES = {"commit": 1, "tree": 2, "blob": 3}
OURS = "pack-mulligan-"  # in these every object is complete: none is a delta to another
_DRAFTS = "drafts"
_INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_NAMES_AT = 8 + 4 * 256  # in an index
_FULL = 32 << 20  # bytes
_QUICK = 1  # level of compression: these objects are many and short-lived


class Objects:
    """Names objects and gathers new ones for one pack."""

    def __init__(self, object_format: str) -> None:
        self._hash = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
        self._new: dict[bytes, tuple[int, bytes]] = {}
        self.size = 0  # bytes that wait to be written

    @property
    def id_size(self) -> int:
        return self._hash().digest_size

    @property
    def is_full(self) -> bool:
        return self.size > _FULL

    def name_of(self, kind: str, data: bytes) -> bytes:
        return self._hash(b"%s %d\0" % (kind.encode(), len(data)) + data).digest()

    def add(self, kind: str, data: bytes) -> bytes:
        name = self.name_of(kind, data)
        self._new[name] = (_TYPES[kind], data)
        self.size += len(data)
        return name

    def write_to(self, folder: Path, *others: tuple[Path, bytes]) -> None:
        """Write a pack of all that was added, and other small files after it; when it returns, all of it lasts."""
        entries = {
            name: _entry_header(kind, len(data)) + zlib.compress(data, _QUICK)
            for name, (kind, data) in self._new.items()
        }
        self._new, self.size = {}, 0
        self._write(folder, entries, *others)

    def join(self, packs: Sequence[Path]) -> None:
        """Put what several of our packs hold into one, durably, and then delete them."""
        entries: dict[bytes, bytes] = {}
        for pack in packs:
            entries |= self._entries_of(pack)
        name = self._write(packs[0].parent, entries)
        for pack in packs:
            if pack.stem != name:
                remove_pack(pack)

    def _write(self, folder: Path, entries: Mapping[bytes, bytes], *others: tuple[Path, bytes]) -> str:
        pack, index = self._pack_of(entries)
        name = f"{OURS}{pack[-self.id_size :].hex()}"
        # The index last: without one git does not see a pack. Refs after the objects they name.
        files = [(folder / f"{name}.pack", pack), (folder / f"{name}.idx", index), *others]
        write_durably(folder.parent.parent, files)
        return name

    def _entries_of(self, pack: Path) -> dict[bytes, bytes]:
        index, data = pack.with_suffix(".idx").read_bytes(), pack.read_bytes()
        (count,) = struct.unpack_from(">I", index, _NAMES_AT - 4)
        offsets_at = _NAMES_AT + count * (self.id_size + 4)
        offsets = struct.unpack_from(f">{count}I", index, offsets_at)
        ends = dict(pairwise([*sorted(offsets), len(data) - self.id_size]))
        return {
            index[_NAMES_AT + i * self.id_size : _NAMES_AT + (i + 1) * self.id_size]: data[at : ends[at]]
            for i, at in enumerate(offsets)
        }

    def _pack_of(self, entries: Mapping[bytes, bytes]) -> tuple[bytes, bytes]:
        header = b"PACK" + struct.pack(">II", 2, len(entries))
        at = len(header)
        places: list[tuple[bytes, int, int]] = []
        for name, entry in entries.items():
            places.append((name, zlib.crc32(entry), at))
            at += len(entry)
        body = header + b"".join(entries.values())
        pack = body + self._hash(body).digest()
        return pack, self._index(sorted(places), pack[-self.id_size :])

    def _index(self, places: Sequence[tuple[bytes, int, int]], checksum: bytes) -> bytes:
        counts = [0] * 256
        for name, _, _ in places:
            counts[name[0]] += 1
        fanout = [sum(counts[: i + 1]) for i in range(256)]
        body = b"".join(
            (
                _INDEX_MAGIC,
                struct.pack(">256I", *fanout),
                *(name for name, _, _ in places),
                *(struct.pack(">I", crc) for _, crc, _ in places),
                *(struct.pack(">I", at) for _, _, at in places),  # far below 2 GiB: large files are not ours
                checksum,
            )
        )
        return body + self._hash(body).digest()


def remove_pack(pack: Path) -> None:
    """Remove a pack of ours; without its index it is none already, so that goes first."""
    try:
        with act("git.join"):
            pack.with_suffix(".idx").unlink(missing_ok=True)
            pack.unlink()
    except OSError as exc:
        raise SystemFailed(path=str(pack), reason=exc.strerror or str(exc)) from exc


def write_durably(repository: Path, files: Sequence[tuple[Path, bytes]]) -> None:
    """Write files under their names, in this order, each whole or not there; when it returns they last.

    Drafts have a folder of their own: git would take one among refs for a ref. Leftovers of a killed process are
    removed; the writer holds the plan and is alone.
    """
    place = repository / _DRAFTS
    drafts = [(place / str(number), path, data) for number, (path, data) in enumerate(files)]
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        for left in place.iterdir():
            left.unlink()
        for draft, _, data in drafts:
            with draft.open("wb") as file:
                file.write(data)
                file.flush()
                with act("git.sync"):
                    os.fsync(file.fileno())
        for draft, path, _ in drafts:
            with act("git.name"):
                draft.replace(path)
        place.rmdir()  # the repository may be the user's
        for folder in dict.fromkeys(path.parent for path, _ in files):
            with act("git.keep"):
                sync_folder(folder)
    except OSError as exc:
        raise SystemFailed(path=str(files[0][0].parent), reason=exc.strerror or str(exc)) from exc


def not_own(objects: Path, names: Collection[bytes]) -> set[bytes]:
    """Return those names, as hexadecimal digits, whose objects this folder does not hold itself."""
    folder = os.fsencode(objects)
    left = {name for name in names if not os.path.exists(os.path.join(folder, name[:2], name[2:]))}
    for index in sorted(objects.glob("pack/*.idx")) if left else ():
        if index.with_suffix(".pack").exists():
            left -= _listed(index, left)
    return left


def _listed(index: Path, names: Collection[bytes]) -> set[bytes]:
    """Those of the names that the index of a pack lists; an index of another version lists none."""
    with index.open("rb") as file:
        if file.read(len(_INDEX_MAGIC)) != _INDEX_MAGIC:
            return set()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return {name for name in names if _lists(data, bytes.fromhex(name.decode()))}


def _lists(data: mmap.mmap, name: bytes) -> bool:
    first, size = name[0], len(name)
    (start,) = struct.unpack_from(">I", data, 4 + 4 * first) if first else (0,)
    (end,) = struct.unpack_from(">I", data, 8 + 4 * first)

    def at(place: int) -> bytes:
        return data[_NAMES_AT + place * size : _NAMES_AT + (place + 1) * size]

    found = bisect_left(range(end), name, start, end, key=at)
    return found < end and at(found) == name


def tree_entries(data: bytes, id_size: int) -> dict[bytes, tuple[bytes, bytes]]:
    """Return the entries of a tree object: names to modes and objects."""
    entries: dict[bytes, tuple[bytes, bytes]] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        entries[data[space + 1 : end]] = (data[at:space], data[end + 1 : end + 1 + id_size])
        at = end + 1 + id_size
    return entries


def tree_data(entries: Iterable[tuple[bytes, tuple[bytes, bytes]]]) -> bytes:
    """A tree object; git sorts folders as if their names ended in a slash."""
    ordered = sorted(
        (name + b"/" if mode == FOLDER else name, name, mode, id) for name, (mode, id) in entries
    )
    return b"".join(b"%s %s\0%s" % (mode, name, id) for _, name, mode, id in ordered)


def _entry_header(kind: int, size: int) -> bytes:
    first, size = kind << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    header.append(first)
    return bytes(header)
