"""Marks: the ids of all objects that some snapshots need."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from mulligan.adapters.snapshots.format.chunks import CHUNKED_ABOVE, chunk_ids
from mulligan.adapters.snapshots.format.tree_format import (
    EntryKind,
    address_of,
    decode,
    split,
    split_root,
    stored_at,
)
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.ports import Observer

_PROGRESS_EVERY = 500  # objects


class Marks(Struct, eq=False):
    """A set of ids that grows by snapshots; a folder that is marked has all below it marked too."""

    read: Callable[[bytes], bytes]
    observer: Observer
    ids: set[bytes] = set()
    # Kept apart from all ids: a file may hold the very bytes of a folder or chunk list, and is the same object.
    _folders: set[bytes] = set()
    _chunk_lists: set[bytes] = set()
    _snapshots: set[Snapshot] = set()

    def add(self, snapshots: Iterable[Snapshot]) -> set[bytes]:
        """Mark the objects that these need; return the ids that were not marked before.

        SnapshotDamaged where a folder or chunk list cannot be read: the objects behind it are unknown.
        """
        new: set[bytes] = set()
        for snapshot in set(snapshots) - self._snapshots:
            for root in snapshot.roots:
                self._mark_tree(address_of(root), new)
            self._snapshots.add(snapshot)
        return new

    def _mark_tree(self, top: bytes, new: set[bytes]) -> None:
        pending = [top]
        while pending:
            address = pending.pop()
            if address in self._folders:
                continue
            data = self.read(address)
            records = split_root(address, data) if address == top else split(address, data)
            self._folders.add(address)
            self._mark(address, new)
            if len(self.ids) % _PROGRESS_EVERY == 0:
                self.observer.progress("objects marked", len(self.ids), None)
            for record in records.values():
                kind, size, object_id = stored_at(record)
                if kind is EntryKind.FOLDER:
                    pending.append(object_id)
                elif kind is EntryKind.FILE:
                    self._mark(object_id, new)
                    if size > CHUNKED_ABOVE and object_id not in self._chunk_lists:
                        self._chunk_lists.add(object_id)
                        for chunk in chunk_ids(decode(record), self.read(object_id)):
                            self._mark(chunk, new)

    def _mark(self, object_id: bytes, new: set[bytes]) -> None:
        if object_id not in self.ids:
            self.ids.add(object_id)
            new.add(object_id)
