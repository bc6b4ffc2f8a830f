"""Finds child plans, and ends them: with their step, when their parent goes back, and with their parent."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from mulligan.application.runs.commit import Entry, write_records
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.lines import live_segments
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.subplan import Child, left_behind
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import PlanBusy
from mulligan.ports import Locks, SandboxKinds
from mulligan.rows.transaction import Transaction


class ChildPlans(Struct, kw_only=True, frozen=True, eq=False):
    """Ends child plans."""

    kinds: SandboxKinds
    locks: Locks
    is_elsewhere: Callable[[str | None], bool]

    def refuse_busy(self, children: Sequence[Child]) -> None:
        """Refuse to end children that a process works on."""
        for child in children:
            if holder := self.locks.holder(child.plan_id):
                raise PlanBusy(plan_id=child.plan_id, pid=holder.pid, since=holder.since)

    def cancel(self, db: Transaction, children: Sequence[Child], reason: str, at: datetime) -> None:
        """Cancel children in the transaction of their parent."""
        for child in children:
            plan = child.plan.moved_to(Phase.EXECUTE, State.CANCELLED, at)
            data: JsonObject = {"state": "cancelled", "reason": reason}
            db.plans.raise_fence(plan.plan_id)  # a process that still works on it can no longer write
            db.tool_calls.interrupt(plan.plan_id)
            for intent in db.intents.list(plan.plan_id):
                db.intents.close(intent.intent_id)
            db.children.forget_bases(plan.plan_id)
            db.plans.save(plan)
            write_records(db, plan.plan_id, Entry(type=EventType.PLAN_STATE, data=data, at=at))

    def forget_sandboxes(self, db: Transaction, children: Sequence[Child]) -> tuple[Sandbox, ...]:
        """Remove the rows of the children's sandboxes; return those, to be removed after the commit."""
        sandboxes = tuple(s for child in children for s in db.sandboxes.list(child.plan_id))
        for sandbox in sandboxes:
            db.sandboxes.remove(sandbox.plan_id, sandbox.resource)
        return sandboxes

    def remove(self, sandboxes: Sequence[Sandbox], *, room: int = 0) -> None:
        """Park or remove sandboxes that no row refers to: a crash leaves a folder, never a row without one.

        With `room` so many copies of a resource may be parked, for children that are to come.
        """
        for sandbox in sandboxes:
            if not self.is_elsewhere(sandbox.host):
                self.kinds.of(sandbox).park(sandbox, room=room)


def children_left_behind(
    db: Transaction,
    plan_id: PlanId,
    target: CheckpointGroup,
    *,
    unfinished_too: bool,
    spared: Collection[PlanId] = (),
) -> tuple[Child, ...]:
    """Return the children, with theirs, that end when the plan goes back to the group, except spared ones."""
    children = db.children.list(plan_id)
    if not children:
        return ()
    segments = live_segments(db.history.lines(plan_id), target.line, target.seq)
    steps = db.steps.list(plan_id)
    gone = left_behind(children, segments, steps, unfinished_too=unfinished_too, spared=spared)
    return with_theirs(db, gone)


def lineage(db: Transaction, plan_id: PlanId) -> tuple[Plan, ...]:
    """Return a plan with those above it, the topmost first."""
    plans = [db.plans.get(plan_id)]
    while (parent := plans[0].parent_plan_id) is not None:
        plans.insert(0, db.plans.get(parent))
    return tuple(plans)


def with_theirs(db: Transaction, children: Sequence[Child]) -> tuple[Child, ...]:
    """Return these children and all below them that were not cancelled, the lowest first."""
    return tuple(found for child in children for found in (*below(db, child.plan_id), child))


def family(db: Transaction, plan_id: PlanId) -> Iterator[PlanId]:
    """Yield a plan and all that were ever below it."""
    yield plan_id
    for child in db.children.list(plan_id):
        yield from family(db, child.plan_id)


def below(db: Transaction, plan_id: PlanId) -> tuple[Child, ...]:
    """Return all below a plan that were not cancelled, the lowest first."""
    return with_theirs(db, [c for c in db.children.list(plan_id) if c.plan.state is not State.CANCELLED])
