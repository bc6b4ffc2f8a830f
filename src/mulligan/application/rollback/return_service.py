"""Brings a claimed plan back to a group: files, memory and rows, all or none.

Rollback, the return after a failed step, a retry and the discarding of an interrupted step are the same operation.
An intent is recorded before the first byte changes; every action can be repeated; the next claim of the plan
finishes an interrupted return.
"""

from contextlib import suppress
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService
from mulligan.application.plans.plan_edits import steps_at
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.way_back import WayBackService
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import ChildPlans, children_left_behind
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.history.correction import intervention, line_that_tells
from mulligan.domain.history.lines import Line, live_segments
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import CorrectionWork, Intent, ReturnWork, RollbackWork, StepReturnWork
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition
from mulligan.domain.plans.step import reset_steps, steps_of_session
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import GroupId, IntentId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    ChangedMeanwhile,
    DatabaseUnusable,
    MulliganError,
    PlanTakenOver,
    RestoreIncomplete,
    SandboxMissing,
    SnapshotDamaged,
    ToolsUnsafe,
    ToolsUntrusted,
)
from mulligan.ports import Clock, Ids, SnapshotStore, Toolbox
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

Wanted: TypeAlias = RollbackWork | StepReturnWork | CorrectionWork


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
            return self._definition_at(db, run, target)

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish the return of a process that died, or take it back if it cannot be finished.

        A return that had changed nothing yet is dropped, and so is one with a damaged target: it can never succeed,
        and must not keep the user from choosing another.
        """
        work = _work(intent)
        if work.way_back and work.before is None:
            self._give_up(run, intent)
            return
        before = None if work.before is None else self._group(work.before)
        found = self.manager.recover(run)
        run.inform(*(f"{path} was saved by others in the meantime and is kept" for path in found))
        try:
            self._carry_out(run, intent, before)
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
        intent = Intent(
            intent_id=IntentId(self.ids.new()),
            plan_id=run.plan.plan_id,
            work=replace(wanted, way_back=way_back is not None, before=before),
            created_at=self.clock.now(),
            definition=definition,
        )
        with run.commit("return.intend") as commit:
            commit.db.intents.add(intent)
        return intent

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
            commit.record(*entries)

    def _settle(self, run: Run, intent: Intent, target: CheckpointGroup, changes: Changes) -> None:
        if isinstance(intent.work, CorrectionWork):
            with run.showing_later(), self.store.hold():  # until rows refer to what a correction publishes
                again = self.checkpoints.checkpoints_again(run, target)
                with run.commit("correction.settle") as commit:
                    sandboxes = self._write(commit, run, intent, target, changes)
                    correction = intent.work.correction
                    corrected = commit.db.decisions.resolve(correction.decision_id)
                    decision = intervention(correction, corrected, commit.plan.line)
                    self.checkpoints.add_guidance(commit, run, correction, decision, again)
        else:
            with run.commit("return.settle") as commit:
                sandboxes = self._write(commit, run, intent, target, changes)
        self.children.remove(sandboxes)

    def _write(
        self, commit: Commit, run: Run, intent: Intent, target: CheckpointGroup, changes: Changes
    ) -> tuple[Sandbox, ...]:
        """Write the plan as it is at the target; return the sandboxes of children that end."""
        sandboxes = self._end_children(commit.db, run, _work(intent), target)
        commit.plan = plan = self._plan_at(commit.db, run, intent, target)
        commit.record(_entry(intent, target, changes, self.clock.now()))
        commit.db.intents.close(intent.intent_id)
        if plan.definition != run.plan.definition:
            settings = self.settings.for_plan(plan.definition.config)
            commit.afterwards(lambda: run.use(settings))
        commit.afterwards(lambda: run.reset_to(target))
        return sandboxes

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
        definition = intent.definition or self._definition_at(db, run, target)  # before lines are superseded
        plan = replace(
            run.plan.moved_to(Phase.EXECUTE, work.state, self.clock.now()),
            progress=target.state,
            current_group_id=target.group_id,
            last_checkpoint_id=target.first_checkpoint_id,
            failure=work.failure,
            definition=definition,
            line=self._new_line(db, run, target, work.spare),
        )
        recorded = db.steps.list(plan_id)
        if plan.definition.session:
            steps = steps_of_session(recorded, target.state.steps, failed=work.failure is not None)
            db.steps.replace(plan_id, 0, steps)
        elif plan.definition != run.plan.definition:
            db.plans.redefine(plan)
            db.steps.replace(plan_id, 0, steps_at(plan.definition, recorded, target.step_index))
        else:
            for step in reset_steps(recorded, target.step_index, failed=work.failure is not None):
                db.steps.save(plan_id, step)
        return plan

    def _definition_at(self, db: Transaction, run: Run, target: CheckpointGroup) -> PlanDefinition:
        """Return the plan's definition at the target.

        For a live group that is the present one, since an edited plan file is the same up to there, except for
        changes by corrections that the return supersedes.
        """
        plan_id = run.plan.plan_id
        if target.superseded:
            return db.plans.definition_on(plan_id, target.line)
        corrections, present = db.corrections.list(plan_id), run.plan.line
        if not corrections:
            return run.plan.definition
        lines, decisions = db.history.lines(plan_id), db.decisions.list(plan_id)
        line = line_that_tells(lines, corrections, decisions, present, target.seq)
        return run.plan.definition if line == present else db.plans.definition_on(plan_id, line)

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


def _work(intent: Intent) -> Wanted:
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
            "step_index": target.step_index,
            "paths": sum(len(c) for c in changes.values()),
        },
        at=at,
    )
