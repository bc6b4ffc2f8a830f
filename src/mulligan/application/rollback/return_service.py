"""Brings a claimed plan back to a group: files, memory and rows, all or none.

Rollback, the return after a failed step, a retry and the discarding of an interrupted step are the same operation.
An intent is recorded before the first byte changes; every action can be repeated; the next claim of the plan
finishes an interrupted return.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService
from mulligan.application.plans.guards import refuse_newer, refuse_running, refuse_under_way
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.way_back import WayBackService
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import ChildPlans, children_left_behind
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.history.correction import intervention, line_that_tells
from mulligan.domain.history.lines import Line, live_segments
from mulligan.domain.history.step_ends import step_ends
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import (
    CorrectionWork,
    Intent,
    ReturnWork,
    RollbackWork,
    StepReturnWork,
    UndoWork,
)
from mulligan.domain.plans.plan import Plan, PlanDefinition
from mulligan.domain.plans.step import StepRecord, StepStatus, steps_after_return, steps_of_session
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import GroupId, IntentId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    ChangedMeanwhile,
    DatabaseUnusable,
    MulliganError,
    NewerWork,
    PlanTakenOver,
    RestoreIncomplete,
    SandboxMissing,
    SnapshotDamaged,
    ToolsUnsafe,
    ToolsUntrusted,
)
from mulligan.ports import Clock, Ids, Locks, SnapshotStore, Toolbox
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

Wanted: TypeAlias = RollbackWork | StepReturnWork | CorrectionWork
_Settled: TypeAlias = Wanted | UndoWork


class Returned(Struct, frozen=True, kw_only=True):
    """The changes of a return, and the group that holds the contents before it."""

    changes: Changes
    before: CheckpointGroup | None
    not_undone: tuple[str, ...]  # tool calls whose `undo` failed


class ReturnService(Struct, kw_only=True, frozen=True, eq=False):
    """Brings a plan back to one of its groups."""

    database: Database
    store: SnapshotStore
    manager: CheckpointManager
    ways: WayBackService
    checkpoints: CheckpointService
    undos: UndoService
    children: ChildPlans
    cut_off: CutOffWork
    locks: Locks
    settings: SettingsSource
    toolbox: Toolbox
    ids: Ids
    clock: Clock

    def go(
        self,
        run: Run,
        wanted: Wanted,
        way_back: Reason | CheckpointGroup | None,
        definition: PlanDefinition | None = None,
    ) -> Returned:
        """Bring the plan back to the wanted group, with that definition or the one it had there.

        With `way_back`, a group holds the present contents (one taken first for a reason, or that one), and a failed
        restore is undone with it. Without, the next claim of the plan completes what fails now.
        """
        intent = self._intend(run, wanted, way_back, definition)
        if way_back is None:
            return self._carry_out(run, intent, None)
        try:
            if isinstance(way_back, Reason):
                before = self.checkpoints.create_checkpoint(run, way_back)
                intent = self._ready(run, intent, before)
            else:
                before = way_back
            return self._carry_out(run, intent, before)
        except (PlanTakenOver, RestoreIncomplete):
            raise  # no longer ours, or partly restored: the intent stays open
        except Exception:
            self._give_up(run, intent)
            raise

    def definition_at(self, run: Run, target: CheckpointGroup) -> PlanDefinition:
        """Return the plan's definition after a return to the group."""
        with self.database.reading() as db:
            return recorded_definition(db, run.plan, target)

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish the return of a process that died, or take it back if it cannot be finished.

        A return that had changed nothing yet is dropped, and so is one with a damaged target: it can never succeed,
        and must not keep the user from choosing another. One on a folder where something newer happened is taken back.
        """
        work = _work(intent)
        if work.way_back and work.before is None:
            self._give_up(run, intent)
            return
        before = None if work.before is None else self._group(work.before)
        found = self.manager.recover(run)
        run.inform(*(f"{path} was saved by others in the meantime and is kept" for path in found))
        try:
            with self.database.reading() as db:
                refuse_newer(db, run.plan, run.sandboxes)
            self._carry_out(run, intent, before)
        except NewerWork as exc:
            if before is None:
                raise
            self.ways.undo(run, self._group(work.target), before, exc)
            run.inform(f"an interrupted return was taken back: {exc.text}")
            self._give_up(run, intent)
        except (
            ChangedMeanwhile,
            RestoreIncomplete,
            SandboxMissing,
            PlanTakenOver,
            ToolsUntrusted,
            ToolsUnsafe,
        ):
            raise
        except MulliganError as exc:
            if before is None and not isinstance(exc, SnapshotDamaged):
                raise
            if before is not None:
                self._take_back(run, intent, before)
            data: JsonObject = {"message": f"an interrupted return could not be finished: {exc.text}"}
            self._give_up(run, intent, Entry(type=EventType.MESSAGE, data=data, at=self.clock.now()))

    def _take_back(self, run: Run, intent: Intent, before: CheckpointGroup) -> None:
        """Restore the contents before the return; a failure leaves the intent open."""
        with suppress(SnapshotDamaged):  # neither direction can ever succeed
            self._refuse_changes_of_others(run, intent, before)
            self.manager.restore(run, before, self._group(_work(intent).target))

    def _refuse_changes_of_others(self, run: Run, intent: Intent, before: CheckpointGroup | None) -> None:
        """Refuse to restore a real resource that someone changed since its capture."""
        if run.in_place and before is not None:
            with self.store.hold():
                target = self._group(_work(intent).target)
                paths = self.manager.changed_by_others(run, target, before)
            if paths:
                raise ChangedMeanwhile(plan_id=run.plan.plan_id, paths=", ".join(paths))

    def _group(self, group_id: GroupId) -> CheckpointGroup:
        with self.database.reading() as db:
            return db.checkpoints.get(group_id)

    def _intend(
        self,
        run: Run,
        wanted: Wanted,
        way_back: Reason | CheckpointGroup | None,
        definition: PlanDefinition | None,
    ) -> Intent:
        before = way_back.group_id if isinstance(way_back, CheckpointGroup) else None
        plan_id = run.plan.plan_id
        locations = tuple(s.path for s in run.sandboxes if s.strategy is Strategy.IN_PLACE)
        if locations:
            self.cut_off.settle(run, locations)
        with run.commit("return.intend") as commit:
            for location in locations:
                refuse_running(commit.db, plan_id, location, self._at_work)
                refuse_under_way(commit.db, plan_id, location)
            seq = commit.db.plans.counters(plan_id).seq
            intent = Intent(
                intent_id=IntentId(self.ids.new()),
                plan_id=plan_id,
                work=replace(
                    wanted, way_back=way_back is not None, before=before, at_seq=seq, locations=locations
                ),
                created_at=self.clock.now(),
                definition=definition,
            )
            commit.db.intents.add(intent)
        return intent

    def _at_work(self, plan_id: PlanId) -> bool:
        return self.locks.holder(plan_id) is not None

    def _ready(self, run: Run, intent: Intent, before: CheckpointGroup) -> Intent:
        """Record the group to go back to: from here on an interrupted return is finished, not dropped."""
        ready = replace(intent, work=replace(_work(intent), before=before.group_id))
        with run.commit("return.ready") as commit:
            commit.db.intents.save(ready)
        return ready

    def _carry_out(self, run: Run, intent: Intent, before: CheckpointGroup | None) -> Returned:
        target = self._group(_work(intent).target)
        undoing = self.undos.plan(run, target)
        if undoing.undone:  # undo nothing outside for a return that cannot be completed
            self._refuse_changes_of_others(run, intent, before)
            self.manager.compare(run, target)
        not_undone = self.undos.carry_out(run, undoing)
        self.toolbox.forget_processes()
        self._refuse_changes_of_others(run, intent, before)  # since the capture, and while undos ran
        if before is None:
            changes = self.manager.restore(run, target, target)  # no sandbox is a real resource
        else:
            changes = self.ways.restore_or_undo(run, target, before)
        try:
            self._settle(run, intent, target, changes)
        except DatabaseUnusable as exc:
            if before is not None:  # else the intent stays open, and the next claim of the plan settles it
                self.ways.undo(run, target, before, exc)
            raise
        return Returned(changes=changes, before=before, not_undone=not_undone)

    def _give_up(self, run: Run, intent: Intent, *entries: Entry) -> None:
        """Close an intent that changed nothing, or whose work was undone."""
        with run.commit("return.drop") as commit:
            commit.db.intents.close(intent.intent_id)
            commit.plan = self._without_way_back(commit.db, run, intent)
            commit.record(*entries)

    def _without_way_back(self, db: Transaction, run: Run, intent: Intent) -> Plan:
        """Leave behind the group that a dropped return took of what was there: nothing was done to the plan.

        It stays, and can be gone to; the plan is again at the group that it was at before.
        """
        plan = db.plans.get(run.plan.plan_id)
        kept = db.checkpoints.get(plan.current_group_id) if plan.current_group_id else None
        own = kept is not None and kept.reason.type is CheckpointType.PRE_ROLLBACK
        if kept is None or not own or kept.seq <= _work(intent).at_seq or kept.parent_group_id is None:
            return plan
        db.history.leave_behind(kept.group_id)
        earlier = db.checkpoints.get(kept.parent_group_id)
        return replace(
            plan, current_group_id=earlier.group_id, last_checkpoint_id=earlier.first_checkpoint_id
        )

    def _settle(self, run: Run, intent: Intent, target: CheckpointGroup, changes: Changes) -> None:
        if isinstance(intent.work, CorrectionWork):
            with run.showing_later(), self.store.hold():  # until rows refer to what a correction publishes
                again = self.checkpoints.checkpoints_again(run, target)
                with run.commit("correction.settle") as commit:
                    sandboxes = self.write(commit, run, intent, target, changes)
                    correction = intent.work.correction
                    corrected = commit.db.decisions.resolve(correction.decision_id)
                    decision = intervention(correction, corrected, commit.plan.line)
                    self.checkpoints.add_guidance(commit, run, correction, decision, again)
        else:
            with run.commit("return.settle") as commit:
                sandboxes = self.write(commit, run, intent, target, changes)
        self.children.remove(sandboxes)

    def write(
        self, commit: Commit, run: Run, intent: Intent, target: CheckpointGroup, changes: Changes
    ) -> tuple[Sandbox, ...]:
        """Write the plan as it is at the target; return the sandboxes of children that end."""
        self._write_timeline(commit.db, run, _work(intent), target)
        sandboxes = self._end_children(commit.db, run, _work(intent), target)
        commit.plan = plan = self._plan_at(commit.db, run, intent, target)
        commit.record(_entry(intent, target, changes, self.clock.now()))
        commit.db.intents.close(intent.intent_id)
        if plan.definition != run.plan.definition:
            settings = self.settings.for_plan(plan.definition.config)
            commit.afterwards(lambda: run.use(settings))
        commit.afterwards(lambda: run.reset_to(target))
        return sandboxes

    def _write_timeline(self, db: Transaction, run: Run, work: _Settled, target: CheckpointGroup) -> None:
        """Record that an entry of the timeline is undone or redone; any other return clears what could be redone."""
        if work.redoes is not None:
            db.entries.redo(db.entries.get(work.redoes))
        elif work.undoes is None:
            db.entries.clear_redo()
            db.entries.restored(run.plan.plan_id, target)
        else:
            entry = db.entries.get(work.undoes)
            db.entries.undo(
                replace(
                    entry,
                    undone_from=work.before,
                    undone_to=target.group_id,
                    after_group=entry.after_group or work.before,
                    detail={"phase": run.plan.phase.value, "state": run.plan.state.value},
                )
            )

    def _end_children(
        self, db: Transaction, run: Run, work: ReturnWork, target: CheckpointGroup
    ) -> tuple[Sandbox, ...]:
        gone = children_left_behind(
            db, run.plan.plan_id, target, unfinished_too=work.ends_children, spared=work.spared_children
        )
        self.children.cancel(db, gone, "its parent went back to before it was spawned", self.clock.now())
        return self.children.forget_sandboxes(db, gone)

    def _plan_at(self, db: Transaction, run: Run, intent: Intent, target: CheckpointGroup) -> Plan:
        work, plan_id = _work(intent), run.plan.plan_id
        definition = intent.definition or recorded_definition(
            db, run.plan, target
        )  # before lines are superseded
        ends = _ends(db, plan_id, target)
        plan = replace(
            run.plan.moved_to(work.phase, work.state, self.clock.now()),
            progress=target.state,
            current_group_id=target.group_id,
            last_checkpoint_id=target.first_checkpoint_id,
            failure=work.failure,
            definition=definition,
            line=self._new_line(db, run, target, work.spare),
        )
        if plan.definition != run.plan.definition:
            db.plans.redefine(plan)
        recorded = db.steps.list(plan_id)
        steps = _steps_at(plan, target, recorded, ends)
        for step in (step for step in steps if step not in recorded[step.index : step.index + 1]):
            db.steps.save(plan_id, step)
        if len(steps) < len(recorded):
            db.steps.replace(plan_id, len(steps), ())
        return plan

    def _new_line(self, db: Transaction, run: Run, target: CheckpointGroup, spare: GroupId | None) -> int:
        plan_id = run.plan.plan_id
        lines = db.history.lines(plan_id)
        number = max(line.line for line in lines) + 1
        fork = Line(line=number, parent_line=target.line, fork_seq=target.seq)
        db.history.start(plan_id, fork)
        db.history.make_live(plan_id, live_segments([*lines, fork], number, target.seq))
        db.history.rest_at(target.group_id)
        if spare is not None:
            db.history.spare(spare)
        return number


def recorded_definition(db: Transaction, plan: Plan, target: CheckpointGroup) -> PlanDefinition:
    """Return the definition that a plan had at one of its groups.

    For a live group that is the present one, since an edited plan file is the same up to there, except for
    changes by corrections that a return to it supersedes.
    """
    plan_id = plan.plan_id
    if target.superseded:
        return db.plans.definition_on(plan_id, target.line)
    corrections, present = db.corrections.list(plan_id), plan.line
    if not corrections:
        return plan.definition
    lines, decisions = db.history.lines(plan_id), db.decisions.list(plan_id)
    line = line_that_tells(lines, corrections, decisions, present, target.seq)
    return plan.definition if line == present else db.plans.definition_on(plan_id, line)


def steps_done_at(db: Transaction, plan: Plan, target: CheckpointGroup) -> list[StepRecord]:
    """Return the steps of a plan, which has the definition of that group, as they were at the group."""
    there = replace(plan, failure=None)
    return _steps_at(there, target, db.steps.list(plan.plan_id), _ends(db, plan.plan_id, target))


def _ends(db: Transaction, plan_id: PlanId, target: CheckpointGroup) -> list[StepRecord]:
    """Return how steps ended before the target, if going forward to it brings some of them back."""
    done = {s.index for s in db.steps.list(plan_id) if s.status is StepStatus.DONE}
    if done.issuperset(range(target.step_index)):
        return []
    lines, events = db.history.lines(plan_id), db.events.list(plan_id)
    return step_ends(lines, events, target.line, target.seq)


def _steps_at(
    plan: Plan, target: CheckpointGroup, recorded: Sequence[StepRecord], ends: Sequence[StepRecord]
) -> list[StepRecord]:
    failed = plan.failure is not None
    if plan.definition.session:
        return steps_of_session([*recorded, *ends], target.state.steps, failed=failed)
    names, done = [step.name for step in plan.definition.steps], target.state.outputs
    return steps_after_return(names, target.step_index, done, recorded, ends, failed=failed)


def _work(intent: Intent) -> _Settled:
    assert isinstance(intent.work, ReturnWork), "the intents of other services are not finished here"
    return intent.work


def _entry(intent: Intent, target: CheckpointGroup, changes: Changes, at: datetime) -> Entry:
    types: dict[type[ReturnWork], EventType] = {
        RollbackWork: EventType.ROLLBACK,
        CorrectionWork: EventType.CORRECTION,
    }
    work = _work(intent)
    return Entry(
        type=types.get(type(work), EventType.RETURNED),
        data={
            **work.log,
            "group_id": target.group_id,
            "checkpoint_id": target.first_checkpoint_id,
            "number": target.number,
            "step_index": target.step_index,
            "paths": sum(len(c) for c in changes.values()),
        },
        at=at,
    )
