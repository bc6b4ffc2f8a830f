"""Runs one child plan to its end, with its retries."""

from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.plan_executor import PlanExecutor
from mulligan.domain.text.ids import PlanId
from mulligan.errors import StepFailed
from mulligan.ports import Ended, Observer


def run_child(
    executor: PlanExecutor, rollbacks: RollbackService, plan_id: PlanId, retries: int, observer: Observer
) -> Ended:
    """Run the plan from its present step on, and after a failed step again from its first checkpoint."""
    messages: list[str] = []
    while True:
        execution = executor.execute(plan_id, None, observer)
        messages += execution.messages
        if not retries or not isinstance(execution.error, StepFailed):
            return Ended(plan_id=plan_id, error=execution.error, messages=tuple(messages))
        retries -= 1
        rollbacks.rollback(plan_id, "first", observer)
