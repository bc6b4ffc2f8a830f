"""Hands plans to a queue, in the transaction of their rows.

A plan that works in place can run on one machine only: it goes to the queue of that one.
"""

from collections.abc import Callable

from msgspec import Struct

from mulligan.application.plans.guards import not_ready, refuse_child, refuse_ended, refuse_waiting
from mulligan.application.plans.new_plans import add_plan
from mulligan.application.plans.plan_service import PlanService
from mulligan.boundaries import act
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.queues.submission import Submission, is_of_host, queue_of_host
from mulligan.domain.resources.host import Host
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanAlreadyComplete
from mulligan.ports import Clock
from mulligan.rows.database import Database


class SubmissionService(Struct, kw_only=True, frozen=True, eq=False):
    """The way of a plan into a queue."""

    database: Database
    plans: PlanService
    find_host: Callable[[], Host]
    clock: Clock

    def submit_new(self, definition: PlanDefinition, queue: str, retries: int) -> Submission:
        """Record a plan whose file passed its checks, and hand it over: both, or neither."""
        plan = self.plans.checked(definition)
        queue = self._queue_for(definition, queue)
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
            made = db.sandboxes.list(plan_id)
            hosts = [s.host for s in made if s.strategy is Strategy.IN_PLACE and s.host is not None]
            if hosts:
                queue = queue_of_host(db.hosts.name_of(hosts[0]))
            elif not made:
                queue = self._queue_for(plan.definition, queue)
            return db.submissions.submit(plan_id, queue, retries, self.clock.now())

    def _queue_for(self, definition: PlanDefinition, queue: str) -> str:
        """Return the queue of this machine for a plan that is to work on its real folder, unless a machine is named."""
        if is_of_host(queue) or not self.plans.works_in_place(definition):
            return queue
        return queue_of_host(self.find_host().name)
