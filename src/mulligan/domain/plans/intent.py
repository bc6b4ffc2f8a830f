"""Intents: what is to be done, recorded before the first byte is touched, until it is done."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.text.ids import IntentId, PlanId
from mulligan.domain.text.json_value import JsonObject

if TYPE_CHECKING:
    from mulligan.domain.plans.plan import PlanDefinition


class IntentKind(StrEnum):
    """Which operation is under way."""

    SANDBOX = "sandbox"  # making the plan's sandboxes
    ROLLBACK = "rollback"
    RETURN = "return"  # the return after a failed step
    APPLY = "apply"
    UNAPPLY = "unapply"
    CORRECTION = "correction"  # a return, and what a correction adds to it


class Intent(Struct, frozen=True, kw_only=True):
    """One operation that is under way or was cut off; whoever claims the plan next finishes or undoes it."""

    intent_id: IntentId
    plan_id: PlanId
    kind: IntentKind
    data: JsonObject
    created_at: datetime
    definition: "PlanDefinition | None" = None  # what the plan is once it is done; None: what it was
