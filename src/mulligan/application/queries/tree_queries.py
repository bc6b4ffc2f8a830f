"""Single paths of checkpoints: the entry, what a folder holds, and the bytes of a file.

Paths are relative to the project folder: a checkpoint holds each resource at its location. Only the folders that lead
to a path are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.resources.placement import Part, parts_of, path_shown
from mulligan.domain.trees.tree_difference import EntryType, TreeEntry
from mulligan.errors import Advice, NextStep, PathForgotten, PathIsFolder, PathNotInCheckpoint

if TYPE_CHECKING:
    from mulligan.application.queries.checkpoint_queries import CheckpointQueries
    from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.text.ids import GroupId, PlanId
    from mulligan.ports import StoredTrees
    from mulligan.rows.database import Database

WHOLE = "."  # the path of the project folder itself
_EARLIEST, _LATEST = -62_135_596_800, 253_402_300_799  # seconds: the years 1 to 9999


class TreeLine(Struct, frozen=True, kw_only=True):
    """One path of a checkpoint."""

    path: str  # relative to the project folder
    resource: str
    type: EntryType
    mode: str  # octal, four digits
    size_bytes: int | None  # of a file
    target: str | None  # of a symlink
    modified_at: datetime


class TreeListing(Struct, frozen=True, kw_only=True):
    """The entries of a checkpoint at a path."""

    plan_id: PlanId
    handle: str
    group_id: GroupId
    number: int
    path: str  # "." where all of it was asked for
    recursive: bool
    entries: tuple[TreeLine, ...]

    @property
    def name(self) -> str:
        """The checkpoint in the words that commands accept."""
        return f"{self.handle}@{self.number}"


class StoredPath(Struct, frozen=True, kw_only=True):
    """One path of a checkpoint that is a file, a folder or a symlink."""

    plan_id: PlanId
    handle: str
    group_id: GroupId
    number: int
    line: TreeLine
    entry: TreeEntry


class _Place(Struct, frozen=True, kw_only=True):
    """A group, its plan, and the parts of its resources that are asked for."""

    plan: Plan
    group: CheckpointGroup
    parts: Sequence[Part]


class TreeQueries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads single paths of checkpoints; never waits for a running plan."""

    database: Database
    trees: StoredTrees
    checkpoint_queries: CheckpointQueries

    def listing(self, word: str, path: str, *, recursive: bool) -> TreeListing:
        """Return what a folder of a checkpoint holds, or the one line of anything else."""
        with self.trees.hold():
            place = self._place(word, path)
            lines: list[TreeLine] = []
            found = list(self._entries(place))
            if not found:
                raise not_there(place.plan, place.group, path)
            for part, entry in found:
                root = place.group.snapshot_of(part.resource.name).roots[0]
                if entry.is_folder:
                    items = self.trees.items(root, part.path, recursive=recursive)
                    lines += [line_of(part, item.path, item.entry) for item in items]
                else:
                    lines.append(line_of(part, part.path, entry))
        return TreeListing(
            plan_id=place.plan.plan_id,
            handle=place.plan.handle,
            group_id=place.group.group_id,
            number=place.group.number,
            path=path,
            recursive=recursive,
            entries=tuple(lines),
        )

    def find(self, word: str, path: str) -> StoredPath:
        """Return the file or symlink that a checkpoint has at a path; refuse a folder, and a path that it lacks."""
        with self.trees.hold():
            place = self._place(word, path)
            for part, entry in self._entries(place):
                if part.shown == path and not entry.is_folder:
                    return StoredPath(
                        plan_id=place.plan.plan_id,
                        handle=place.plan.handle,
                        group_id=place.group.group_id,
                        number=place.group.number,
                        line=line_of(part, part.path, entry),
                        entry=entry,
                    )
                listing = NextStep("list_tree", checkpoint=name_of(place.plan, place.group), path=path)
                raise PathIsFolder(path=path, hint=Advice(listing, " lists what it holds"))
            raise not_there(place.plan, place.group, path)

    def copy(self, word: str, path: str, write: Callable[[bytes], object]) -> StoredPath:
        """Hand the bytes of a file, piece by piece, to `write`; of a symlink its target."""
        with self.trees.hold():  # from the look to the last piece
            found = self.find(word, path)
            for piece in self._pieces(found.entry):
                write(piece)
        return found

    def _pieces(self, entry: TreeEntry) -> Iterable[bytes]:
        return self.trees.pieces(entry.content) if entry.content is not None else (entry.target,)

    def _place(self, word: str, path: str) -> _Place:
        found = self.checkpoint_queries.find(word)
        with self.database.reading() as db:
            plan = db.plans.get(found.group.plan_id)
            group = db.checkpoints.get(found.group.group_id)  # it may have been pruned since it was found
        names = {c.resource for c in group.checkpoints if found.checkpoint in (None, c)}
        parts = [p for p in parts_of(path, plan.definition.resources) if p.resource.name in names]
        return _Place(plan=plan, group=group, parts=parts)

    def _entries(self, place: _Place) -> Iterator[tuple[Part, TreeEntry]]:
        """Yield the parts that the checkpoint holds, with their entries; the path itself comes first."""
        for part in sorted(place.parts, key=lambda part: part.shown.count("/")):
            root = place.group.snapshot_of(part.resource.name).roots[0]
            entry = self.trees.item(root, part.path)
            if entry is not None:
                yield part, entry


def line_of(part: Part, path: str, entry: TreeEntry) -> TreeLine:
    """Return the line of a path in a resource's tree."""
    return TreeLine(
        path=path_shown(part, path),
        resource=part.resource.name,
        type=entry.type,
        mode=f"{entry.mode:04o}",
        size_bytes=entry.content.size if entry.content is not None else None,
        target=entry.target.decode("utf-8", "surrogateescape") if entry.type is EntryType.SYMLINK else None,
        modified_at=_moment(entry.beside.mtime_ns),
    )


def _moment(ns: int) -> datetime:
    """Return the time of a stamp; a file may have any, and one out of the calendar is its nearest end."""
    return datetime.fromtimestamp(min(max(ns // 1_000_000_000, _EARLIEST), _LATEST), UTC)


def name_of(plan: Plan, group: CheckpointGroup) -> str:
    """Return the name of a group in the words that commands accept."""
    return f"{plan.handle}@{group.number}"


def not_there(plan: Plan, group: CheckpointGroup, path: str) -> PathNotInCheckpoint:
    """Return the refusal of a path that a checkpoint does not hold."""
    name = name_of(plan, group)
    if any(path == gone or path.startswith(f"{gone}/") for gone in forgotten_in(group)):
        return PathForgotten(path=path, checkpoint=name)
    look = NextStep("list_tree", checkpoint=name)
    return PathNotInCheckpoint(path=path, checkpoint=name, hint=Advice(look, " lists what it holds"))


def forgotten_in(group: CheckpointGroup) -> Sequence[str]:
    """Return the paths, relative to the project folder, that were purged from a group."""
    named = group.reason.metadata.get("forgotten")
    return [str(path) for path in named] if isinstance(named, list) else []
