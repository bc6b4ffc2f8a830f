"""Runs one child plan to its end, with its retries."""

from msgspec import Struct

from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.plan_executor import PlanExecutor
from mulligan.domain.text.ids import PlanId
from mulligan.errors import StepFailed
from mulligan.ports import Ended, Observer


class ChildRuns(Struct, kw_only=True, frozen=True, eq=False):
    """Executes a child, and again from its own first checkpoint where it failed."""

    executor: PlanExecutor
    rollbacks: RollbackService

    def run(self, plan_id: PlanId, retries: int, observer: Observer) -> Ended:
        """Run the plan from its present step on; try again only after a failed step."""
        messages: list[str] = []
        while True:
            execution = self.executor.execute(plan_id, None, observer)
            messages += execution.messages
            if not retries or not isinstance(execution.error, StepFailed):
                return Ended(plan_id=plan_id, error=execution.error, messages=tuple(messages))
            retries -= 1
            self.rollbacks.rollback(plan_id, "first", observer)
