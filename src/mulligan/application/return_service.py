"""Brings a claimed plan back to a group: files, memory and rows, all or none.

Rollback, the return after a failed step, a retry and the discarding of an interrupted step are all the same
operation. What is to be done is recorded as an intent before the first byte is touched; every action can be
repeated; whoever claims the plan next finishes what was cut off.
"""

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoint_service import CheckpointService
from mulligan.application.recorder import Recorder
from mulligan.application.run import Entry, Run
from mulligan.application.undo_service import UndoService
from mulligan.boundaries import act
from mulligan.domain.checkpoint import CheckpointGroup, Reason
from mulligan.domain.event import EventType
from mulligan.domain.ids import GroupId, IntentId
from mulligan.domain.intent import Intent, IntentKind
from mulligan.domain.json_value import JsonObject
from mulligan.domain.plan import Phase, PlanFailure, State
from mulligan.domain.rollback import Line, live_segments
from mulligan.domain.step import StepRecord, StepStatus
from mulligan.domain.undoing import Undoing
from mulligan.errors import (
    ChangedMeanwhile,
    MulliganError,
    PlanTakenOver,
    RestoreIncomplete,
    SandboxMissing,
    SnapshotDamaged,
    ToolsUnsafe,
    ToolsUntrusted,
)
from mulligan.ports import Clock, Database, Ids, SnapshotStore, Toolbox, Transaction


class Return(Struct, frozen=True, kw_only=True):
    """Where a return goes and what the plan is afterwards."""

    kind: IntentKind
    target: CheckpointGroup
    spare: GroupId | None  # a group that stays live although it lies behind
    state: State
    failure: PlanFailure | None
    log: JsonObject


class Returned(Struct, frozen=True, kw_only=True):
    """What a return touched, and the group that keeps what was there before."""

    changes: Changes
    before: CheckpointGroup | None
    not_undone: tuple[str, ...]  # tool calls whose `undo` failed


