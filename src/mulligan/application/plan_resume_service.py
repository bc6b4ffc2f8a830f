"""Brings a plan that stopped back to its last good restore point before it runs on."""

from mulligan.application.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoint_service import reason_for
from mulligan.application.guards import refuse_without_checkpoints
from mulligan.application.return_service import Return, ReturnService
from mulligan.application.run import Run
from mulligan.domain.checkpoint import CheckpointGroup, CheckpointType
from mulligan.domain.intent import IntentKind
from mulligan.domain.plan import ResumedFrom, State
from mulligan.domain.step import StepStatus
from mulligan.errors import RollbackDisabled
from mulligan.ports import Database


class PlanResumeService:
    """Discards what an interrupted step left behind."""

    def __init__(
        self,
        *,
        database: Database,
        manager: CheckpointManager,
        returns: ReturnService,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._manager = manager
        self._returns = returns

    def refuse_where_impossible(self, run: Run) -> None:
        """Refuse, before anything is changed, to go on with a plan that was begun and has no way to."""
        if run.sandboxes:
            refuse_without_checkpoints(run.plan)
            self._manager.require(run.sandboxes)

    def restore(self, run: Run) -> ResumedFrom:
        """Stand exactly at the newest live group between two steps; what is there instead is kept first."""
        with self._database.reading() as db:
            target = db.checkpoints.newest_between_steps(run.plan.plan_id)
            steps = db.steps.list(run.plan.plan_id)
        if target is None:
            raise RollbackDisabled(plan_id=run.plan.plan_id)
        running = any(step.status is StepStatus.RUNNING for step in steps)
        ahead = run.plan.current_group_id != target.group_id or self._returns.leaves_effects(run, target)
        if not (running or ahead or self._differs(run, target)):
            run.stands_at(run.plan, target)
            return ResumedFrom(
                checkpoint_id=target.first_checkpoint_id, step_index=target.step_index, discarded=None
            )
        return self._go_back(run, target)

    def _differs(self, run: Run, target: CheckpointGroup) -> bool:
        return any(self._manager.compare(run, target).values())

    def _go_back(self, run: Run, target: CheckpointGroup) -> ResumedFrom:
        wanted = Return(
            kind=IntentKind.ROLLBACK,
            target=target,
            spare=None,
            state=State.QUEUED,
            failure=None,
            log={"reason": "what was in no checkpoint between two steps was discarded"},
        )
        reason = reason_for(CheckpointType.PRE_ROLLBACK, {"reason": "resume"}, between_steps=False)
        before = self._returns.go(run, wanted, reason).before
        return ResumedFrom(
            checkpoint_id=target.first_checkpoint_id,
            step_index=target.step_index,
            discarded=before.first_checkpoint_id if before else None,
        )
