"""Snapshots: the bytes of one sandbox at one moment, named by what they are."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

SnapshotId = NewType(
    "SnapshotId", str
)  # hash of names, kinds, modes, contents, links, attributes; not of mtimes
ObjectId = NewType("ObjectId", str)  # hash of the stored bytes of one object


@dataclass(frozen=True, slots=True)
class Root:
    """One stored tree: its identity, and the address where the store keeps it with its mtimes."""

    id: SnapshotId
    address: ObjectId


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The bytes of one sandbox: one root, or several where a sandbox has several trees."""

    roots: tuple[Root, ...]

    @property
    def id(self) -> SnapshotId:
        """The identity of the files: equal contents have equal ids on any machine."""
        return self.roots[0].id

    def same_as(self, other: "Snapshot | None") -> bool:
        """Tell whether all roots hold the same, mtimes apart."""
        return other is not None and [r.id for r in self.roots] == [r.id for r in other.roots]

    def to_text(self) -> str:
        """One word per root, for a column of the database."""
        return " ".join(f"{root.id}@{root.address}" for root in self.roots)

    @staticmethod
    def from_text(text: str) -> "Snapshot":
        """Read back what `to_text` wrote."""
        pairs = (word.partition("@") for word in text.split())
        return Snapshot(tuple(Root(SnapshotId(id), ObjectId(address)) for id, _, address in pairs))


class ChangeAction(StrEnum):
    """What a restore does, or did, to one path."""

    RESTORED = "restored"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class PathChange:
    """One path that a restore touches."""

    path: str  # relative to the sandbox; bytes that are not UTF-8 as surrogates, like os.fsdecode
    action: ChangeAction


@dataclass(frozen=True, slots=True)
class Unheld:
    """A path that a snapshot cannot hold, and why; a restore leaves it where it is."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a capture found and stored."""

    snapshot: Snapshot
    size_bytes: int  # added to the store by this capture
    files: int
    unheld: tuple[Unheld, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a sandbox of a resource would copy."""

    files: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Damage:
    """One object that is missing, truncated or changed."""

    object: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep freed, or would free."""

    objects_removed: int
    objects_kept: int
    packs_removed: int  # held nothing that is needed
    packs_rewritten: int  # held too much that is not, or too little at all: what is needed stands in new ones
    packs_kept: int  # with the new ones
    packs_unreadable: int  # damaged: nobody knows what they hold, so they stay
    bytes_freed: int
    bytes_kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """What killed processes left behind in a store, and what was remembered of trees that are no more."""

    work_folders: int
    stat_caches: int
    size_bytes: int
