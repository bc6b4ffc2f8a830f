"""Finds the target of `undo`: the state before the last step that a plan completed."""

from msgspec import Struct

from mulligan.application.plans.guards import refuse_ended, refuse_without_checkpoints
from mulligan.domain.history.last_step import StepBack, step_back
from mulligan.domain.plans.plan import Plan
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.errors import Advice, NextStep, NothingToUndo
from mulligan.rows.database import Database


class StepBackService(Struct, kw_only=True, frozen=True, eq=False):
    """Finds the checkpoint that is one step back."""

    database: Database

    def target(self, plan_id: PlanId) -> CheckpointId:
        """Return the checkpoint of the state before the plan's last completed step; refuse if there is none."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            refuse_ended(plan)
            refuse_without_checkpoints(plan)
            groups = db.checkpoints.list(plan_id, superseded=False)
            calls = [call for call in db.tool_calls.list(plan_id) if not call.superseded]
        back = step_back(plan, groups, calls)
        if back.target is None:
            raise _refusal(plan, back)
        return back.target.first_checkpoint_id


def _refusal(plan: Plan, back: StepBack) -> NothingToUndo:
    kept = plan.failure.checkpoint if plan.failure else None
    if back.nearest is None and kept is not None:
        return NothingToUndo(
            plan_id=plan.plan_id,
            reason="no step is complete, and the changes of the failed one were taken back when it failed",
            hint=Advice(NextStep("diff", plan=plan.plan_id, new=kept), " shows what it left"),
        )
    if back.nearest is None:
        return NothingToUndo(plan_id=plan.plan_id, reason="it is before its first step")
    step, earlier = map(plan.step_name, (back.step_index, back.nearest.step_index))
    return NothingToUndo(
        plan_id=plan.plan_id,
        reason=f"no checkpoint holds the state right before the step {step!r}",
        hint=Advice(
            NextStep("rollback", plan=plan.plan_id, checkpoint=back.nearest.first_checkpoint_id),
            f" goes further back, to before the step {earlier!r}",
        ),
    )
