"""Snapshots: the bytes of one sandbox at one moment, named by what they are."""

from typing import NewType

from msgspec import Struct

# A hash of names, kinds, modes, contents, links and attributes, not of mtimes.
SnapshotId = NewType("SnapshotId", str)
ObjectId = NewType("ObjectId", str)  # hash of the stored bytes of one object


class Root(Struct, frozen=True):
    """One stored tree: its identity, and the address where the store keeps it with its mtimes."""

    id: SnapshotId
    address: ObjectId


class Snapshot(Struct, frozen=True):
    """The bytes of one sandbox: one root, or several where a sandbox has several trees."""

    roots: tuple[Root, ...]

    @property
    def id(self) -> SnapshotId:
        """The identity of the files: equal contents have equal ids on any machine."""
        return self.roots[0].id

    def same_as(self, other: "Snapshot | None") -> bool:
        """Return whether all roots hold the same, except for mtimes."""
        return other is not None and [r.id for r in self.roots] == [r.id for r in other.roots]

    def to_text(self) -> str:
        """One word per root, for a column of the database."""
        return " ".join(f"{root.id}@{root.address}" for root in self.roots)

    @staticmethod
    def from_text(text: str) -> "Snapshot":
        """Read back what `to_text` wrote."""
        pairs = (word.partition("@") for word in text.split())
        return Snapshot(tuple(Root(SnapshotId(id), ObjectId(address)) for id, _, address in pairs))
