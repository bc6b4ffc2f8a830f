"""The verdict on a variant."""

from enum import StrEnum

from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.variants.variant_plan import has_check


class CheckResult(StrEnum):
    """The result of a check."""

    PASSED = "passed"
    FAILED = "failed"


def check_result(variant: PlanDefinition, *, ran: bool, exit_status: int | None) -> CheckResult | None:
    """Return what the check of a variant says; None: it has none, or its check did not run to its end."""
    if not (ran and has_check(variant)):
        return None
    return CheckResult.PASSED if exit_status == 0 else CheckResult.FAILED


def passes(variant: PlanDefinition, exit_status: int | None, check: CheckResult | None) -> bool:
    """Return whether a finished variant passes: its check decides, and without one the exit status of its command."""
    return check is CheckResult.PASSED if has_check(variant) else exit_status == 0
