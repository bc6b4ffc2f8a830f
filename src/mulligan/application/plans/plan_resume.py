"""Brings a plan that stopped back to its last good restore point before it continues."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import reason_for
from mulligan.application.plans.guards import refuse_conflicts, refuse_ended, refuse_without_checkpoints
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.intent import RollbackWork
from mulligan.domain.plans.plan import ResumedFrom, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.plans.tool import CallStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.plural import counted
from mulligan.errors import PlanAlreadyComplete, RollbackDisabled
from mulligan.ports import Observer
from mulligan.rows.database import Database


class ResumePreview(Struct, frozen=True, kw_only=True):
    """The restore point of a resume, and messages for the user."""

    resumed_from: ResumedFrom | None
    messages: tuple[str, ...]


class PlanResumeService(Struct, kw_only=True, frozen=True, eq=False):
    """Discards the remains of an interrupted step."""

    database: Database
    claims: PlanClaims
    manager: CheckpointManager
    returns: ReturnService
    undos: UndoService

    def refuse_where_impossible(self, run: Run) -> None:
        """Refuse to continue a plan that was started and has no checkpoints or sandboxes."""
        if run.sandboxes:
            refuse_without_checkpoints(run.plan)
            self.manager.require(run.sandboxes)

    def preview(self, plan_id: PlanId, observer: Observer) -> ResumePreview:
        """Return what a resume would do after it has finished interrupted work."""
        with self.claims.look(plan_id, observer) as run:
            refuse_ended(run.plan)
            if run.plan.is_executed:
                raise PlanAlreadyComplete(plan_id=plan_id)
            refuse_conflicts(run.plan)
            self.refuse_where_impossible(run)
            return self.preview_of(run)

    def preview_of(self, run: Run) -> ResumePreview:
        """Return the same for a plan that the caller holds."""
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            returns = [intent.target for intent in db.intents.list(plan_id) if intent.target]
            newest = db.checkpoints.newest_between_steps(plan_id)
            target = db.checkpoints.get(returns[-1]) if returns else newest
            steps = db.steps.list(plan_id)
        if target is None or not run.sandboxes:
            return ResumePreview(resumed_from=None, messages=("it would start with its first step",))
        paths = sum(len(changes) for changes in self.manager.compare(run, target).values())
        messages = [f"it would continue from {target.first_checkpoint_id} at {_step_at(run, target)}"]
        messages += ["an interrupted return would be finished first"] if returns else []
        messages += self.undos.plan(run, target).announced
        if paths:
            messages.append(
                f"later changes, {counted(paths, 'path')}, would be kept in a checkpoint and discarded"
            )
        messages += _running_again(steps, target)
        return ResumePreview(resumed_from=_resumed(target, None), messages=tuple(messages))

    def restore(self, run: Run) -> ResumedFrom:
        """Restore the newest live group between two steps; capture any other contents first."""
        with self.database.reading() as db:
            target = db.checkpoints.newest_between_steps(run.plan.plan_id)
            steps = db.steps.list(run.plan.plan_id)
            calls = db.tool_calls.list(run.plan.plan_id)
        if target is None:
            raise RollbackDisabled(plan_id=run.plan.plan_id)
        run.inform(*_running_again(steps, target))
        # A step is no longer recorded as running if it was asked to stop, or its plan file was edited.
        running = any(step.status is StepStatus.RUNNING for step in steps) or any(
            c.status is CallStatus.INTERRUPTED and not c.superseded and c.seq > target.seq for c in calls
        )
        ahead = run.plan.current_group_id != target.group_id or self.undos.plan(run, target).is_needed
        if not (running or ahead or any(self.manager.compare(run, target).values())):
            run.reset_to(target)
            return _resumed(target, None)
        wanted = RollbackWork(
            target=target.group_id,
            state=State.QUEUED,
            log={"reason": "what was in no checkpoint between two steps was discarded"},
        )
        reason = reason_for(CheckpointType.PRE_ROLLBACK, {"reason": "resume"}, between_steps=False)
        return _resumed(target, self.returns.go(run, wanted, reason).before)


def _resumed(target: CheckpointGroup, discarded: CheckpointGroup | None) -> ResumedFrom:
    return ResumedFrom(
        checkpoint_id=target.first_checkpoint_id,
        step_index=target.step_index,
        discarded=discarded.first_checkpoint_id if discarded else None,
    )


def _step_at(run: Run, target: CheckpointGroup) -> str:
    steps = run.plan.definition.steps
    index = target.step_index
    if run.plan.definition.session:
        return f"what its program does after {target.state.steps[-1]!r}" if index else "its first step"
    return f"step {index} ({steps[index].name})" if index < len(steps) else "its end"


def _running_again(steps: Sequence[StepRecord], target: CheckpointGroup) -> list[str]:
    """Report completed steps that run again because no checkpoint follows them."""
    again = [s.name for s in steps if s.index >= target.step_index and s.status is StepStatus.DONE]
    return [f"steps that run again, because no checkpoint follows them: {', '.join(again)}"] if again else []
