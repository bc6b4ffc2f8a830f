"""Guards of real resources: who else works on one, or is changing it."""

from mulligan.domain.plans.intent import IntentKind, RealWork
from mulligan.domain.resources.placement import lie_together
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ApplyUnderWay, LocationTaken
from mulligan.ports import Transaction

_KINDS = (IntentKind.APPLY, IntentKind.UNAPPLY)


def refuse_taken(db: Transaction, plan_id: PlanId | None, path: str) -> None:
    """Refuse a real thing that another plan works on in place."""
    for other in db.sandboxes.all():
        in_the_way = other.strategy is Strategy.IN_PLACE and lie_together(path, other.path)
        if in_the_way and other.plan_id != plan_id and not db.plans.get(other.plan_id).is_final:
            raise LocationTaken(path=path, plan_id=other.plan_id)


def refuse_under_way(db: Transaction, plan_id: PlanId | None, path: str) -> None:
    """Refuse a real thing that another plan is changing, or was when its process died."""
    for intent in db.intents.of_kinds(_KINDS):
        locations = intent.work.locations if isinstance(intent.work, RealWork) else ()
        if intent.plan_id != plan_id and any(lie_together(path, other) for other in locations):
            raise ApplyUnderWay(plan_id=intent.plan_id, path=path)
