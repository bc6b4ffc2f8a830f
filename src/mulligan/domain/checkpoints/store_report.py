"""Reports of a snapshot store: captures, restores, damage, and freed bytes."""

from enum import StrEnum

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot


class ChangeAction(StrEnum):
    """The effect of a restore on one path."""

    RESTORED = "restored"
    REMOVED = "removed"


class PathChange(Struct, frozen=True):
    """One path that a restore touches."""

    path: str  # relative to the sandbox; bytes that are not UTF-8 as surrogates, like os.fsdecode
    action: ChangeAction
    about: str = ""  # of a part of a git directory: what moves where


class Unheld(Struct, frozen=True):
    """A path that a snapshot cannot hold, and why; a restore leaves it where it is."""

    path: str
    reason: str


class Capture(Struct, frozen=True, kw_only=True):
    """The result of a capture."""

    snapshot: Snapshot
    size_bytes: int  # added to the store by this capture
    files: int
    unheld: tuple[Unheld, ...]
    busy: tuple[str, ...] = ()  # paths that never held still: held as they were read last, or missing


class Survey(Struct, frozen=True, kw_only=True):
    """The files and bytes that a sandbox of a resource would copy."""

    files: int
    size_bytes: int


class Damage(Struct, frozen=True):
    """One object that is missing, truncated or changed."""

    object: str
    reason: str


class Swept(Struct, frozen=True, kw_only=True):
    """The packs and bytes that a sweep freed, or would free."""

    objects_removed: int
    objects_kept: int
    packs_removed: int  # held nothing that is needed
    packs_rewritten: int  # held too much garbage, or too little at all: new packs have their live objects
    packs_kept: int  # with the new ones
    packs_unreadable: int  # damaged: nobody knows what they hold, so they stay
    bytes_freed: int
    bytes_kept: int


class Leftovers(Struct, frozen=True, kw_only=True):
    """Leftovers of killed processes in a store, and cache entries of trees that no longer exist."""

    work_folders: int
    stat_caches: int
    size_bytes: int
