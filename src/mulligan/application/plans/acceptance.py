"""Accepts a plan as it is: one that stopped before its end is complete, and can be applied."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import not_ready, refuse_child, refuse_conflicts, refuse_ended
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.queries.left_work import work_left
from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run, finished_state
from mulligan.application.subplans.child_plans import ChildPlans, below
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup
from mulligan.domain.history.finished import FINISHED
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import OnFailure, Plan
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, NextStep, PlanAlreadyComplete
from mulligan.ports import Clock, Observer, SnapshotStore, Toolbox
from mulligan.rows.database import Database


class Acceptance(Struct, frozen=True, kw_only=True):
    """A plan that was accepted: the group that holds it, the steps that it has, and those that it is without."""

    plan_id: PlanId
    checkpoint_id: (
        CheckpointId | None
    )  # None: it takes no checkpoints, or was complete at the group it went to
    number: int | None
    at: int | None  # the group that it went to first; None: it was taken as it was
    taken: tuple[str, ...]  # steps that failed or were cut off, and whose changes it has
    not_run: tuple[str, ...]
    messages: tuple[str, ...]


class AcceptService(Struct, kw_only=True, frozen=True, eq=False):
    """Makes plans complete that stopped before their last step."""

    database: Database
    store: SnapshotStore
    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService
    rollbacks: RollbackService
    children: ChildPlans
    toolbox: Toolbox
    clock: Clock

    def accept(self, plan_id: PlanId, at: str | None, observer: Observer) -> Acceptance:
        """Make the plan complete as it is, or as it was at a group; a group holds that first.

        A plan that is where it began is complete with what its failed step left, where that is all there is.
        """
        with self.claims.open(plan_id, observer) as run:
            _refuse_unfit(run, at)
            return self.accept_left(run, at)

    def accept_left(self, run: Run, at: str | None = None) -> Acceptance:
        """Do the same for a plan that is claimed and has stopped."""
        self._end_processes(run)
        group, left, taken = None, list[StepRecord](), list[StepRecord]()
        with self.manager.watch(run):
            at = at or self._meant(run)
            reached = self.rollbacks.go_back(run, at).rollback_summary.number if at is not None else None
            if not run.plan.is_executed:  # else it was complete at the group
                left, taken = self._left(run, gone_to=reached is not None)
                group = self._record(run, left, taken)
        return Acceptance(
            plan_id=run.plan.plan_id,
            checkpoint_id=group.first_checkpoint_id if group else None,
            number=group.number if group else None,
            at=reached,
            taken=tuple(step.name for step in taken),
            not_run=tuple(step.name for step in left),
            messages=tuple(run.messages),
        )

    def _meant(self, run: Run) -> str | None:
        """Return the group to accept where none is named: what a failed step left, if the plan has nothing else.

        Where the plan has more, or works on real resources, say how to accept that group.
        """
        with self.database.reading() as db:
            work = work_left(db, run.plan)
            first = db.checkpoints.first(run.plan.plan_id)
        if work is None:
            return None
        if work.is_all and first is not None and not any(self.manager.compare(run, first).values()):
            return work.group.group_id
        step = NextStep("accept", plan=run.plan.handle, at=f"@{work.group.number}")
        run.inform(Advice(f"what step {work.step!r} did was taken back; ", step, " takes it"))
        return None

    def _end_processes(self, run: Run) -> None:
        """End what steps left running in the sandboxes: nothing may change what is accepted."""
        with act("survivors.end"):
            ended = self.toolbox.end_survivors(run.plan.plan_id, run.sandboxes)
        for process in ended:
            text = f"ended a process that a step had left running: {process}"
            run.announce(text, self.clock.now())

    def _left(self, run: Run, *, gone_to: bool) -> tuple[list[StepRecord], list[StepRecord]]:
        """Return the steps that the plan is complete without, and the one whose changes it has all the same."""
        with self.database.reading() as db:
            steps = db.steps.list(run.plan.plan_id)
            deeds = db.entries.live_of(run.plan.plan_id)
            present = db.checkpoints.get(run.plan.current_group_id) if run.plan.current_group_id else None
        left = [s for s in steps if s.index >= run.step_index and s.status is not StepStatus.DONE]
        if not left or run.plan.definition.session or left[0].index != run.step_index:
            return left, []
        type = present.reason.type if present is not None else None
        has_changes = type is not None and (type is CheckpointType.ON_ERROR or type.is_at_work)
        if not (gone_to or has_changes):
            cut_off = [deed for deed in deeds if deed.is_cut_off and deed.step_index == run.step_index]
            has_changes = bool(cut_off) or _kept_changes(run.plan, left[0])
        return (left[1:], left[:1]) if has_changes else (left, [])

    def _record(
        self, run: Run, left: Sequence[StepRecord], taken: Sequence[StepRecord]
    ) -> CheckpointGroup | None:
        """Capture the sandboxes, then record their group and the plan as complete; unfinished children end."""
        now, plan_id, definition = self.clock.now(), run.plan.plan_id, run.plan.definition
        with self.database.reading() as db:
            children = below(db, plan_id)
        self.children.refuse_busy(children)
        unfinished = [child for child in children if not child.is_done]
        if not definition.session:
            run.step_index, run.merged = len(definition.steps), []
            run.taken += [step.name for step in taken]
        group: CheckpointGroup | None = None
        with run.showing_later(), self.store.hold():  # until rows refer to what is captured
            captured = self._captured(run)
            with run.commit("plan.accept") as commit:
                phase, state = finished_state(run)
                plan = run.progressed().moved_to(phase, state, now)
                commit.plan = replace(plan, failure=None)
                if captured:
                    metadata: JsonObject = {"reason": "accept", FINISHED: True}
                    reason = reason_for(CheckpointType.POST_EXECUTE, metadata, between_steps=True)
                    group = self.checkpoints.add_group(commit, run, reason, captured)
                commit.record(*_failed(taken), *_stopped(left), _accepted(left, taken, self.clock.now()))
                commit.db.tool_calls.interrupt(plan_id)
                self.children.cancel(commit.db, unfinished, "its parent was accepted without it", now)
                sandboxes = self.children.forget_sandboxes(commit.db, unfinished)
        self.children.remove(sandboxes)
        return group

    def _captured(self, run: Run) -> Sequence[Checkpoint]:
        return self.checkpoints.present(run) if run.plan.definition.rollback_policy.enabled else ()


def _stopped(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the steps that were cut off, as not run."""
    return [replace(s, status=StepStatus.PENDING) for s in steps if s.status is StepStatus.RUNNING]


