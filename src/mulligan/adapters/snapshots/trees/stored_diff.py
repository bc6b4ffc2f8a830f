"""In which paths two stored trees differ; folders that are equal are not opened."""

import os
from collections.abc import Callable, Sequence

from msgspec import Struct

from mulligan.adapters.snapshots.format.tree_format import (
    ROOT_NAME,
    Entry,
    EntryKind,
    decode,
    identity_of,
    identity_part,
    kind_of,
    own_part,
    split,
    split_root,
)
from mulligan.domain.checkpoints.snapshot import ObjectId
from mulligan.domain.paths.path_set import PathSet
from mulligan.domain.trees.tree_difference import Beside, EntryType, StoredContent, TreeDifference, TreeEntry

_Records = dict[str, bytes]
TYPES = {kind: EntryType[kind.name] for kind in (EntryKind.FILE, EntryKind.FOLDER, EntryKind.SYMLINK)}
_REMEMBERED = 8_192  # folders: as many as hold some hundred changes, in the trees that one apply compares
_HOLDS_NOTHING = identity_of(())


class FolderReader(Struct, frozen=True, eq=False):
    """Reads folders, and remembers the last: the newer tree of one comparison is the older one of the next."""

    read: Callable[[bytes], bytes]
    _known: dict[bytes, _Records] = {}

    def __call__(self, address: bytes) -> _Records:
        known = self._known.get(address)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[address] = split(address, self.read(address))
        return known


def differences(
    old: bytes, new: bytes, folders: FolderReader, within: Sequence[str] = ()
) -> tuple[TreeDifference, ...]:
    """Return the differences of two trees, given by address, sorted by the bytes of the paths.

    With `within` only those of these paths, of what is below them, and of the folders around them.
    """
    read, asked = folders.read, PathSet(within)
    found: list[TreeDifference] = []
    pending: list[tuple[str, _Records, _Records]] = [
        ("", split_root(old, read(old)), split_root(new, read(new)))
    ]
    while pending:
        place, before, after = pending.pop()
        for name in before.keys() | after.keys():
            mine, other = before.get(name), after.get(name)
            if mine is not None and other is not None and identity_part(mine) == identity_part(other):
                continue
            path = os.path.join(place, name)
            if asked and not asked.leads_to(path):
                continue
            was, became = _entry(mine), _entry(other)
            if was is None and became is None:
                continue
            if _held(was) != _held(became):
                below = "" if not place and name == ROOT_NAME else path
                pending.append((below, _opened(was, folders), _opened(became, folders)))
            if not _same_folder(mine, was, other, became):
                found.append(TreeDifference(path, shown(was), shown(became)))
    return tuple(sorted(found, key=lambda difference: os.fsencode(difference.path)))


def _entry(record: bytes | None) -> Entry | None:
    """Return the entry of a record; None for one that cannot be held, since nothing is known that could differ."""
    return None if record is None or kind_of(record) is EntryKind.UNHELD else decode(record)


def _held(entry: Entry | None) -> bytes | None:
    """The identity of what a folder holds; None where there is no folder."""
    return entry.id if entry is not None and entry.kind is EntryKind.FOLDER else None


def _opened(entry: Entry | None, folders: FolderReader) -> _Records:
    if entry is None or entry.kind is not EntryKind.FOLDER:
        return {}
    return folders(entry.address)


def _same_folder(mine: bytes | None, was: Entry | None, other: bytes | None, became: Entry | None) -> bool:
    """Return whether both are folders and differ at most in what is below them."""
    if mine is None or was is None or other is None or became is None:
        return False
    if was.kind is not EntryKind.FOLDER or became.kind is not EntryKind.FOLDER:
        return False
    return own_part(mine) == own_part(other) and _HOLDS_NOTHING not in (was.id, became.id)


def shown(entry: Entry | None) -> TreeEntry | None:
    """Return an entry as others see it."""
    if entry is None:
        return None
    is_file = entry.kind is EntryKind.FILE
    return TreeEntry(
        type=TYPES[entry.kind],
        mode=entry.mode,
        content=StoredContent(ObjectId(entry.id.hex()), entry.size) if is_file else None,
        target=entry.target,
        shared_with=entry.group,
        attributes=entry.attributes,
        empty=entry.kind is EntryKind.FOLDER and entry.id == _HOLDS_NOTHING,
        beside=Beside(entry.mtime_ns, entry.sparse),
    )


def file_of(content: StoredContent) -> Entry:
    """Return the entry of a file whose content alone is known."""
    return Entry("", EntryKind.FILE, size=content.size, id=bytes.fromhex(content.id))