class ReturnService:
    """Brings a plan back to one of its groups."""

    def __init__(
        self,
        *,
        database: Database,
        store: SnapshotStore,
        manager: CheckpointManager,
        checkpoints: CheckpointService,
        undos: UndoService,
        recorder: Recorder,
        toolbox: Toolbox,
        ids: Ids,
        clock: Clock,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._store = store
        self._manager = manager
        self._checkpoints = checkpoints
        self._undos = undos
        self._recorder = recorder
        self._toolbox = toolbox
        self._ids = ids
        self._clock = clock

    def go(self, run: Run, wanted: Return, way_back: Reason | CheckpointGroup | None) -> Returned:
        """Bring the plan back to the wanted group.

        With `way_back`, what is there now is kept in a group first, or is in that one already, and a restore
        that fails is undone with it. Without, what cannot be completed now is completed by whoever claims
        the plan next.
        """
        intent = self._intend(run, wanted, way_back)
        if way_back is None:
            return self._carry_out(run, intent, None)
        try:
            if isinstance(way_back, Reason):
                before = self._checkpoints.create_checkpoint(run, way_back, ())
                intent = self._ready(run, intent, before)
            else:
                before = way_back
            return self._carry_out(run, intent, before)
        except PlanTakenOver:
            raise
        except RestoreIncomplete:
            raise  # neither before nor after: the intent stays open
        except MulliganError:
            self._give_up(run, intent, ())
            raise

    def undoing(self, run: Run, target: CheckpointGroup) -> Undoing:
        """What a return to the group does to effects outside the sandboxes."""
        return self._undos.plan(run, target)

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish what a process that died had begun, or take it back where that cannot be.

        What had touched nothing yet is dropped, and so is a return whose target is damaged: it never gets
        better, and must not keep the user from choosing another.
        """
        if intent.data["way_back"] and intent.data["before"] is None:
            self._give_up(run, intent, ())
            return
        before = self._kept(intent)
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
            if intent.data["before"] is None and not isinstance(exc, SnapshotDamaged):
                raise
            text = f"a return that was cut off could not be finished: {exc.text}"
            told = Entry(type=EventType.MESSAGE, data={"message": text}, at=self._clock.now())
            self._give_up(run, intent, [told])

    def _refuse_changes_of_others(self, run: Run, intent: Intent, before: CheckpointGroup | None) -> None:
        """Refuse to restore a real thing that someone changed since the group that keeps it was taken."""
        if run.in_place and before is not None:
            with self._store.hold():
                target = self._group(str(intent.data["target"]))
                paths = self._manager.changed_by_others(run, target, before)
            if paths:
                raise ChangedMeanwhile(plan_id=run.plan.plan_id, paths=", ".join(paths))

    def _group(self, group_id: str) -> CheckpointGroup:
        with self._database.reading() as db:
            return db.checkpoints.get(GroupId(group_id))

    def _kept(self, intent: Intent) -> CheckpointGroup | None:
        """The group that keeps what was there before, if one was taken."""
        return None if intent.data["before"] is None else self._group(str(intent.data["before"]))

    def _intend(self, run: Run, wanted: Return, way_back: Reason | CheckpointGroup | None) -> Intent:
        """Record what is to be done, with all that is pending, before anything is touched."""
        intent = Intent(
            intent_id=IntentId(self._ids.new()),
            plan_id=run.plan.plan_id,
            kind=wanted.kind,
            data={
                "target": wanted.target.group_id,
                "way_back": way_back is not None,
                "before": way_back.group_id if isinstance(way_back, CheckpointGroup) else None,
                "spare": wanted.spare,
                "state": wanted.state.value,
                "failure": wanted.failure.to_json() if wanted.failure else None,
                "log": wanted.log,
            },
            created_at=self._clock.now(),
        )
        with act("return.intend"), self._database.writing_as(run.claim) as db:
            events = self._recorder.write(db, run.plan, run.pending)
            db.intents.add(intent)
        run.pending = []
        self._recorder.show(run, events)
        return intent

    def _ready(self, run: Run, intent: Intent, before: CheckpointGroup) -> Intent:
        """Record that the way back is kept: from here on the return is finished, not dropped."""
        ready = replace(intent, data={**intent.data, "before": before.group_id})
        with act("return.ready"), self._database.writing_as(run.claim) as db:
            db.intents.save(ready)
        return ready

    def _carry_out(self, run: Run, intent: Intent, before: CheckpointGroup | None) -> Returned:
        target = self._group(str(intent.data["target"]))
        undoing = self._undos.plan(run, target)
        if undoing.undone:  # nothing outside is undone for a return that cannot be completed
            self._refuse_changes_of_others(run, intent, before)
            self._manager.compare(run, target)
        not_undone = self._undos.carry_out(run, undoing)
        self._toolbox.forget_processes()
        self._refuse_changes_of_others(run, intent, before)  # since they were kept, and while undos ran
        if before is None:
            changes = self._manager.restore(run, target)
        else:
            changes = self._manager.restore_or_undo(run, target, before)
        self._settle(run, intent, target, changes)
        return Returned(changes=changes, before=before, not_undone=not_undone)

    def _give_up(self, run: Run, intent: Intent, told: Sequence[Entry]) -> None:
        """Close an intent that touched nothing, or whose work was undone."""
        with act("return.drop"), self._database.writing_as(run.claim) as db:
            db.intents.close(intent.intent_id)
            events = self._recorder.write(db, run.plan, told)
        self._recorder.show(run, events)

    def _settle(self, run: Run, intent: Intent, target: CheckpointGroup, changes: Changes) -> None:
        data = intent.data
        plan_id = run.plan.plan_id
        now = self._clock.now()
        failure = cast("JsonObject | None", data["failure"])
        plan = replace(
            run.plan.moved_to(Phase.EXECUTE, State(str(data["state"])), now),
            progress=target.state,
            current_group_id=target.group_id,
            last_checkpoint_id=target.first_checkpoint_id,
            failure=PlanFailure(**cast("dict[str, str]", failure)) if failure else None,
        )
        with act("return.settle"), self._database.writing_as(run.claim) as db:
            plan = replace(plan, line=self._new_line(db, run, target, data))
            for step in _reset(db.steps.list(plan_id), target.step_index, failed=failure is not None):
                db.steps.save(plan_id, step)
            db.plans.save(plan)
            db.intents.close(intent.intent_id)
            entry = Entry(
                type=EventType.ROLLBACK if intent.kind is IntentKind.ROLLBACK else EventType.RETURNED,
                data={
                    **cast("JsonObject", data["log"]),
                    "group_id": target.group_id,
                    "checkpoint_id": target.first_checkpoint_id,
                    "step_index": target.step_index,
                    "paths": sum(len(c) for c in changes.values()),
                },
                at=now,
            )
            events = self._recorder.write(db, plan, [*run.pending, entry])
        run.stands_at(plan, target)
        self._recorder.show(run, events)

    def _new_line(self, db: Transaction, run: Run, target: CheckpointGroup, data: JsonObject) -> int:
        plan_id = run.plan.plan_id
        lines = db.history.lines(plan_id)
        number = max(line.line for line in lines) + 1
        fork = Line(line=number, parent_line=target.line, fork_seq=target.seq)
        db.history.start(plan_id, fork)
        db.history.make_live(plan_id, live_segments([*lines, fork], number, target.seq))
        db.history.rest_at(target.group_id)
        if data["spare"] is not None:
            db.history.spare(GroupId(str(data["spare"])))
        return number


def _reset(steps: Sequence[StepRecord], step_index: int, *, failed: bool) -> list[StepRecord]:
    """The steps as they are when `step_index` of them are complete; one that failed stays visible as failed."""
    reset: list[StepRecord] = []
    for step in steps:
        if step.index < step_index:
            if step.status is not StepStatus.DONE:
                reset.append(replace(step, status=StepStatus.DONE))
        elif step.status is not StepStatus.PENDING and not (failed and step.status is StepStatus.FAILED):
            reset.append(replace(step, status=StepStatus.PENDING, duration_ms=None))
    return reset
