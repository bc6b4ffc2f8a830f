"""Finds what the sandboxes of a fork are made of: sandboxes of its origin, live or gone, and their snapshots."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.subplans.child_plans import lineage
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.fork import Fork
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.errors import SandboxesGone
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class ForkSource(Struct, frozen=True, kw_only=True):
    """The origin of one sandbox of a fork."""

    sandbox: Sandbox  # of the origin; after an apply it may be gone
    snapshot: Snapshot  # what the fork starts with
    base: Snapshot | None  # what it merges against; None: what it starts with


class ForkOrigin(Struct, frozen=True, kw_only=True):
    """All that the sandboxes of a fork are made of."""

    sources: Mapping[str, ForkSource]  # by resource
    hidden: tuple[str, ...]


class ForkSources(Struct, kw_only=True, frozen=True, eq=False):
    """Reads what forks are made of."""

    database: Database

    def of(self, fork: Fork) -> ForkOrigin:
        """Return the sources of a fork; refuse where its group, or the sandboxes of its origin, are gone."""
        with self.database.reading() as db:
            return self.of_group(db, fork)

    def of_group(self, db: Transaction, fork: Fork) -> ForkOrigin:
        """Return the same within a transaction of the caller."""
        group, plan = db.checkpoints.get(fork.group_id), db.plans.get(fork.plan_id)
        owner = _owner(db, plan)
        sandboxes = _sandboxes(db, owner, group)
        missing = [each.resource for each in group.checkpoints if each.resource not in sandboxes]
        if missing:
            raise SandboxesGone(plan_id=plan.plan_id, resources=", ".join(missing))
        return ForkOrigin(
            sources={
                each.resource: ForkSource(
                    sandbox=sandboxes[each.resource],
                    snapshot=each.snapshot,
                    base=_base(db, owner, sandboxes[each.resource]),
                )
                for each in group.checkpoints
            },
            hidden=plan.hidden,
        )


def _owner(db: Transaction, plan: Plan) -> Plan:
    """Return the plan whose sandboxes a fork starts in: of a variant, which gave its own back, that of the try."""
    gave_back = plan.definition.variant and plan.parent_plan_id and not db.sandboxes.list(plan.plan_id)
    return db.plans.get(plan.parent_plan_id) if gave_back and plan.parent_plan_id else plan


def _sandboxes(db: Transaction, plan: Plan, group: CheckpointGroup) -> dict[str, Sandbox]:
    """Return the sandboxes of a plan, with those that an apply removed as they were."""
    places = {each.resource: each.filesystem_path for each in group.checkpoints}
    applied = [each for each in db.real_changes.list(plan.plan_id) if each.act is IntentKind.APPLY]
    gone = {
        each.real.resource: replace(
            each.real,
            strategy=each.real.type.traits.copying,
            path=places[each.real.resource],
            excluded=tuple(path for path in each.real.excluded if path not in each.moving),
        )
        for each in applied
        if each.real.resource in places
    }
    return gone | {sandbox.resource: sandbox for sandbox in db.sandboxes.list(plan.plan_id)}


def _base(db: Transaction, plan: Plan, sandbox: Sandbox) -> Snapshot | None:
    """Return what the real resource was for the plan, or for the topmost of those above it that has a copy of it.

    None: the real resource has the work of the plan already, because that was applied or done in place.
    """
    if plan.state is State.APPLIED or sandbox.strategy is Strategy.IN_PLACE:
        return None
    base = sandbox.base
    for above in reversed(lineage(db, plan.plan_id)[:-1]):
        found = _sandbox_of(db, above.plan_id, sandbox.resource)
        if found is None or found.strategy is Strategy.IN_PLACE:
            break
        base = found.base
    return base


def _sandbox_of(db: Transaction, plan_id: PlanId, resource: str) -> Sandbox | None:
    return next((each for each in db.sandboxes.list(plan_id) if each.resource == resource), None)
