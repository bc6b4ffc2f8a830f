"""A known tree in one piece of memory, as the stat cache keeps it: folders are taken out when they are asked for.

    head    how many rows; how long the names of the packs are; these names
    rows    one per folder, of a fixed length: parents before children, the folders below one right behind it,
            those in one folder by the bytes of their names
    heap    for each row: its name, then its listing, then what else is known of it

_walk.c reads rows, names and listings too: it reports which folders are unchanged, with all below, and those are
never unpacked. The caller that opens an archive has verified its bytes.
"""

import marshal
import os
import struct
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, cast

from mulligan.adapters.snapshots.cache import c_rows
from mulligan.adapters.snapshots.format.signatures import SIGNATURE_LENGTH, Listing, inodes_in, measured
from mulligan.adapters.snapshots.scan.found_folder import Folder

_HEAD = struct.Struct("<QQ")
# end of what is below; lengths of name and names; count of signatures; flags; length of the rest; place in the
# heap; files below; id; address
_ROW = struct.Struct("<IIIIIIQQ32s32s")
_PLAIN = 1  # names and signatures show whether all that is known of it still holds
_COMPLETE = 2
_SKIPPED = 4  # something in it is excluded, by a name or pattern that is excluded in every tree of this key
_APART = 8  # something in it is excluded as a path of another resource
_LACKING = 16  # something here or below cannot be held
_UNKNOWN = bytes(32)


