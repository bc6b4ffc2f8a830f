"""What a snapshot store tells of its work: what it captured, restored, found damaged, and freed."""

from enum import StrEnum

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot


class ChangeAction(StrEnum):
    """What a restore does, or did, to one path."""

    RESTORED = "restored"
    REMOVED = "removed"


class PathChange(Struct, frozen=True):
    """One path that a restore touches."""

    path: str  # relative to the sandbox; bytes that are not UTF-8 as surrogates, like os.fsdecode
    action: ChangeAction


class Unheld(Struct, frozen=True):
    """A path that a snapshot cannot hold, and why; a restore leaves it where it is."""

    path: str
    reason: str


class Capture(Struct, frozen=True, kw_only=True):
    """What a capture found and stored."""

    snapshot: Snapshot
    size_bytes: int  # added to the store by this capture
    files: int
    unheld: tuple[Unheld, ...]


class Survey(Struct, frozen=True, kw_only=True):
    """What a sandbox of a resource would copy."""

    files: int
    size_bytes: int


class Damage(Struct, frozen=True):
    """One object that is missing, truncated or changed."""

    object: str
    reason: str


class Swept(Struct, frozen=True, kw_only=True):
    """What a sweep freed, or would free."""

    objects_removed: int
    objects_kept: int
    packs_removed: int  # held nothing that is needed
    packs_rewritten: int  # held too much that is not, or too little at all: what is needed stands in new ones
    packs_kept: int  # with the new ones
    packs_unreadable: int  # damaged: nobody knows what they hold, so they stay
    bytes_freed: int
    bytes_kept: int


class Leftovers(Struct, frozen=True, kw_only=True):
    """What killed processes left behind in a store, and what was remembered of trees that are no more."""

    work_folders: int
    stat_caches: int
    size_bytes: int