def _failed(steps: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the steps whose changes are taken as what they are: they did not succeed."""
    return [replace(s, status=StepStatus.FAILED) for s in steps]


def _kept_changes(plan: Plan, step: StepRecord) -> bool:
    """Return whether the step stopped the plan, and its changes stayed in the sandboxes."""
    policy = plan.definition.rollback_policy
    stay = not policy.enabled or policy.on_failure is OnFailure.KEEP
    return stay and plan.failure is not None and plan.failure.step == step.name


def _accepted(left: Sequence[StepRecord], taken: Sequence[StepRecord], at: datetime) -> Entry:
    data: JsonObject = {"state": "complete", "accepted": True, "not_run": [step.name for step in left]}
    if taken:
        data["taken"] = [step.name for step in taken]
    return Entry(type=EventType.PLAN_STATE, data=data, at=at)


def _refuse_unfit(run: Run, at: str | None) -> None:
    plan = run.plan
    refuse_ended(plan)
    refuse_child(plan, "accepted")
    if not run.sandboxes:
        hint = Advice("run it with ", NextStep("execute", plan=plan.plan_id))
        raise not_ready(plan, "it has not started, and there is nothing to accept", hint)
    if at is None:
        if plan.is_executed:
            raise PlanAlreadyComplete(plan_id=plan.plan_id)
        refuse_conflicts(plan)
