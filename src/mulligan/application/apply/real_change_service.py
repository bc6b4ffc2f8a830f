"""Brings stored snapshots into the real resources of a plan, all or none.

Everything is computed and stored first. An intent records the old and the new contents; then the resources are
restored to the new ones, as in a rollback in place. After a failure, a signal or the death of the process every
resource is put back, except for paths that someone else changed in the meantime: those are kept and reported.
"""

import posixpath
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.plans.guards import refuse_running, refuse_taken, refuse_under_way
from mulligan.application.rollback.way_back import Way, WayBackService, remedy_of
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.timeline_entry import NEW_ACT, DeedKind, DeedStatus, TimelineEntry, Turn
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import ApplyWork, Intent, IntentKind, RestoreWork, UnapplyWork, UndoWork
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.resources.resource import MergeUnit
from mulligan.domain.text.ids import IntentId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.real_change import RealChange, Snapshots
from mulligan.errors import (
    Advice,
    ChangedMeanwhile,
    Interrupted,
    MulliganError,
    NextStep,
    PlanTakenOver,
    ResourceUnsuitable,
    RestoreFailed,
    RestoreIncomplete,
    SystemFailed,
)
from mulligan.ports import Clock, Ids, Locks, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_RECORDED = Advice(
    "the result of the command is recorded; look at ",
    NextStep("timeline"),
    " before you run it again",
)
_NOTES = 1 << 17  # bytes for the journal of a restore, and for what git writes
_PAGE = 4096  # what a name takes on disk at least
_NAMES = {IntentKind.RESTORE: "restore of paths"}


