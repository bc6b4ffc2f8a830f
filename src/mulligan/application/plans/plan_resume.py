"""Brings a plan that stopped back to its last good restore point before it continues."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import (
    refuse_ended,
    refuse_newer,
    refuse_waiting,
    refuse_without_checkpoints,
)
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.intent import RollbackWork
from mulligan.domain.plans.plan import OnFailure, ResumedFrom, State
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
    checkpoints: CheckpointService
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
            refuse_ended(run.plan, run.sandboxes)
            with self.database.reading() as db:
                refuse_newer(db, run.plan, run.sandboxes)
            if run.plan.is_executed:
                raise PlanAlreadyComplete(plan_id=plan_id)
            refuse_waiting(run.plan)
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
        edited = () if returns else self._edited(run, target)
        paths = sum(len(changes) for changes in self.manager.compare(run, target).values())
        messages = [f"it would continue from {target.first_checkpoint_id} at {_step_at(run, target)}"]
        messages += ["an interrupted return would be finished first"] if returns else []
        messages += self.undos.plan(run, target).announced
        if edited:
            names = counted(len(edited), "path")
            messages.append(f"what was edited since, {names}, would be kept in a checkpoint and worked on")
        elif paths:
            messages.append(
                f"later changes, {counted(paths, 'path')}, would be kept in a checkpoint and discarded"
            )
        messages += _running_again(steps, target)
        resumed = replace(_resumed(target, None), edited=edited)
        return ResumePreview(resumed_from=resumed, messages=tuple(messages))

    def restore(self, run: Run) -> ResumedFrom:
        """Restore the newest live group between two steps; capture any other contents first.

        If someone edited the sandboxes while the plan was at rest, continue from their present content instead.
        """
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
        if not running and (edited := self._edited(run, target)):
            return self._continue_from_edits(run, target, edited)
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

    def _edited(self, run: Run, target: CheckpointGroup) -> tuple[str, ...]:
        """Return the paths that were edited since the plan came to rest, if it can continue from there."""
        rest = self._resting_group(run)
        if (
            rest is None or self.undos.plan(run, target).is_needed
        ):  # effects outside are undone first, with the rest
            return ()
        changes = self.manager.compare(run, rest)
        several = len(changes) > 1
        return tuple(
            f"{resource}: {change.path}" if several else change.path
            for resource, found in changes.items()
            for change in found
        )

    def _resting_group(self, run: Run) -> CheckpointGroup | None:
        """Return the group that the sandboxes were equal to when the plan came to rest.

        None if that is not known. A killed process leaves `processing`; one that was interrupted inside a step leaves a
        failure without a step; one that keeps what a failed step did may have no group of that; and the program of a
        session writes between its steps, too.
        """
        plan, failure = run.plan, run.plan.failure
        inside_a_step = plan.state is State.PROCESSING or (failure and failure.step is None)
        kept = plan.definition.rollback_policy.on_failure is OnFailure.KEEP and plan.state is State.ERRORED
        in_no_group = kept and (failure is None or failure.checkpoint is None)
        if plan.definition.session or inside_a_step or in_no_group or plan.current_group_id is None:
            return None
        with self.database.reading() as db:
            return db.checkpoints.get(plan.current_group_id)

    def _continue_from_edits(self, run: Run, target: CheckpointGroup, edited: tuple[str, ...]) -> ResumedFrom:
        """Keep the present contents in a group, with the plan's state of the target."""
        run.reset_to(target)
        reason = reason_for(CheckpointType.MANUAL, {"reason": "edited"}, between_steps=True)
        group = self.checkpoints.create_checkpoint(run, reason)
        return replace(_resumed(group, None), edited=edited)


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
    return f"step {index + 1} ({steps[index].name})" if index < len(steps) else "its end"


def _running_again(steps: Sequence[StepRecord], target: CheckpointGroup) -> list[str]:
    """Report completed steps that run again because no checkpoint follows them."""
    again = [s.name for s in steps if s.index >= target.step_index and s.status is StepStatus.DONE]
    return [f"steps that run again, because no checkpoint follows them: {', '.join(again)}"] if again else []
