"""Single paths of a stored tree, found by reading only the folders on the way to them."""

import os
from collections.abc import Iterator

from mulligan.adapters.snapshots.format.tree_format import ROOT_NAME, EntryKind, decode, kind_of, split_root
from mulligan.adapters.snapshots.trees.stored_diff import FolderReader, shown
from mulligan.domain.trees.tree_difference import TreeEntry, TreeItem


def item_at(top: bytes, path: str, folders: FolderReader) -> TreeEntry | None:
    """Return the entry at a path of the tree with that address; None: the tree has none there."""
    record = _record_at(top, path, folders)
    return shown(decode(record)) if record is not None else None


def items_in(top: bytes, path: str, folders: FolderReader, *, recursive: bool) -> Iterator[TreeItem]:
    """Yield what a folder of the tree holds, by the bytes of the names, each folder before what is in it."""
    record = _record_at(top, path, folders)
    if record is None or kind_of(record) is not EntryKind.FOLDER:
        return
    pending = [("" if path == ROOT_NAME else path, record)]
    while pending:
        place, opened = pending.pop()
        if place != path and (place or path != ROOT_NAME):
            yield _item(place, opened)
        if kind_of(opened) is not EntryKind.FOLDER or (place not in (path, "") and not recursive):
            continue
        records = folders(decode(opened).address)
        held = [name for name in records if kind_of(records[name]) is not EntryKind.UNHELD]
        held.sort(key=os.fsencode, reverse=True)
        pending.extend((os.path.join(place, name), records[name]) for name in held)


def _record_at(top: bytes, path: str, folders: FolderReader) -> bytes | None:
    record = split_root(top, folders.read(top))[ROOT_NAME]
    for name in path.split("/") if path != ROOT_NAME else ():
        if kind_of(record) is not EntryKind.FOLDER:
            return None
        below = folders(decode(record).address).get(name)
        if below is None or kind_of(below) is EntryKind.UNHELD:
            return None
        record = below
    return record


def _item(path: str, record: bytes) -> TreeItem:
    entry = shown(decode(record))
    assert entry is not None
    return TreeItem(path, entry)