class RealChangeService(Struct, kw_only=True, frozen=True, eq=False):
    """Changes real resources under an intent, and takes that back."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    ways: WayBackService
    cut_off: CutOffWork
    locks: Locks
    ids: Ids
    clock: Clock

    def begin(
        self, run: Run, work: ApplyWork | UnapplyWork | RestoreWork | UndoWork, turn: Turn = NEW_ACT
    ) -> Intent:
        """Record that real resources are about to change; refuse where another plan works on them.

        A plan in place with steps left to run does not prevent an undo or redo, unless it is running. What processes
        that died left unfinished there is settled first. Wait for another apply to finish; refuse, and name its
        process, where that takes too long.
        """
        return self.cut_off.wait(run, lambda: self._begun(run, work, turn))

    def _begun(self, run: Run, work: ApplyWork | UnapplyWork | RestoreWork | UndoWork, turn: Turn) -> Intent:
        now, plan_id = self.clock.now(), run.plan.plan_id
        refuse = refuse_running if turn.is_undo_or_redo else refuse_taken
        intent = Intent(intent_id=IntentId(self.ids.new()), plan_id=plan_id, work=work, created_at=now)
        with self.database.reading() as db:
            for location in work.locations:  # before others are settled, which may take long
                refuse(db, plan_id, location, self._at_work)
        self.cut_off.settle(run, work.locations)
        with run.commit("apply.intend") as commit:
            for location in work.locations:
                refuse(commit.db, plan_id, location, self._at_work)
                refuse_under_way(commit.db, plan_id, location)
            if isinstance(work, ApplyWork):
                commit.plan = run.plan.moved_to(Phase.APPLY, State.PROCESSING, now)
            commit.db.intents.add(intent)
        return intent

    def _at_work(self, plan_id: PlanId) -> bool:
        return self.locks.holder(plan_id) is not None

    @contextmanager
    def all_or_none(self, run: Run, intent: Intent, again: str) -> Generator[None]:
        """Put every real resource back if what follows `begin` fails or is interrupted.

        `again` is the next step after an interruption. What was recorded as done is not taken back.
        """
        try:
            yield
        except (PlanTakenOver, RestoreIncomplete):
            raise
        except KeyboardInterrupt:
            hint = again if self.take_back(run, intent) else _RECORDED
            raise Interrupted(plan_id=run.plan.plan_id, hint=hint) from None
        except Exception as exc:
            if not self.take_back(run, intent):
                raise
            raise _as_it_was(exc) from exc

    def ready(self, run: Run, changes: Sequence[RealChange]) -> None:
        """Record the old and the new contents: from here on an interrupted change is put back, not dropped."""
        with run.commit("apply.ready") as commit:
            for change in changes:
                commit.db.real_changes.add(change)

    def carry_out(self, run: Run, intent: Intent, changes: Sequence[RealChange]) -> Changes:
        """Write the recorded contents, where they differ from what was there.

        Others may write other files of a folder all the time: a log, a database in use. What is about to be replaced
        is compared before the first change, which drops the intent untouched, and again right then.
        """
        with self.store.hold():
            others = [
                path
                for c in changes
                for path in self.kinds.of(c.real).changed_where(c.real, c.before, c.written, run.observer)
            ]
        self._refuse_changed(run, intent, others)
        return self.write(run, changes)

    def _needed_for_way_back(self, changes: Sequence[RealChange]) -> dict[Path, int]:
        """Return the bytes that `take_back` writes at each path: a disk that is full must have room for them."""
        needed: dict[Path, int] = {}
        for change in changes:
            copies = (
                2 if change.real.type.traits.merged_by is MergeUnit.WHOLE else 1
            )  # the second is its journal
            differences = self.store.difference(change.before.roots[0], change.written.roots[0])
            old = [each.old for each in differences if each.old is not None]
            size = sum(_PAGE + (entry.content.size if entry.content is not None else 0) for entry in old)
            needed[Path(change.real.path)] = _NOTES + copies * size
        return needed

    def write(self, run: Run, changes: Sequence[RealChange]) -> Changes:
        """Write the recorded contents where they differ from what was there."""
        written = Snapshots({change.real.resource: change.written for change in changes})
        before = Snapshots({change.real.resource: change.before for change in changes})
        with self.store.reserve(self._needed_for_way_back(changes)):
            return self.manager.restore(run.over(c.real for c in changes), written, before, spare=True)

    def put_back(self, run: Run, changes: Sequence[RealChange]) -> None:
        """Put real resources back to what they were, and forget the change, so that another can be recorded."""
        self.ways.take(run.over(c.real for c in changes), [_way(c) for c in changes])
        with run.commit("apply.ready") as commit:
            commit.db.real_changes.remove(run.plan.plan_id, changes[0].act)

    def carry_out_paths(
        self, run: Run, intent: Intent, changes: Sequence[RealChange], paths: Mapping[str, Sequence[str]]
    ) -> None:
        """As `carry_out`, for these paths of each resource alone: what others do to the rest is not in the way."""
        with self.store.hold():
            others = [path for c in changes for path in self._changed_in(run, c, paths[c.real.resource])]
        self._refuse_changed(run, intent, others)
        written = Snapshots({change.real.resource: change.written for change in changes})
        before = Snapshots({change.real.resource: change.before for change in changes})
        with self.store.reserve(self._needed_for_way_back(changes)):
            self.manager.restore_paths(run.over(change.real for change in changes), written, before, paths)

    def _refuse_changed(self, run: Run, intent: Intent, paths: Sequence[str]) -> None:
        """Drop an intent that touched nothing where others changed paths."""
        if paths:
            self._drop(run, intent)
            hint = "nothing was touched; run the command again"
            raise ChangedMeanwhile(plan_id=run.plan.plan_id, paths=", ".join(paths), hint=hint)

    def take_back(self, run: Run, intent: Intent) -> bool:
        """Put every real resource back to what it was when the intent was recorded, and close the intent.

        Return False, and change nothing, if the intent is closed already: the change was recorded as done, or dropped.
        Raise RestoreIncomplete where that fails: the next claim of the plan tries again.
        """
        with self.database.reading() as db:
            if all(each.intent_id != intent.intent_id for each in db.intents.list(run.plan.plan_id)):
                return False
            changes = [c for c in db.real_changes.list(run.plan.plan_id) if c.act is intent.kind]
        told: list[str] = []
        try:
            if changes:
                told = self.ways.take(run.over(c.real for c in changes), [_way(c) for c in changes])
        except PlanTakenOver:
            raise
        except Exception as exc:
            paths = ", ".join(change.real.path for change in changes)
            reason = exc.text if isinstance(exc, MulliganError) else str(exc)
            hint = "fix the cause (disk full? permissions?), then run the command again"
            if isinstance(exc, ResourceUnsuitable):  # which says what is wrong with it, and what to do
                hint = exc.next_step
            raise RestoreIncomplete(path=paths, plan_id=run.plan.plan_id, reason=reason, hint=hint) from exc
        self._drop(run, intent, *told)
        return True

    def finish(self, run: Run, intent: Intent) -> None:
        """Take back and report the interrupted work of a process that died, an undo or redo included."""
        with self.database.reading() as db:
            began = any(c.act is intent.kind for c in db.real_changes.list(run.plan.plan_id))
        self.take_back(run, intent)
        if began:
            run.inform(f"an interrupted {_NAMES.get(intent.kind, intent.kind.value)} was taken back")

    def way_back(self, run: Run, change: RealChange) -> Snapshot:
        """Return a real resource as it will be without a change; later changes by others are kept."""
        return self.ways.target(run, _way(change))[0]

    def _changed_in(self, run: Run, change: RealChange, paths: Sequence[str]) -> list[str]:
        present = self.kinds.of(change.real).capture(change.real, run.observer).snapshot
        files = self.store.difference(change.before.roots[0], present.roots[0], paths)
        # A folder around a path, or one that only holds more or less, is as it was.
        return [posixpath.join(_folder_of(change), d.path) for d in files if d.of_files]

    def _drop(self, run: Run, intent: Intent, *told: str) -> None:
        now = self.clock.now()
        with run.commit("apply.drop") as commit:
            # Read again: a signal during a commit is raised before the run knows the committed plan.
            plan = commit.db.plans.get(run.plan.plan_id)
            if isinstance(intent.work, ApplyWork) and plan.state is State.PROCESSING:
                plan = plan.moved_to(Phase.EXECUTE, State.COMPLETE, now)
            commit.plan = plan
            commit.db.real_changes.remove(plan.plan_id, intent.kind)
            commit.db.intents.close(intent.intent_id)
            commit.record(*(Entry(type=EventType.MESSAGE, data={"message": text}, at=now) for text in told))
            commit.afterwards(lambda: run.inform(*told))


def _folder_of(change: RealChange) -> str:
    """Return the folder that the paths of a resource's tree are in."""
    path = change.real.path
    return posixpath.dirname(path) if change.real.type.traits.is_file else path


