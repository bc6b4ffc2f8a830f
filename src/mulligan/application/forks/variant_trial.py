"""Tries variants: records the plan that runs them, and takes over the one that is picked.

A try is a plan of three steps: its variants are child plans of the first, the second is a question, and the third
takes over what was chosen. So it is executed, resumed and rolled back as any plan is.
"""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.forks.plan_fork import PlanForkService
from mulligan.application.forks.variant_queries import children_of, picked_in
from mulligan.application.plans.guards import not_ready, refuse_conflicts, refuse_ended
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.plans.plan_service import PlanService
from mulligan.application.plans.question_answers import AnswerService
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.plan_executor import Execution, PlanExecutor
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.ids import PlanId
from mulligan.domain.variants.variant_plan import (
    TryWish,
    refuse_unfit_variants,
    try_definition,
    try_name,
    try_steps,
)
from mulligan.errors import Advice, NextStep, PlanNotReady
from mulligan.ports import Clock, Ids, Observer
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class TryService(Struct, kw_only=True, frozen=True, eq=False):
    """Begins tries, and picks."""

    database: Database
    plans: PlanService
    plan_forks: PlanForkService
    executor: PlanExecutor
    answers: AnswerService
    rollbacks: RollbackService
    sandboxes: SandboxService
    settings: SettingsSource
    ids: Ids
    clock: Clock

    def create(self, wish: TryWish, resource: Resource, folder: str) -> PlanId:
        """Record a try whose variants start from a real resource."""
        refuse_unfit_variants(wish)
        return self.plans.create_to_run(try_definition(wish, resource, folder))

    def create_from(self, wish: TryWish, origin: PlanId, word: str | None, folder: str) -> PlanId:
        """Record a try whose variants start from a checkpoint group of another plan, which is left alone."""
        refuse_unfit_variants(wish)
        plan_id = PlanId(self.ids.new())
        with self.database.reading() as db:
            plan = self._from_group(db, plan_id, db.plans.get(origin), word, wish, folder)
        self.sandboxes.check(plan.definition, self.settings.for_plan(plan.definition.config))
        with act("plan.create"), self.database.writing() as db:
            add_plan(db, self._from_group(db, plan_id, db.plans.get(origin), word, wish, folder))
        return plan_id

    def _from_group(
        self, db: Transaction, plan_id: PlanId, origin: Plan, word: str | None, wish: TryWish, folder: str
    ) -> Plan:
        there, _ = self.plan_forks.definition_of(db, origin, word, try_name(wish))
        described = try_definition(wish, there.resources[0], folder)
        definition = replace(
            described,
            resources=there.resources,
            config=there.config,
            fork=there.fork,
            steps=try_steps(wish, folder),
        )
        return new_plan(plan_id, definition, None, EMPTY_STATE, self.clock.now())

    def pick(self, plan_id: PlanId, name: str, rationale: str | None, observer: Observer) -> Execution | None:
        """Take over a finished variant; another one where one was picked before. None: it was picked already."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            chosen = next((child for child in children_of(db, plan) if child.name == name), None)
        refuse_ended(plan)
        refuse_conflicts(plan)
        if plan.is_executed and picked_in(plan) == name:
            return None
        if chosen is None or not chosen.is_done:
            raise _unfinished(plan, f"the variant {name} has not run to its end")
        if plan.question is None:
            self._ask_again(plan, observer)
        return self.answers.answer(plan_id, name, rationale, observer)

    def _ask_again(self, plan: Plan, observer: Observer) -> None:
        """Bring a try back to its question: to before what was picked, or on from where a rollback left it."""
        asks = next(i for i, s in enumerate(plan.definition.steps) if isinstance(s.action, Question))
        if plan.progress.step_index > asks:
            with self.database.reading() as db:
                groups = db.checkpoints.list(plan.plan_id, superseded=False)
            before = [
                g for g in groups if g.reason.type is CheckpointType.BEFORE_STEP and g.step_index == asks
            ]
            self.rollbacks.rollback(plan.plan_id, before[-1].group_id, observer)
        elif plan.progress.step_index < asks:
            raise _unfinished(plan, "its variants have not all run to their end")
        self.executor.execute(plan.plan_id, None, observer)


def _unfinished(plan: Plan, reason: str) -> PlanNotReady:
    return not_ready(plan, reason, Advice("run on with ", NextStep("resume", plan=plan.handle)))
