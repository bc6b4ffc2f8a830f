"""Drops cache entries whose objects are no longer in the store."""

from mulligan.adapters.snapshots.format.chunks import CHUNKED_ABOVE, chunk_ids
from mulligan.adapters.snapshots.format.tree_format import EntryKind, decode, stored_at
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.scan.found_folder import Folder
from mulligan.errors import SnapshotDamaged


def forget_missing(top: Folder, objects: Objects) -> bool:
    """Forget files and folders whose objects are gone: the next capture reads them again, and only them.

    Return whether anything was forgotten.

    Every object is looked up separately. The presence of an object that names others says nothing about those:
    garbage is removed pack by pack.
    """
    forgotten = False
    for folder in top.walk():
        if folder.address and not objects.contains(folder.address):
            folder.address, forgotten = b"", True
        for name in [name for name, record in folder.records.items() if not _is_here(record, objects)]:
            del folder.records[name]
            forgotten = True
    if forgotten:
        for folder in top.walk():
            folder.unseal()
    return forgotten


def _is_here(record: bytes, objects: Objects) -> bool:
    kind, size, object_id = stored_at(record)
    if kind is not EntryKind.FILE:
        return True  # a link is its record; a folder is checked separately
    if not objects.contains(object_id):
        return False
    if size <= CHUNKED_ABOVE:
        return True
    try:
        return all(map(objects.contains, chunk_ids(decode(record), objects.read(object_id))))
    except SnapshotDamaged:
        return False