def record_deed(
    commit: Commit, kind: DeedKind, turn: Turn, at: datetime, *, files: int, detail: JsonObject
) -> None:
    """Record an apply or unapply on the timeline: as something new, or as the undo or redo of an entry.

    An entry that is undone or redone keeps its detail, except for the branches: those are where it was done last.
    """
    plan, entries = commit.plan, commit.db.entries
    if turn.is_undo_or_redo:
        entry = entries.get(turn.undoes or turn.redoes or 0)
        entry = replace(entry, detail={**entry.detail, "branches": detail["branches"]})
        if turn.undoes is not None:
            entries.undo(replace(entry, undone=True))
        else:
            entries.redo(entry)
    else:
        entry = TimelineEntry(
            number=0,
            plan_id=plan.plan_id,
            kind=kind,
            title=plan.name,
            step_index=None,
            line=plan.line,
            seq=0,
            status=DeedStatus.DONE,
            created_at=at,
            files=files,
            detail=detail,
        )
        commit.record(entry)


def _as_it_was(failure: Exception) -> Exception:
    """Return the failure with a hint that everything was put back."""
    if isinstance(failure, ChangedMeanwhile):
        hint = "what they wrote is kept, and every other path is as it was before; run the command again"
        return ChangedMeanwhile(hint=hint, **failure.facts)
    if isinstance(failure, (RestoreFailed, SystemFailed)):
        return type(failure)(
            hint=f"every real resource is as it was before; {remedy_of(failure)}", **failure.facts
        )
    return failure


def _way(change: RealChange) -> Way:
    return Way(sandbox=change.real, before=change.before, written=change.written)
