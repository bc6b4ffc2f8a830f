"""The result of comparing checkpoints: files, folders, and a patch. The fields are named as in the JSON output."""

from enum import StrEnum

from msgspec import Struct

from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId


class FileStatus(StrEnum):
    """The kind of change of a file, symlink or folder."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class FileDiff(Struct, frozen=True, kw_only=True):
    """One file or symlink that differs."""

    resource: str
    path: str
    status: FileStatus
    old_path: str | None  # of one that was renamed
    similarity: int | None  # of one that was renamed, in percent
    binary: bool
    insertions: int | None  # lines; None: binary
    deletions: int | None
    not_in_patch: tuple[str, ...]  # what of the difference the patch does not carry


class FolderDiff(Struct, frozen=True, kw_only=True):
    """One folder that came, went, changed itself or lost all it held."""

    resource: str
    path: str
    status: FileStatus
    not_in_patch: tuple[str, ...]


class DiffSide(Struct, frozen=True, kw_only=True):
    """One of the two that were compared: a group, or one checkpoint of it."""

    plan_id: PlanId
    group_id: GroupId
    checkpoint_id: CheckpointId | None  # None: all of the group
    checkpoint_type: CheckpointType
    label: str | None


class TreeDiff(Struct, frozen=True, kw_only=True):
    """The difference in one resource."""

    files: tuple[FileDiff, ...]
    folders: tuple[FolderDiff, ...]
    patches: tuple[bytes, ...]  # one for each of the files
    pairs_left_out: int  # of old and new files that were too many to be compared for renames

    @property
    def patch(self) -> bytes:
        """The patches as one."""
        return b"".join(self.patches)


class Diff(Struct, frozen=True, kw_only=True):
    """The difference between two groups or checkpoints."""

    old: DiffSide
    new: DiffSide
    files: tuple[FileDiff, ...]
    folders: tuple[FolderDiff, ...]
    patch: bytes  # as `git apply` takes it
    messages: tuple[str, ...]
    sizes: tuple[int, ...] = ()  # bytes of each file's part of the patch
    hidden: int = 0  # files that differ too, and were left out because `sandbox.hide` matches them
