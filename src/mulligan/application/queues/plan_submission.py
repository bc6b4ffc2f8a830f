"""Hands plans to a queue, in the transaction of their rows."""

from msgspec import Struct

from mulligan.application.plans.guards import not_ready, refuse_child, refuse_ended, refuse_waiting
from mulligan.application.plans.new_plans import add_plan
from mulligan.application.plans.plan_service import PlanService
from mulligan.boundaries import act
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.queues.submission import Submission
from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanAlreadyComplete
from mulligan.ports import Clock
from mulligan.rows.database import Database


class SubmissionService(Struct, kw_only=True, frozen=True, eq=False):
    """The way of a plan into a queue."""

    database: Database
    plans: PlanService
    clock: Clock

    def submit_new(self, definition: PlanDefinition, queue: str, retries: int) -> Submission:
        """Record a plan whose file passed its checks, and hand it over: both, or neither."""
        plan = self.plans.checked(definition)
        with act("queue.enter"), self.database.writing() as db:
            add_plan(db, plan)
            return db.submissions.submit(plan.plan_id, queue, retries, self.clock.now())

    def submit(self, plan_id: PlanId, queue: str, retries: int) -> Submission:
        """Hand over a recorded plan that has steps to run; one that waits in a queue waits in this one from now on."""
        with act("queue.enter"), self.database.writing() as db:
            plan = db.plans.get(plan_id)
            refuse_ended(plan, db.sandboxes.list(plan_id))
            refuse_child(plan, "submitted")
            if plan.is_executed:
                raise PlanAlreadyComplete(plan_id=plan_id)
            refuse_waiting(plan)
            if plan.definition.session:
                raise not_ready(plan, "its steps are those of a program", "start that program again")
            return db.submissions.submit(plan_id, queue, retries, self.clock.now())
