"""Ties graphs to the files of a session: at each checkpoint of a graph, a group holds the files of that moment.

Groups are taken between the steps of a graph only, when none of its nodes is at work: a capture meanwhile would read
half-written files, and would drop locks that the program has on them.
"""

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from mulligan.application.runs.commit import Commit
from mulligan.application.runs.session_run import SessionRun
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.graphs.graph_state import GraphPosition
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    CheckpointNotFound,
    GraphBusy,
    GraphFilesElsewhere,
    GraphFilesGone,
    GraphFilesUnknown,
)
from mulligan.rows.transaction import Transaction


class Binding(Struct, frozen=True):
    """The group that holds the files of a graph's checkpoint."""

    plan_id: PlanId
    group_id: GroupId


class Point(Struct, frozen=True, kw_only=True):
    """A checkpoint of a graph, with its files."""

    thread: str
    checkpoint_id: str | None  # None: before its first
    files: Binding | None  # None: it was made without files


class _Here(Struct, frozen=True):
    """The checkpoint that the files of a session belong to, in this process."""

    thread: str
    checkpoint_id: str | None
    line: int  # of the plan's history: a return that is not of a graph begins another one


WriteRows: TypeAlias = Callable[[Transaction, Binding], object]


class GraphFiles:
    """The files of graphs in one session; the caller makes one call at a time."""

    def __init__(self, session: SessionRun) -> None:
        """Take the session that is open."""
        self._session = session
        self._here: _Here | None = None  # None: not known in this process yet
        self._found: GroupId | None = None  # holds the files as the present run found them
        self._inside = False  # graphs within the present one have moved on
        session.at_rest.append(self._rest)

    def begin(self, point: Point, *, addressed: bool) -> bool:
        """Make the files those from which a run goes on; return whether they went back to those of the checkpoint.

        Where the run continues what was done last, they stay as they are. A checkpoint that was addressed by its id
        always gets its own files, and so does one that another process, or another thread, worked on since.
        """
        went_back = False
        if addressed or not self.is_at(point):
            went_back = self._bring(point, addressed=addressed)
        self._session.keep(_metadata(point.thread, point.checkpoint_id), self._find)
        self._stand_at(point.thread, point.checkpoint_id)
        return went_back

    def put(self, thread: str, parent: str | None, new: str, write: WriteRows, *, moved: bool) -> Binding:
        """Record that a run made a checkpoint; `moved` where nodes have run since the one before.

        `write` adds rows to the same transaction, with the group that holds the files.
        """
        self._refuse_other(thread, parent)
        bound: list[Binding] = []

        def record(commit: Commit, group_id: GroupId) -> None:
            plan_id = commit.plan.plan_id
            bound.append(Binding(plan_id, group_id))
            commit.db.graph_positions.move(plan_id, thread, new, group_id)
            write(commit.db, bound[0])

        found = self._found
        if moved or found is None:
            self._session.keep(_metadata(thread, new), record)
        else:  # a node may be at work by now
            self._session.note(lambda commit: record(commit, found))
        self._stand_at(thread, new)
        return bound[0]

    def note_inside(self, thread: str) -> None:
        """Record that a graph within the present one is about to make a checkpoint."""
        if not self._inside:
            plan_id = self._session.plan_id
            self._session.note(lambda commit: commit.db.graph_positions.note_inside(plan_id, thread))
            self._inside = True

    def moved_inside(self, point: Point) -> bool:
        """Return whether graphs within a graph have moved on since a checkpoint."""
        position = self._position(point)
        return position is not None and position.inside

    def holds(self, point: Point) -> bool:
        """Return whether what nodes did since a checkpoint is in the files, or in a group that a run begins with."""
        session = self._session
        if point.files is None or point.files.plan_id != session.plan_id or self.is_at(point):
            return True
        if session.over is not None:
            return True
        position = self._position(point)
        return position is not None and position.resting_group is not None

    def _bring(self, point: Point, *, addressed: bool) -> bool:
        """Bring the files of a checkpoint back; return False where what was done since it is there too."""
        if self._here is not None:
            self._keep_rest()
        if point.checkpoint_id is None:
            return False
        position = self._position(point)
        if position is not None and position.resting_group is not None and not addressed:
            self._go(point, position.resting_group)
            self._session.note(self._on_the_way(point.thread))
            return False
        if point.files is None:
            if addressed:
                raise GraphFilesUnknown(thread=point.thread, checkpoint=point.checkpoint_id)
            return False
        self._go(point, self._own(point, point.files))
        return True

    def _go(self, point: Point, group_id: GroupId) -> None:
        """Restore a group, unless the files are those that it holds."""
        session = self._session
        self._find_present(point)
        if self._found == group_id:
            return
        with session.run.database.reading() as db:
            try:
                db.checkpoints.get(group_id)
            except CheckpointNotFound as exc:
                raise GraphFilesGone(
                    thread=point.thread,
                    checkpoint=point.checkpoint_id,
                    group=group_id,
                    plan_id=session.plan_id,
                ) from exc
        session.rollback(group_id)

    def _find_present(self, point: Point) -> None:
        self._session.keep(_metadata(point.thread, None), self._find)

    def _own(self, point: Point, files: Binding) -> GroupId:
        """Return the group of this plan with the files of a checkpoint; its origin's, if it is a fork from there."""
        plan = self._session.run.plan
        if files.plan_id == plan.plan_id:
            return files.group_id
        origin = plan.definition.fork
        facts = {"thread": point.thread, "checkpoint": point.checkpoint_id, "owner": files.plan_id}
        if origin is None or origin.plan_id != files.plan_id:
            raise GraphFilesElsewhere(
                reason=f"its files are in plan {files.plan_id}, not in this session", **facts
            )
        with self._session.run.database.reading() as db:
            first = db.checkpoints.resolve("first", plan.plan_id).group
            try:
                there = db.checkpoints.get(files.group_id)
            except CheckpointNotFound as exc:
                raise GraphFilesGone(
                    thread=point.thread,
                    checkpoint=point.checkpoint_id,
                    group=files.group_id,
                    plan_id=files.plan_id,
                ) from exc
        if not _hold_the_same(first, there):
            raise GraphFilesElsewhere(
                reason=f"this session is a fork of {origin.word}, which has other files", **facts
            )
        return first.group_id

    def _keep_rest(self) -> None:
        """Keep what the graph that worked here last did since its newest checkpoint."""
        self._session.keep({"reason": "graph"}, self._rest)

    def _rest(self, commit: Commit, group_id: GroupId) -> None:
        here = self._here
        if here is None or here.checkpoint_id is None or here.line != commit.plan.line:
            return
        position = commit.db.graph_positions.of_thread(commit.plan.plan_id, here.thread)
        if position is not None and position.checkpoint_id == here.checkpoint_id:
            commit.db.graph_positions.rest(commit.plan.plan_id, here.thread, group_id)

    def _on_the_way(self, thread: str) -> Callable[[Commit], None]:
        plan_id = self._session.plan_id
        return lambda commit: commit.db.graph_positions.rest(plan_id, thread, None)

    def _find(self, _: Commit, group_id: GroupId) -> None:
        self._found = group_id

    def _position(self, point: Point) -> GraphPosition | None:
        with self._session.run.database.reading() as db:
            position = db.graph_positions.of_thread(self._session.plan_id, point.thread)
        return position if position and position.checkpoint_id == point.checkpoint_id else None

    def is_at(self, point: Point) -> bool:
        """Return whether the files are those of a checkpoint, with what was done since."""
        return self._here == _Here(point.thread, point.checkpoint_id, self._session.run.plan.line)

    def _stand_at(self, thread: str, checkpoint_id: str | None) -> None:
        self._here = _Here(thread, checkpoint_id, self._session.run.plan.line)
        self._inside = False

    def _refuse_other(self, thread: str, parent: str | None) -> None:
        here = self._here
        if here != _Here(thread, parent, self._session.run.plan.line):
            present = (
                f"thread {here.thread!r}, checkpoint {here.checkpoint_id}" if here else "none of its own"
            )
            raise GraphBusy(thread=thread, parent=parent, present=present)


def _metadata(thread: str, checkpoint_id: str | None) -> JsonObject:
    return {"reason": "graph", "thread": thread, "graph_checkpoint": checkpoint_id}


def _hold_the_same(one: CheckpointGroup, other: CheckpointGroup) -> bool:
    snapshots = {checkpoint.resource: checkpoint.snapshot for checkpoint in other.checkpoints}
    return len(snapshots) == len(one.checkpoints) and all(
        checkpoint.resource in snapshots and checkpoint.snapshot.same_as(snapshots[checkpoint.resource])
        for checkpoint in one.checkpoints
    )
