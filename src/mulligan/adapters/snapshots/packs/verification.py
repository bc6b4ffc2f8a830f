"""Verification: reads and hashes all objects that snapshots need, each once, and names what is wrong."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from mulligan.adapters.snapshots.format.chunks import CHUNK, CHUNKED_ABOVE, chunk_ids, pieces
from mulligan.adapters.snapshots.format.tree_format import (
    Entry,
    EntryKind,
    decode,
    identity_of,
    split,
    split_root,
)
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.errors import SnapshotDamaged
from mulligan.ports import Observer

_PROGRESS_EVERY = 50  # objects
_SOUND = frozenset[Damage]()


class Verification(Struct, eq=False, kw_only=True):
    """One pass over some snapshots; what they share is looked at once."""

    objects: Objects
    observer: Observer
    quick: bool
    _files: dict[tuple[bytes, int], frozenset[Damage]] = {}  # by content and size
    _folders: dict[bytes, frozenset[Damage]] = {}  # by address: all that is wrong there and below
    _identities: dict[bytes, bytes] = {}  # address -> identity, of folders that could be read
    _looked_at: int = 0

    def run(self, snapshots: Iterable[Snapshot]) -> Mapping[Snapshot, tuple[Damage, ...]]:
        found: dict[Snapshot, tuple[Damage, ...]] = {}
        for snapshot in snapshots:
            damage = _SOUND.union(*(self._root(root) for root in snapshot.roots))
            if damage:
                found[snapshot] = tuple(sorted(damage, key=lambda each: (each.object, each.reason)))
        self.observer.progress("objects verified", self._looked_at, self._looked_at)
        return found

    def _root(self, root: Root) -> frozenset[Damage]:
        try:
            address, object_id = bytes.fromhex(root.address), bytes.fromhex(root.id)
        except ValueError:
            return frozenset({Damage(root.address, "this is not an address")})
        if address not in self._folders:
            self._walk(address)
        return self._folders[address] | self._misnamed(address, object_id)

    def _walk(self, top: bytes) -> None:
        """Look at a folder and all below that was not looked at yet; children are finished before parents."""
        opened: dict[bytes, list[Entry]] = {}
        pending = [top]
        while pending:
            address = pending[-1]
            if address in self._folders:
                pending.pop()
            elif address in opened:
                pending.pop()
                self._folders[address] = _SOUND.union(*map(self._entry, opened.pop(address)))
            else:
                try:
                    opened[address] = self._open(address, is_root=address == top)
                except SnapshotDamaged as exc:
                    self._folders[address] = frozenset({_damage(exc)})
                else:
                    folders = (entry for entry in opened[address] if entry.kind is EntryKind.FOLDER)
                    pending.extend(entry.address for entry in folders)

    def _open(self, address: bytes, *, is_root: bool) -> list[Entry]:
        data = self._read(address)
        records = split_root(address, data) if is_root else split(address, data)
        self._identities[address] = identity_of(records.values())
        return [decode(record) for record in records.values()]

    def _entry(self, entry: Entry) -> frozenset[Damage]:
        if entry.kind is EntryKind.FOLDER:
            return self._folders[entry.address] | self._misnamed(entry.address, entry.id)
        if entry.kind is not EntryKind.FILE:
            return _SOUND
        key = (entry.id, entry.size)
        if key not in self._files:
            try:
                self._file(entry)
                self._files[key] = _SOUND
            except SnapshotDamaged as exc:
                self._files[key] = frozenset({_damage(exc)})
        return self._files[key]

    def _misnamed(self, address: bytes, object_id: bytes) -> frozenset[Damage]:
        found = self._identities.get(address, object_id)
        return (
            _SOUND
            if found == object_id
            else frozenset({Damage(address.hex(), "its identity is not what was recorded")})
        )

    def _file(self, entry: Entry) -> None:
        if not self.quick:
            for _ in pieces(entry, self._read):
                pass
        elif entry.size <= CHUNKED_ABOVE:
            self._expect(entry.id, entry.size)
        else:
            left = entry.size
            for object_id in chunk_ids(entry, self._read(entry.id)):
                self._expect(object_id, min(CHUNK, left))
                left -= CHUNK

    def _expect(self, object_id: bytes, size: int) -> None:
        """Look at presence and length alone."""
        self._count()
        found = self.objects.length(object_id)
        if found != size:
            raise SnapshotDamaged(object=object_id.hex(), reason=f"it holds {found} bytes, not {size}")

    def _read(self, object_id: bytes) -> bytes:
        self._count()
        return self.objects.read(object_id)

    def _count(self) -> None:
        self._looked_at += 1
        if self._looked_at % _PROGRESS_EVERY == 0:
            self.observer.progress("objects verified", self._looked_at, None)


def _damage(exc: SnapshotDamaged) -> Damage:
    return Damage(str(exc.facts["object"]), str(exc.facts["reason"]))
