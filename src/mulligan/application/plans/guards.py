"""Guards that several use cases share: each refusal by name, before anything is changed."""

from mulligan.domain.plans.plan import Plan, State
from mulligan.errors import (
    ConflictsUnresolved,
    PlanAlreadyApplied,
    PlanCancelled,
    PlanIsChild,
    RollbackDisabled,
)


def refuse_ended(plan: Plan) -> None:
    """Refuse a plan that was applied or cancelled: both are final."""
    if plan.state is State.APPLIED:
        raise PlanAlreadyApplied(plan_id=plan.plan_id)
    if plan.state is State.CANCELLED:
        raise PlanCancelled(plan_id=plan.plan_id)


def refuse_conflicts(plan: Plan) -> None:
    """Refuse to go on with a plan while conflicts wait to be mended."""
    if plan.state is State.CONSTRAINED and plan.conflicts:
        raise ConflictsUnresolved(
            plan_id=plan.plan_id,
            count=len(plan.conflicts),
            paths=", ".join(conflict.path for conflict in plan.conflicts),
        )


def refuse_child(plan: Plan, done: str) -> None:
    """Refuse to end a child plan by itself: its parent's step counts on it."""
    if plan.parent_plan_id is not None:
        raise PlanIsChild(plan_id=plan.plan_id, parent_plan_id=plan.parent_plan_id, done=done)


def refuse_without_checkpoints(plan: Plan) -> None:
    """Refuse a plan whose file switched checkpoints off."""
    if not plan.definition.rollback_policy.enabled:
        raise RollbackDisabled(plan_id=plan.plan_id)