class Archive:
    """A tree that was packed."""

    def __init__(self, data: memoryview) -> None:
        count, length = _HEAD.unpack_from(data)
        self.packs = frozenset(bytes(data[_HEAD.size : _HEAD.size + length]).decode("ascii").split())
        start = _HEAD.size + length
        self.rows = data[start : start + count * _ROW.size]
        self.heap = data[start + count * _ROW.size :]

    def top(self) -> Folder:
        return self._folder(0, None)

    def listing(self, row: int) -> Listing:
        _, name, names, count, _, _, at, *_ = self._row(row)
        at += name
        middle = at + names
        return Listing(
            bytes(self.heap[at:middle]), bytes(self.heap[middle : middle + count * SIGNATURE_LENGTH])
        )

    def measured(self, row: int) -> tuple[int, int]:
        """Return how many names in a folder and below are not folders, and the bytes of files among them."""
        if c_rows.measure is not None:
            return c_rows.measure(self.rows, self.heap, row, self.end(row))
        counts = [measured(each) for each in self._signatures(row)]
        return sum(count for count, _ in counts), sum(size for _, size in counts)

    def has_inode(self, row: int, inodes: AbstractSet[int]) -> bool:
        """Return whether one of these inodes is in a folder or below."""
        if c_rows.has_inode is not None:
            return c_rows.has_inode(self.rows, self.heap, row, self.end(row), list(inodes))
        return any(not inodes.isdisjoint(inodes_in(each)) for each in self._signatures(row))

    def with_name(self, row: int, name: str) -> list[int]:
        """Return the rows of folders, of this one and those below, that have a name in them."""
        raw, end = os.fsencode(name), self.end(row)
        if c_rows.with_name is not None:
            return c_rows.with_name(self.rows, self.heap, row, end, raw)
        return [each for each in range(row, end) if raw in self.listing(each).names.split(b"\0")]

    def _signatures(self, row: int) -> Iterator[bytes]:
        return (self.listing(each).signatures for each in range(row, self.end(row)))

    def leaving_out(self, row: int) -> list[int]:
        """Return the rows of folders, of this one and those below, in which something is excluded."""
        end = self.end(row)
        if c_rows.with_flag is not None:
            return c_rows.with_flag(self.rows, self.heap, row, end, _SKIPPED)
        return [each for each in range(row, end) if self._row(each)[4] & _SKIPPED]

    def changed_since(self, folder: Folder) -> bytes:
        """Return a byte for each row: 1 where more is known of a folder by now than the row says.

        `folder` was known as a row of this archive, and is no longer sealed.
        """
        stale = bytearray(len(self.rows) // _ROW.size)
        pending = [folder]
        while pending:
            here = pending.pop()
            assert here.origin is not None
            row = here.origin[1]
            end, below = self._row(row)[0], row + 1
            stale[row] = 1
            while below < end:
                last, name, _, _, _, _, at, *_ = self._row(below)
                child = here.children.get(os.fsdecode(bytes(self.heap[at : at + name])))
                if child is None or child.origin is None or child.origin != (self, below):
                    stale[below:last] = b"\1" * (last - below)
                elif not child.sealed:
                    pending.append(child)
                below = last
        return bytes(stale)

    def folder_at(self, top: Folder, row: int) -> Folder | None:
        """Return the folder of a row, at or below one that is known; None where it is there no more."""
        folder: Folder | None = top
        while folder is not None and folder.origin != (self, row):
            folder = next((each for each in folder.children.values() if self.has_below(each, row)), None)
        return folder

    def has_below(self, folder: Folder, row: int) -> bool:
        """Return whether a folder was known as a row of this archive, which is another row or above it."""
        shelf, first = folder.origin or (None, 0)
        return shelf is self and first <= row < self.end(first)

    def block(self, row: int, number: int, at: int) -> tuple[bytes, memoryview]:
        """Return the rows of a folder and all below, and their part of the heap, as they are in another archive.

        There the folder has that number, and its part of the heap begins at `at`.
        """
        end = self.end(row)
        first = self._row(row)[6]
        last = self._row(end)[6] if end * _ROW.size < len(self.rows) else len(self.heap)
        if c_rows.moved is not None:
            return c_rows.moved(self.rows, self.heap, row, end, number - row, at - first), self.heap[
                first:last
            ]
        rows = [
            _ROW.pack(fields[0] + number - row, *fields[1:6], fields[6] + at - first, *fields[7:])
            for fields in map(self._row, range(row, end))
        ]
        return b"".join(rows), self.heap[first:last]

    def end(self, row: int) -> int:
        """Return the row after the last one below a folder."""
        return cast("int", self._row(row)[0])

    def held(self, row: int) -> int:
        """Return the number of names in a folder's listing."""
        return cast("int", self._row(row)[3])

    def is_complete(self, row: int) -> bool:
        """Return whether every name of a folder has a record."""
        return bool(self._row(row)[4] & _COMPLETE)

    def records(self, row: int) -> dict[str, bytes]:
        return self._rest(self._row(row))[0]

    def children(self, row: int, folder: Folder) -> dict[str, Folder]:
        end, below, found = self._row(row)[0], row + 1, dict[str, Folder]()
        while below < end:
            child = self._folder(below, folder)
            found[child.name] = child
            below = self._row(below)[0]
        return found

    def seal(self, row: int, folder: Folder) -> None:
        """Make a folder what it is here, with all below."""
        end, _, _, _, flags, _, _, files, identity, address = fields = self._row(row)
        folder.put_away(self, row, has_children=end > row + 1)
        folder.files = files
        folder.skipped, folder.apart = bool(flags & _SKIPPED), bool(flags & _APART)
        if address != _UNKNOWN:
            folder.id, folder.address = identity, address
        if not flags & _PLAIN:
            _, folder.racy, folder.groups, folder.unheld = self._rest(fields)
        if flags & _LACKING:
            folder.missing = sum(self._lacking(each) for each in range(row, end))

    def _lacking(self, row: int) -> int:
        fields = self._row(row)
        return 0 if fields[4] & _PLAIN or not fields[4] & _LACKING else len(self._rest(fields)[3])

    def _folder(self, row: int, parent: Folder | None) -> Folder:
        _, name, _, _, _, _, at, *_ = self._row(row)
        folder = Folder(os.fsdecode(bytes(self.heap[at : at + name])), parent)
        self.seal(row, folder)
        return folder

    def _row(self, row: int) -> tuple[Any, ...]:
        return _ROW.unpack_from(self.rows, row * _ROW.size)

    def _rest(
        self, fields: tuple[Any, ...]
    ) -> tuple[dict[str, bytes], set[str], dict[str, bytes], dict[str, str]]:
        _, name, names, count, _, length, at, *_ = fields
        at += name + names + count * SIGNATURE_LENGTH
        return marshal.loads(self.heap[at : at + length])  # noqa: S302  packed by ourselves, and proved


NOTHING = Archive(memoryview(_HEAD.pack(0, 0)))


def pack(top: Folder, packs: Iterable[str]) -> bytes:
    """Put a tree into one piece. What is as in an archive, with all below, is taken from there as it is."""
    order = _in_order(top)
    starts: list[int] = []
    count = 0
    for folder in order:
        starts.append(count)
        count += 1 if (shelf := folder.shelf) is None else shelf[0].end(shelf[1]) - shelf[1]
    ends: dict[int, int] = {}
    following = count
    for number in range(len(order) - 1, -1, -1):
        folder = order[number]
        end = ends.setdefault(id(folder), following)
        if folder.parent is not None:
            ends.setdefault(id(folder.parent), end)  # that of the last child is that of the parent
        following = starts[number]
    rows: list[bytes | memoryview] = []
    heap: list[bytes | memoryview] = []
    at = 0
    for number, folder in enumerate(order):
        if (shelf := folder.shelf) is not None:
            there, block = shelf[0].block(shelf[1], starts[number], at)
            rows.append(there)
            heap.append(block)
            at += len(block)
            continue
        name, listing = os.fsencode(folder.name), folder.listing
        rest = marshal.dumps((folder.records, folder.racy, folder.groups, folder.unheld))
        pieces = (name, *listing, rest)
        lengths = (len(name), len(listing.names), listing.held, _flags(folder), len(rest))
        known = (folder.id, folder.address) if folder.address else (_UNKNOWN, _UNKNOWN)
        rows.append(_ROW.pack(ends[id(folder)], *lengths, at, folder.files, *known))
        heap.extend(pieces)
        at += sum(map(len, pieces))
    names = " ".join(sorted(packs)).encode("ascii")
    return b"".join([_HEAD.pack(count, len(names)), names, *rows, *heap])


def _in_order(top: Folder) -> list[Folder]:
    """Return the folders of a tree as rows follow one another; of those that are as in an archive, the topmost."""
    found: list[Folder] = []
    pending = [top]
    while pending:
        folder = pending.pop()
        found.append(folder)
        if folder.shelf is None:
            below = sorted(folder.children.values(), key=lambda child: os.fsencode(child.name), reverse=True)
            pending.extend(below)
    return found


def _flags(folder: Folder) -> int:
    odd = folder.racy or folder.groups or folder.unheld or folder.apart
    plain = folder.complete and folder.address and not odd
    return (
        (_PLAIN if plain else 0)
        | (_COMPLETE if folder.complete else 0)
        | (_SKIPPED if folder.skipped else 0)
        | (_APART if folder.apart else 0)
        | (_LACKING if folder.missing else 0)
    )
