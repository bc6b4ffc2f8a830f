"""The progress of a running plan: small enough to be read again after every record."""

from datetime import datetime

from msgspec import Struct

from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.ports import Locks
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

_NEWEST = 3  # checkpoints
_AHEAD = ((Phase.STRATEGIZE, State.COMPLETE), (Phase.EXECUTE, State.QUEUED))  # it may still be run


class NewCheckpoint(Struct, frozen=True, kw_only=True):
    """One of the newest checkpoints of a plan."""

    checkpoint_id: CheckpointId
    number: int  # of its group, in the plan
    step_index: int
    checkpoint_type: CheckpointType
    label: str | None
    created_at: datetime


class PlanProgress(Struct, frozen=True, kw_only=True):
    """The progress of a plan."""

    plan_id: PlanId
    handle: str
    name: str
    phase: Phase
    state: State
    attempt: int
    worked_on: bool  # by a live process
    is_over: bool  # no process works on it, and it does not wait to be run
    steps: tuple[StepRecord, ...]
    running_since: datetime | None  # of the step that runs
    checkpoints: tuple[NewCheckpoint, ...]  # the newest, oldest first
    children: "tuple[PlanProgress, ...]"  # except cancelled ones
    updated_at: datetime

    @property
    def steps_done(self) -> int:
        """Return the number of completed steps."""
        return sum(step.status is StepStatus.DONE for step in self.steps)

    @property
    def is_done(self) -> bool:
        """Return whether all steps are complete."""
        return (self.phase, self.state) == (Phase.EXECUTE, State.COMPLETE)

    @property
    def running(self) -> StepRecord | None:
        """Return the step that runs."""
        return next((step for step in self.steps if step.status is StepStatus.RUNNING), None)


class ProgressQueries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads the progress of plans; never waits for a running plan."""

    database: Database
    locks: Locks

    def of(self, plan_id: PlanId) -> PlanProgress:
        """Return the progress of a plan and its children."""
        worked_on = self.locks.holder(plan_id) is not None  # first: its last records are read afterwards
        with self.database.reading() as db:
            return self._of(db, db.plans.get(plan_id), worked_on=worked_on)

    def _of(self, db: Transaction, plan: Plan, *, worked_on: bool) -> PlanProgress:
        plan_id = plan.plan_id
        steps = tuple(db.steps.list(plan_id))
        runs = any(step.status is StepStatus.RUNNING for step in steps)
        started = db.events.newest(plan_id, EventType.STEP_STARTED) if runs else None
        return PlanProgress(
            plan_id=plan_id,
            handle=plan.handle,
            name=plan.name,
            phase=plan.phase,
            state=plan.state,
            attempt=plan.attempt,
            worked_on=worked_on,
            is_over=not worked_on and (plan.phase, plan.state) not in _AHEAD,
            steps=steps,
            running_since=started.created_at if started else None,
            checkpoints=tuple(
                NewCheckpoint(
                    checkpoint_id=group.first_checkpoint_id,
                    number=group.number,
                    step_index=group.step_index,
                    checkpoint_type=group.reason.type,
                    label=group.reason.label,
                    created_at=group.created_at,
                )
                for group in db.checkpoints.list(plan_id, superseded=False, limit=_NEWEST)
            ),
            children=tuple(
                self._of(db, child.plan, worked_on=worked_on)
                for child in db.children.list(plan_id)
                if child.plan.state is not State.CANCELLED
            ),
            updated_at=plan.updated_at,
        )
