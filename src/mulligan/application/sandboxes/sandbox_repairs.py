"""Repairs from the store: missing sandboxes, and the names under which other programs find checkpoints."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.domain.plans.plan import Plan
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import CheckpointId, PlanId, time_of
from mulligan.errors import PlanBusy
from mulligan.ports import Locks, Observer, Publication, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class SandboxRepairs(Struct, kw_only=True, frozen=True, eq=False):
    """Repairs the sandboxes of plans that no process works on."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    renewal: SandboxRenewal
    locks: Locks

    def missing(self, plan: Plan) -> list[Sandbox]:
        """Return the plan's sandboxes on this machine that do not exist."""
        with self.database.reading() as db:
            sandboxes = db.sandboxes.here_of(plan.plan_id)
        return [s for s in sandboxes if not self.kinds.of(s).exists(s)]

    def remake(self, plan: Plan, missing: Sequence[Sandbox], observer: Observer) -> dict[str, str]:
        """Make sandboxes again from the plan's last checkpoint; return the source of each, by resource.

        Omitted are real folders, paths that something else occupies, and plans that a process works on.
        """
        if not missing:
            return {}
        try:
            with self.locks.hold(plan.plan_id), self.store.hold():
                with self.database.reading() as db:
                    group_id = db.plans.get(plan.plan_id).current_group_id
                    group = db.checkpoints.get(group_id) if group_id is not None else None
                wanted = [(s, group.snapshot_of(s.resource) if group else s.base) for s in missing]
                source = f"checkpoint {group.first_checkpoint_id}" if group else "its initial contents"
                return {s.resource: source for s in self.renewal.remake(wanted, observer)}
        except PlanBusy:
            return {}

    def republish(self, plan: Plan) -> int:
        """Publish checkpoints again that other programs can no longer find; return their number."""
        try:
            with self.locks.hold(plan.plan_id), self.store.hold():
                with self.database.reading() as db:
                    sandboxes = db.sandboxes.here_of(plan.plan_id)
                return self.publish_again(plan.plan_id, sandboxes)
        except PlanBusy:
            return 0

    def publish_again(self, plan_id: PlanId, sandboxes: Sequence[Sandbox]) -> int:
        """Do the same for some sandboxes of a plan that this process holds, and with it the store."""
        with self.database.reading() as db:
            groups = db.checkpoints.list(plan_id, superseded=True)
        names: dict[CheckpointId, str] = {}
        for sandbox in sandboxes:
            names |= self.kinds.of(sandbox).republish(sandbox, _publications(sandbox, groups))
        if names:
            with act("names.record"), self.database.writing() as db:
                db.checkpoints.rename(names)
        return len(names)

    def lacking(self, plan: Plan) -> dict[CheckpointId, tuple[Damage, ...]]:
        """Return what the plan's checkpoints need outside the store and lack."""
        found: dict[CheckpointId, tuple[Damage, ...]] = {}
        with self.store.hold():
            with self.database.reading() as db:
                groups = db.checkpoints.list(plan.plan_id, superseded=True)
                sandboxes = db.sandboxes.here_of(plan.plan_id)
            for sandbox in sandboxes:
                checkpoints = [group.checkpoint_of(sandbox.resource) for group in groups]
                wanted = dict.fromkeys(checkpoint.snapshot for checkpoint in checkpoints)
                hurt = self.kinds.of(sandbox).lacking(sandbox, wanted)
                found |= {c.checkpoint_id: hurt[c.snapshot] for c in checkpoints if c.snapshot in hurt}
        return found


def _publications(sandbox: Sandbox, groups: Sequence[CheckpointGroup]) -> list[Publication]:
    found = {group.group_id: group.checkpoint_of(sandbox.resource) for group in groups}
    return [
        Publication(
            checkpoint=found[group.group_id],
            after=found.get(group.parent_group_id) if group.parent_group_id is not None else None,
            at=time_of(found[group.group_id].checkpoint_id),
        )
        for group in groups
    ]
