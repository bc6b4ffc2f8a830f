"""Guards that several use cases share: they refuse before anything is changed."""

from mulligan.domain.plans.intent import IntentKind, RealWork
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.resources.placement import lie_together
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import (
    ApplyUnderWay,
    ConflictsUnresolved,
    LocationTaken,
    PlanAlreadyApplied,
    PlanCancelled,
    PlanIsChild,
    PlanNotReady,
    RollbackDisabled,
)
from mulligan.rows.transaction import Transaction

_KINDS = (IntentKind.APPLY, IntentKind.UNAPPLY)


def not_ready(plan: Plan, reason: str, hint: str) -> PlanNotReady:
    """Return the refusal of a plan in the wrong state."""
    return PlanNotReady(plan_id=plan.plan_id, phase=plan.phase, state=plan.state, reason=reason, hint=hint)


def refuse_ended(plan: Plan) -> None:
    """Refuse a plan that was applied or cancelled: both are final."""
    if plan.state is State.APPLIED:
        raise PlanAlreadyApplied(plan_id=plan.plan_id)
    if plan.state is State.CANCELLED:
        raise PlanCancelled(plan_id=plan.plan_id)


def refuse_conflicts(plan: Plan) -> None:
    """Refuse to continue a plan with unresolved conflicts."""
    if plan.state is State.CONSTRAINED and plan.conflicts:
        raise ConflictsUnresolved(
            plan_id=plan.plan_id,
            count=len(plan.conflicts),
            paths=", ".join(conflict.path for conflict in plan.conflicts),
        )


def refuse_child(plan: Plan, done: str) -> None:
    """Refuse to end a child plan on its own: its parent's step needs it."""
    if plan.parent_plan_id is not None:
        raise PlanIsChild(plan_id=plan.plan_id, parent_plan_id=plan.parent_plan_id, done=done)


def refuse_without_checkpoints(plan: Plan) -> None:
    """Refuse a plan whose file switched checkpoints off."""
    if not plan.definition.rollback_policy.enabled:
        raise RollbackDisabled(plan_id=plan.plan_id)


def refuse_taken(db: Transaction, plan_id: PlanId | None, path: str) -> None:
    """Refuse a real resource that another plan works on in place."""
    for other in db.sandboxes.all():
        in_the_way = other.strategy is Strategy.IN_PLACE and lie_together(path, other.path)
        if in_the_way and other.plan_id != plan_id and not db.plans.get(other.plan_id).is_final:
            raise LocationTaken(path=path, plan_id=other.plan_id)


def refuse_under_way(db: Transaction, plan_id: PlanId | None, path: str) -> None:
    """Refuse a real resource that another plan is changing, or was when its process died."""
    for intent in db.intents.of_kinds(_KINDS):
        locations = intent.work.locations if isinstance(intent.work, RealWork) else ()
        if intent.plan_id != plan_id and any(lie_together(path, other) for other in locations):
            raise ApplyUnderWay(plan_id=intent.plan_id, path=path)
