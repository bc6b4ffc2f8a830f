"""Blobs in stored git directories: whether one holds the bytes of a file as an object of git."""

import hashlib
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.ports import StoredTrees

_PACKS = "objects/pack"
_STAGED = "staged.pack"  # of a checkout in place: what the index names and HEAD has not
_NAMES_AT = 8 + 4 * 256  # in an index
_HEADER = 12  # bytes of a pack before its first object
_BLOB = 3


def holding_blobs(
    store: StoredTrees, snapshots: Iterable[Snapshot], contents: Iterable[StoredContent]
) -> tuple[Snapshot, ...]:
    """Return the snapshots whose git directory, or staged objects, hold one of these contents as a blob."""
    names = frozenset(name for content in contents for name in _names_of(store.read(content)))
    known: dict[Root, bool] = {}
    found: list[Snapshot] = []
    for snapshot in dict.fromkeys(snapshots):
        for root in snapshot.roots[1:]:
            if root not in known:
                known[root] = _holds(store, root, names)
            if known[root]:
                found.append(snapshot)
    return tuple(found)


def _names_of(data: bytes) -> tuple[bytes, bytes]:
    """Return the names of a blob in both of git's formats."""
    whole = b"blob %d\0" % len(data) + data
    return hashlib.sha1(whole).digest(), hashlib.sha256(whole).digest()  # noqa: S324 - as git names it


def _holds(store: StoredTrees, root: Root, names: frozenset[bytes]) -> bool:
    loose = (f"objects/{name.hex()[:2]}/{name.hex()[2:]}" for name in names)
    if any(store.item(root, path) is not None for path in loose):
        return True
    for item in store.items(root, _PACKS, recursive=False):
        if item.path.endswith(".idx") and item.entry.content is not None:
            index = store.read(item.entry.content)
            if any(_is_listed(index, name) for name in names):
                return True
    staged = store.item(root, _STAGED)
    if staged is None or staged.content is None:
        return False
    return any(not names.isdisjoint(_names_of(data)) for data in _blobs_in(store.read(staged.content)))


def _is_listed(index: bytes, name: bytes) -> bool:
    """Return whether an index of a pack lists an object: sorted names of one length follow a table of 256 counts."""
    count, size = int.from_bytes(index[_NAMES_AT - 4 : _NAMES_AT], "big"), len(name)
    listed = index[_NAMES_AT : _NAMES_AT + count * size]
    at = bisect_left(range(count), name, key=lambda number: listed[number * size : (number + 1) * size])
    return listed[at * size : (at + 1) * size] == name


def _blobs_in(pack: bytes) -> Iterator[bytes]:
    """Yield the blobs of a pack in which every object is complete."""
    at = _HEADER
    for _ in range(int.from_bytes(pack[8:_HEADER], "big")):
        kind = pack[at] >> 4 & 7
        while pack[at] & 0x80:
            at += 1
        unpacking = zlib.decompressobj()
        data = unpacking.decompress(pack[at + 1 :])
        at = len(pack) - len(unpacking.unused_data)
        if kind == _BLOB:
            yield data
