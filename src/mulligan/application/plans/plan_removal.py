"""Forgets plans: with their checkpoints, sandboxes, pins and child plans; nothing real is touched.

The rows of the sandboxes go first, then their folders and pins, then all rows of the plan in one transaction, and last
the bytes that no other plan needs. Cut off in between, the plan has ended and has no sandboxes; the same command
completes it.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from msgspec import Struct

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.guards import not_ready, refuse_child
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.subplans.child_plans import ChildPlans, below, family
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, MulliganError, NextStep
from mulligan.ports import Clock, Locks, Observer
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class RemovedPlan(Struct, frozen=True, kw_only=True):
    """A plan that is forgotten, and what goes with it."""

    plan_id: PlanId
    handle: str
    name: str
    phase: Phase
    state: State
    checkpoints: int  # groups, with those of its child plans
    child_plans: int
    sandboxes: tuple[str, ...]  # paths of copies that are removed
    unapplied: bool  # whether its result is complete and in no real resource
    can_be_taken_back: bool  # whether it is applied, and `unapply` could take that back until now


class PlanRemoval(Struct, frozen=True, kw_only=True):
    """The result of forgetting plans, or of its preview."""

    dry_run: bool
    removed: tuple[RemovedPlan, ...]
    bytes_freed: int | None  # in the store; None: nothing was freed yet
    messages: tuple[str, ...]


class PlanRemovalService(Struct, kw_only=True, frozen=True, eq=False):
    """Forgets plans."""

    database: Database
    claims: PlanClaims
    locks: Locks
    sandboxes: SandboxService
    ended: EndedSandboxes
    children: ChildPlans
    sweeps: SweepService
    clock: Clock

    def preview(self, plan_ids: Sequence[PlanId], observer: Observer) -> PlanRemoval:
        """Return what would be forgotten; refuse what would be refused, and change nothing."""
        found: list[RemovedPlan] = []
        for plan_id in plan_ids:
            with self.claims.look(plan_id, observer) as run:
                self._refuse(run)
                found.append(self._facts(run))
        return PlanRemoval(dry_run=True, removed=tuple(found), bytes_freed=None, messages=())

    def remove(self, plan_ids: Sequence[PlanId], observer: Observer) -> PlanRemoval:
        """Forget the plans, one after the other; all are checked before the first one goes."""
        self.preview(plan_ids, observer)
        found: list[RemovedPlan] = []
        messages: list[str] = []
        for plan_id in plan_ids:
            with self.claims.open(plan_id, observer) as run:
                self._refuse(run)
                found.append(self._facts(run))
                gone = self._remove(run)
                messages += run.messages
            for each in gone:
                self.locks.forget(each)
        try:
            freed = self.sweeps.free(observer).bytes_freed
        except MulliganError as exc:
            freed = None
            messages.append(
                Advice(f"their bytes are not freed yet: {exc.text}; ", NextStep("gc"), " frees them")
            )
        return PlanRemoval(dry_run=False, removed=tuple(found), bytes_freed=freed, messages=tuple(messages))

    def _refuse(self, run: Run) -> None:
        plan = run.plan
        refuse_child(plan, "removed")
        with self.database.reading() as db:
            self.children.refuse_busy(below(db, plan.plan_id))
        held = [s.path for s in run.sandboxes if s.strategy is Strategy.IN_PLACE]
        if held and not plan.is_final:
            hint = Advice(
                "end it first, with ",
                NextStep("cancel", plan=plan.handle),
                ", which leaves the folder as it is",
            )
            raise not_ready(plan, f"it works in place on {held[0]}", hint)

    def _facts(self, run: Run) -> RemovedPlan:
        plan = run.plan
        with self.database.reading() as db:
            plan_ids = list(family(db, plan.plan_id))
            changes = db.real_changes.list(plan.plan_id)
            return RemovedPlan(
                plan_id=plan.plan_id,
                handle=plan.handle,
                name=plan.name,
                phase=plan.phase,
                state=plan.state,
                checkpoints=sum(db.checkpoints.count(each, superseded=True) for each in plan_ids),
                child_plans=len(plan_ids) - 1,
                sandboxes=tuple(s.path for s in _copies(db, plan_ids)),
                unapplied=plan.state is State.COMPLETE and bool(run.sandboxes),
                can_be_taken_back=any(change.act is IntentKind.APPLY for change in changes),
            )

    def _remove(self, run: Run) -> Sequence[PlanId]:
        with self.database.reading() as db:
            plan_ids = tuple(family(db, run.plan.plan_id))
        with ExitStack() as held:
            for child in plan_ids[1:]:
                held.enter_context(self.locks.hold(child))
            self.ended.remove(self._end(run))
            self.sweeps.remove_all_of(plan_ids)
            for each in plan_ids:
                self.locks.retire(each)
            with run.commit("plan.remove") as commit:
                commit.db.plans.remove(plan_ids)
        return plan_ids

    def _end(self, run: Run) -> Sequence[Sandbox]:
        """End the plan if it has not ended, and forget its sandboxes in the same transaction; return those."""
        if run.plan.is_final:
            with run.commit("sandbox.forget") as commit:
                return self.sandboxes.forget(commit, run)
        now = self.clock.now()
        data: JsonObject = {"state": "cancelled", "reason": "it is being forgotten", "unfinished": None}
        with run.commit("plan.end") as commit:
            commit.plan = run.plan.moved_to(Phase.EXECUTE, State.CANCELLED, now)
            commit.record(Entry(type=EventType.PLAN_STATE, data=data, at=now))
            unfinished = [child for child in below(commit.db, run.plan.plan_id) if not child.is_done]
            self.children.cancel(commit.db, unfinished, "its parent ended", now)
            return self.sandboxes.forget(commit, run)


def _copies(db: Transaction, plan_ids: Sequence[PlanId]) -> list[Sandbox]:
    found = (sandbox for plan_id in plan_ids for sandbox in db.sandboxes.list(plan_id))
    return [sandbox for sandbox in found if sandbox.strategy is not Strategy.IN_PLACE]
