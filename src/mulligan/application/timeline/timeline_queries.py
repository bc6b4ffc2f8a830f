"""The timeline of a folder for front doors: its entries, newest first, with what each changed in short.

The fields are named as in the JSON output.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.application.queries.listing import Listing
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.timeline_entry import (
    DeedKind,
    DeedStatus,
    Standing,
    TimelineEntry,
    still_counts,
)
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.resources.placement import Part, path_shown
from mulligan.domain.resources.resource import is_in_place
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId
from mulligan.domain.trees.tree_difference import without_hidden
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from mulligan.ports import StoredTrees
    from mulligan.rows.database import Database
    from mulligan.rows.transaction import Transaction


class EntryPoint(Struct, frozen=True, kw_only=True):
    """A checkpoint group at the beginning or the end of an entry."""

    checkpoint_id: CheckpointId
    group_id: GroupId
    number: int  # in its plan


class EntryView(Struct, frozen=True, kw_only=True):
    """An entry of the timeline."""

    number: int
    kind: DeedKind
    plan_id: PlanId
    handle: str
    title: str
    status: DeedStatus
    step_index: int | None
    in_place: bool
    real: bool  # it changed real resources; otherwise the sandbox of its plan
    dropped: bool  # it was done in the sandbox of a plan that was dropped or cancelled
    undone: bool
    redoable: bool
    taken: bool  # it failed or was cut off, and its changes count all the same
    counts: bool  # an undo takes it back some time
    files: int | None  # that it changed; None: not known any longer, or not yet
    before: EntryPoint | None
    after: EntryPoint | None
    created_at: datetime


class Outcome(Struct, frozen=True, kw_only=True):
    """The state right after an entry, and the paths that the entry changed."""

    plan_id: PlanId
    group_id: GroupId
    paths: tuple[str, ...]  # relative to the project folder: files, symlinks and empty folders


class TimelineQueries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads the timeline; the cost is that of the entries shown."""

    database: Database
    trees: StoredTrees

    def has(self, number: int) -> bool:
        """Return whether there is an entry of that number."""
        with self.database.reading() as db:
            return 0 < number <= db.entries.last()

    def newest(self, limit: int | None) -> Listing[EntryView]:
        """Return the newest entries, newest first."""
        with self.trees.hold(), self.database.reading() as db:
            found = db.entries.newest(limit)
            return Listing(self.views(db, found), older=db.entries.count() - len(found))

    def entry(self, number: int) -> EntryView:
        """Return one entry."""
        with self.trees.hold(), self.database.reading() as db:
            return self.views(db, [db.entries.get(number)])[0]

    def sides(self, number: int) -> tuple[PlanId, GroupId, GroupId]:
        """Return the plan of an entry, and the groups before and after it, which can be compared."""
        with self.database.reading() as db:
            entry = db.entries.get(number)
            groups = self.groups(db, entry)
        if groups is None:
            raise errors.NothingToCompare(number=number)
        return entry.plan_id, groups[0].group_id, groups[1].group_id

    def groups(self, db: Transaction, entry: TimelineEntry) -> tuple[CheckpointGroup, CheckpointGroup] | None:
        """Return the groups before and after an entry; None where one of them is not held."""
        if entry.kind in (DeedKind.APPLY, DeedKind.UNAPPLY):
            groups = _applied(db, entry)
        else:
            groups = entry.before_group, entry.after_group or db.plans.get(entry.plan_id).current_group_id
        before, after = (_group(db, group) for group in groups)
        return None if before is None or after is None else (before, after)

    def outcome(self, number: int) -> Outcome:
        """Return the state right after an entry; without what its plan hides, as a diff of it is."""
        plan_id, old, new = self.sides(number)
        with self.trees.hold():
            with self.database.reading() as db:
                plan, before, after = db.plans.get(plan_id), db.checkpoints.get(old), db.checkpoints.get(new)
            paths = [
                path_shown(Part(plan.definition.resource(checkpoint.resource), "", ""), difference.path)
                for checkpoint in after.checkpoints
                for difference in without_hidden(
                    self.trees.difference(
                        before.snapshot_of(checkpoint.resource).roots[0], checkpoint.snapshot.roots[0]
                    ),
                    plan.hidden,
                )[0]
                # A folder that holds something comes with it, and what others put there is not the entry's.
                if difference.of_files or (difference.new is not None and difference.new.empty)
            ]
        return Outcome(plan_id=plan_id, group_id=new, paths=tuple(dict.fromkeys(paths)))

    def views(self, db: Transaction, entries: Sequence[TimelineEntry]) -> list[EntryView]:
        """Return entries as front doors show them. The caller holds the trees."""
        plans: dict[PlanId, tuple[Plan, Standing]] = {}
        views: list[EntryView] = []
        for entry in entries:
            if entry.plan_id not in plans:
                plan = db.plans.get(entry.plan_id)
                plans[entry.plan_id] = plan, standing_of(db, plan)
            plan, standing = plans[entry.plan_id]
            before, after = _group(db, entry.before_group), _group(db, entry.after_group)
            views.append(
                EntryView(
                    number=entry.number,
                    kind=entry.kind,
                    plan_id=entry.plan_id,
                    handle=plan.handle,
                    title=entry.title,
                    status=entry.status,
                    step_index=entry.step_index,
                    in_place=standing.in_place,
                    real=standing.in_place or not entry.kind.is_in_sandbox,
                    dropped=entry.kind.is_in_sandbox
                    and not standing.in_place
                    and plan.state is State.CANCELLED,
                    undone=not entry.is_live,
                    redoable=entry.redo is not None,
                    taken=entry.is_live and entry.kind.is_step and entry.title in plan.progress.taken,
                    counts=still_counts(entry, standing),
                    files=self._files(entry, before, after, plan.hidden),
                    before=point_of(before),
                    after=point_of(after),
                    created_at=entry.created_at,
                )
            )
        return views

    def _files(
        self,
        entry: TimelineEntry,
        before: CheckpointGroup | None,
        after: CheckpointGroup | None,
        hidden: Sequence[str],
    ) -> int | None:
        """Count the files that an entry changed, without hidden ones; damage to the store prevents no look."""
        if not entry.kind.is_step or entry.changed is False:
            return entry.files if not entry.kind.is_step else 0
        if before is None or after is None:
            return None
        try:
            return sum(
                difference.of_files
                for checkpoint in after.checkpoints
                for difference in without_hidden(
                    self.trees.difference(
                        before.snapshot_of(checkpoint.resource).roots[0], checkpoint.snapshot.roots[0]
                    ),
                    hidden,
                )[0]
            )
        except MulliganError:
            return None


def standing_of(db: Transaction, plan: Plan) -> Standing:
    """Return as much of a plan as decides which of its entries count."""
    sandboxes = db.sandboxes.list(plan.plan_id)
    return Standing(
        phase=plan.phase,
        state=plan.state,
        in_place=is_in_place(plan.definition.resources, sandboxes),
        has_sandboxes=bool(sandboxes),
    )


def _applied(db: Transaction, entry: TimelineEntry) -> tuple[GroupId | None, GroupId | None]:
    """Return the groups of an apply: the plan's first, and the one that was applied."""
    plan = db.plans.get(entry.plan_id)
    first = db.checkpoints.first(entry.plan_id)
    old, new = (first.group_id if first else None), plan.current_group_id
    return (old, new) if entry.kind is DeedKind.APPLY else (new, old)


def _group(db: Transaction, group_id: GroupId | None) -> CheckpointGroup | None:
    try:
        return None if group_id is None else db.checkpoints.get(group_id)
    except errors.CheckpointNotFound:
        return None


def point_of(group: CheckpointGroup | None) -> EntryPoint | None:
    """Return a group as entries name it."""
    if group is None:
        return None
    return EntryPoint(checkpoint_id=group.first_checkpoint_id, group_id=group.group_id, number=group.number)
