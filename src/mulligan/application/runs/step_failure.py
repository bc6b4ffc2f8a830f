"""Handles a failed step: captures what it left, then goes back as the rollback policy says."""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.queries.left_work import LeftWork, work_left
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.commit import Entry, step_data
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import StepReturnWork
from mulligan.domain.plans.plan import OnFailure, Phase, Plan, PlanFailure, State
from mulligan.domain.plans.step import Step, StepRecord, StepStatus, ToolUse
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, MulliganError, NextStep, RollbackDisabled, StepFailed, ToolFailed
from mulligan.ports import Clock
from mulligan.rows.database import Database

_HANDED_ON = (
    "errno",
    "exit_status",
    "started",
    "stopped_write",
)  # facts of a call that its step's error repeats


class FailureService(Struct, kw_only=True, frozen=True, eq=False):
    """Ends or repeats a step that failed."""

    database: Database
    checkpoints: CheckpointService
    returns: ReturnService
    clock: Clock

    def fail(self, run: Run, step: Step, error: MulliganError) -> StepFailed:
        """Capture what the step left, go back as the policy says, and return the error to raise."""
        tool = step.action.tool if isinstance(step.action, ToolUse) else None
        self._note(run, step, error)
        reason = _reason(run.plan, step, error)
        metadata: JsonObject = {"step": step.name, "tool": tool, "error": reason}
        kept = self._keep(run, metadata)
        failure = PlanFailure(
            message=reason,
            step=step.name,
            tool=tool,
            checkpoint=kept.first_checkpoint_id if kept else None,
        )
        target = self._target(run)
        if target is None:
            plan = run.plan.moved_to(Phase.EXECUTE, State.ERRORED, self.clock.now())
            run.record(replace(plan, failure=failure))
        else:
            wanted = StepReturnWork(
                target=target.group_id,
                spare=kept.group_id if kept else None,
                state=State.ERRORED,
                failure=failure,
                log={"reason": "a step failed", "step": step.name},
            )
            self.returns.go(run, wanted, kept if run.in_place else None)
        with self.database.reading() as db:
            work = work_left(db, run.plan)
        return StepFailed(
            plan_id=run.plan.plan_id,
            step=step.name,
            tool=tool,
            reason=reason,
            checkpoint=failure.checkpoint,
            hint=_next_step(run.plan, error, work),
            **{name: error.facts[name] for name in _HANDED_ON if name in error.facts},
        )

    def keep(self, run: Run, step: Step, error: MulliganError) -> None:
        """Count a failed step all the same: its changes stay, and the plan continues."""
        self._note(run, step, error)
        run.kept_failure = error
        run.taken.append(step.name)
        run.merged = []
        run.step_index += 1

    def count(self, run: Run, step: Step, error: MulliganError) -> None:
        """Count a step that only reports: it failed, and changed nothing."""
        self._note(run, step, error)
        run.outputs[step.name] = None
        run.step_index += 1

    def try_again(self, run: Run, step: Step, error: MulliganError) -> None:
        """Go back to the state before the step; the records of the failed try are superseded."""
        self._note(run, step, error)
        with self.database.reading() as db:
            start = db.checkpoints.newest_between_steps(run.plan.plan_id)
        if start is None:
            raise RollbackDisabled(plan_id=run.plan.plan_id) from error
        wanted = StepReturnWork(
            target=start.group_id,
            ends_children=True,
            state=State.PROCESSING,
            log={"reason": "a retry", "step": step.name},
        )
        # The contents of a real folder are always captured before a restore. A copy holds only the failed try.
        way_back = reason_for(CheckpointType.PRE_ROLLBACK, {"step": step.name}, between_steps=False)
        self.returns.go(run, wanted, way_back if run.in_place else None)

    def _keep(self, run: Run, metadata: JsonObject) -> CheckpointGroup | None:
        """Take the `on_error` group: as configured, and always if a sandbox is a real folder."""
        if run.in_place and run.plan.definition.rollback_policy.enabled:
            reason = reason_for(CheckpointType.ON_ERROR, metadata, between_steps=False)
            return self.checkpoints.create_checkpoint(run, reason)
        return self.checkpoints.auto_create_if_configured(
            run, CheckpointType.ON_ERROR, metadata, between_steps=False
        )

    def _note(self, run: Run, step: Step, error: MulliganError) -> None:
        data = step_data(run.step_index, step) | {"error": _reason(run.plan, step, error)}
        if error.facts.get("started") is False:
            data["started"] = False
        run.note(
            StepRecord(index=run.step_index, name=step.name, status=StepStatus.FAILED, duration_ms=None),
            Entry(type=EventType.STEP_FAILED, data=data, at=self.clock.now()),
        )

    def _target(self, run: Run) -> CheckpointGroup | None:
        policy = run.plan.definition.rollback_policy
        if not policy.enabled or policy.on_failure is OnFailure.KEEP:
            return None
        with self.database.reading() as db:
            if policy.on_failure is OnFailure.FIRST_CHECKPOINT:
                return db.checkpoints.first(run.plan.plan_id)
            return db.checkpoints.newest_between_steps(run.plan.plan_id)


def _reason(plan: Plan, step: Step, error: MulliganError) -> str:
    """Return why a step failed; a command without a plan file names itself, and no tool."""
    if isinstance(step.action, ToolUse) and (plan.definition.command or step.added is not None):
        return error.text.removeprefix(f"{step.action.tool}: ")
    return error.text


def _next_step(plan: Plan, error: MulliganError, work: LeftWork | None) -> str:
    """Return how to take what the step left, the advice of the error itself, if it has any, and how to continue."""
    if plan.definition.session:
        return error.next_step
    left = ("what it did was taken back; ", work.advice) if work is not None else ()
    if plan.definition.command:  # there is no plan file to correct
        again = Advice(NextStep("resume", plan=plan.plan_id), " runs it again")
        return Advice(*left, ", ", again) if left else again
    again = StepFailed.usual_advice(plan_id=plan.plan_id)
    if not plan.definition.rollback_policy.enabled:
        again = Advice(
            "what the step left is in the sandbox; without checkpoints only a new plan can continue"
        )
    known = error.next_step and error.next_step != ToolFailed.usual_advice()
    on = Advice(error.next_step, "; then ", again) if known else again
    return Advice(on, "; ", *left) if left else on
