"""Records new plans, and cancels plans."""

import os

from msgspec import Struct

from mulligan.application.plans.guards import refuse_child, refuse_ended
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.preflight import check_before_running
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.subplans.child_plans import ChildPlans, below
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.boundaries import act
from mulligan.config import Cleanup
from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.resources.resource import is_in_place
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    Advice,
    CheckpointFailed,
    MulliganError,
    NextStep,
    PlanAlreadyApplied,
    PlanTakenOver,
    RestoreIncomplete,
)
from mulligan.ports import Clock, Ids, Locks, Observer, Toolbox
from mulligan.rows.database import Database


class PlanService(Struct, kw_only=True, frozen=True, eq=False):
    """The beginning and the early end of a plan."""

    database: Database
    claims: PlanClaims
    locks: Locks
    sandboxes: SandboxService
    children: ChildPlans
    cut_off: CutOffWork
    settings: SettingsSource
    toolbox: Toolbox
    ids: Ids
    clock: Clock

    def create(self, definition: PlanDefinition) -> PlanId:
        """Record a plan whose file passed its checks, without running or copying anything."""
        plan = self.checked(definition)
        with act("plan.create"), self.database.writing() as db:
            add_plan(db, plan)
        return plan.plan_id

    def checked(self, definition: PlanDefinition) -> Plan:
        """Return a plan whose file passed its checks, which is yet to be recorded."""
        settings = self.settings.for_plan(definition.config)
        check_before_running(definition, self.toolbox.declarations())
        self.sandboxes.check(definition, settings)
        self.sandboxes.check_confinement(definition, settings)
        return new_plan(PlanId(self.ids.new()), definition, None, EMPTY_STATE, self.clock.now())

    def works_in_place(self, definition: PlanDefinition) -> bool:
        """Return whether a plan is to work on a real resource itself."""
        return bool(self.sandboxes.worked_on_in_place(definition, self.settings.for_plan(definition.config)))

    def create_to_run(self, definition: PlanDefinition) -> PlanId:
        """Record a plan that runs at once; refuse one that could not run."""
        self.sandboxes.refuse_taken_locations(definition, self.settings.for_plan(definition.config), None)
        return self.create(definition)

    def cancel(self, plan_id: PlanId, reason: str | None, observer: Observer) -> None:
        """Cancel the plan; first ask a process that works on it to stop."""
        with self.database.reading() as db:
            plan, sandboxes = db.plans.get(plan_id), db.sandboxes.list(plan_id)
            unfinished = bool(db.intents.list(plan_id))
        did_in_place = is_in_place(plan.definition.resources, sandboxes)
        if plan.state is State.APPLIED and did_in_place and not unfinished:
            hint = Advice(NextStep("undo", what=plan.handle), " takes back what it did")
            raise PlanAlreadyApplied(plan_id=plan_id, hint=hint)
        refuse_ended(plan, sandboxes)  # what cannot be finished in place can still be ended
        refuse_child(plan, "cancelled")
        self.locks.ask_to_stop(plan_id)
        with self.database.reading() as db:
            children = below(db, plan_id)
        for child in children:  # other workers may run them
            self.locks.ask_to_stop(child.plan_id)
        with self.claims.open_as_it_is(plan_id, observer) as run:
            refuse_ended(run.plan, run.sandboxes)
            data: JsonObject = {"state": "cancelled", "reason": reason, "unfinished": self._finish(run)}
            self._keep_end(run)
            entry = Entry(type=EventType.PLAN_STATE, data=data, at=self.clock.now())
            self.end(
                run,
                (Phase.EXECUTE, State.CANCELLED),
                entry,
                clean_up=run.settings.cleanup is Cleanup.ON_TERMINAL,
            )

    def end(self, run: Run, state: tuple[Phase, State], entry: Entry, *, clean_up: bool) -> None:
        """End a claimed plan in a final state, and its unfinished child plans with it."""
        plan = run.plan.moved_to(*state, entry.at)
        with self.database.reading() as db:
            children = below(db, plan.plan_id)
        unfinished = [child for child in children if not child.is_done]
        self.children.refuse_busy(children)
        with run.commit("plan.end") as commit:
            commit.plan = plan
            commit.record(entry)
            self.children.cancel(commit.db, unfinished, "its parent ended", entry.at)
            sandboxes = self.sandboxes.forget(commit, run) if clean_up else ()
        if clean_up:
            self.sandboxes.remove(sandboxes, run.observer)

    def _keep_end(self, run: Run) -> None:
        """Keep what a step that was cut off left in place; a plan can be cancelled where that fails."""
        try:
            self.cut_off.keep_end(run)
        except CheckpointFailed as exc:  # the next plan that starts there, or is applied there, tries again
            run.announce(exc.text, self.clock.now())

    def _finish(self, run: Run) -> str | None:
        """Finish interrupted work, or drop it and return the reason: the plan can be cancelled all the same.

        Raise RestoreIncomplete where real resources can still be put back: their old contents must be kept.
        """
        try:
            self.claims.finish_unfinished(run)
        except PlanTakenOver:
            raise
        except MulliganError as exc:
            if isinstance(exc, RestoreIncomplete) and self._can_be_put_back(run):
                raise
            with run.commit("return.drop") as commit:
                for intent in commit.db.intents.list(run.plan.plan_id):
                    commit.db.intents.close(intent.intent_id)
                    commit.db.real_changes.remove(run.plan.plan_id, intent.kind)
            return exc.text
        return None

    def _can_be_put_back(self, run: Run) -> bool:
        """Return whether an apply or unapply is unfinished, and all its real resources exist."""
        with self.database.reading() as db:
            kinds = {intent.kind for intent in db.intents.list(run.plan.plan_id)}
            changes = [each for each in db.real_changes.list(run.plan.plan_id) if each.act in kinds]
        return bool(changes) and all(os.path.lexists(change.real.path) for change in changes)
