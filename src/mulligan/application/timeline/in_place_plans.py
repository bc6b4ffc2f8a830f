"""Makes way for a plan that starts: settles what was cut off on its resources, and ends plans that stopped there."""

from msgspec import Struct

from mulligan.application.plans.guards import holds_folder, in_place_at, running_there
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_service import PlanService
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.application.timeline.left_processes import LeftProcesses
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import PlanBusy
from mulligan.ports import Clock, Observer
from mulligan.rows.database import Database


class InPlacePlans(Struct, kw_only=True, frozen=True, eq=False):
    """The plans that worked in place on a folder before."""

    database: Database
    claims: PlanClaims
    plans: PlanService
    sandboxes: SandboxService
    ended: EndedSandboxes
    cut_off: CutOffWork
    left_processes: LeftProcesses
    clock: Clock

    def make_way(self, run: Run) -> None:
        """End commands and sessions that stopped on the folders that this plan is about to work on in place.

        What processes that died left unfinished on any of its resources is settled first: a copy of a folder in between
        would be a state that never was.
        """
        self.settle(run)
        for location in self.sandboxes.worked_on_in_place(run.plan.definition, run.settings):
            with self.database.reading() as db:
                earlier = [plan.plan_id for plan in in_place_at(db, run.plan.plan_id, str(location))]
            for plan_id in earlier:
                self._end(plan_id, str(location), run.observer)
            self.ended.forget_in_place()

    def settle(self, run: Run) -> None:
        """Settle what processes that died left unfinished on the resources of the plan."""
        locations = [str(location) for location in self.sandboxes.locations(run.plan.definition)]
        # The event of one agent does not cut off the commands of another.
        at_work = self.left_processes.sessions_at_work() if run.plan.definition.agent else ()
        self.cut_off.wait(run, lambda: self.cut_off.settle(run, locations, at_work))

    def _end(self, plan_id: PlanId, location: str, observer: Observer) -> None:
        try:
            with self.claims.open(plan_id, observer) as other:
                if other.plan.is_final or not _has_stopped(other):
                    return
                self.cut_off.keep_end(other)
                state = _end_of(other.plan)
                reason = "another plan began to work in place there"
                data: JsonObject = {"state": state[1].value, "reason": reason, "unfinished": None}
                entry = Entry(type=EventType.PLAN_STATE, data=data, at=self.clock.now())
                self.plans.end(other, state, entry, clean_up=False)
        except PlanBusy as exc:
            raise running_there(plan_id, location) from exc


def _has_stopped(run: Run) -> bool:
    """Return whether a claimed plan may be ended: a plan file with steps left to run may not."""
    return run.only_in_place and not holds_folder(run.plan, lambda _: False)


def _end_of(plan: Plan) -> tuple[Phase, State]:
    if (plan.phase, plan.state) == (
        Phase.EXECUTE,
        State.COMPLETE,
    ):  # of a version that did not end it at once
        return Phase.APPLY, State.APPLIED
    return Phase.EXECUTE, State.CANCELLED
