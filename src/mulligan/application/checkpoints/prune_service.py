"""Prunes and deletes checkpoints on request, by the rule of automatic retention."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_service import groups_needed
from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.retention import UNDOABLE, RetentionPlan, plan_retention, reasons_to_stay
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId
from mulligan.errors import CheckpointNeeded
from mulligan.ports import Clock, Observer
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class PrunedGroup(Struct, frozen=True, kw_only=True):
    """A group that is removed."""

    group_id: GroupId
    checkpoint_id: CheckpointId
    number: int  # in the plan
    label: str | None


class KeptGroup(PrunedGroup, frozen=True, kw_only=True):
    """A group that stays."""

    reason: str


class Pruning(Struct, frozen=True, kw_only=True):
    """The result of a prune, or of its preview."""

    plan_id: PlanId
    dry_run: bool
    limit: int | None  # None: one was deleted by name
    kept: tuple[KeptGroup, ...]
    pruned: tuple[PrunedGroup, ...]
    bytes_freed: int | None  # None: nothing was freed yet


class PruneService(Struct, kw_only=True, frozen=True, eq=False):
    """Removes groups of a plan that no process works on: rows first, then unreferenced bytes."""

    database: Database
    claims: PlanClaims
    sweeps: SweepService
    settings: SettingsSource
    clock: Clock

    def preview(self, plan_id: PlanId, keep: int | None) -> Pruning:
        """Return what a prune would keep, with the reasons, and what it would remove."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            limit = self._limit(plan, keep)
            verdict, groups = _judge(db, plan, limit), db.checkpoints.list(plan_id, superseded=True)
        return _answer(plan_id, groups, verdict, limit, dry_run=True, bytes_freed=None)

    def prune(self, plan_id: PlanId, keep: int | None, observer: Observer) -> Pruning:
        """Remove the groups above the limit, except those that must stay."""
        with self.claims.open(plan_id, observer) as run:
            limit = self._limit(run.plan, keep)
            with self.database.reading() as db:
                verdict, groups = _judge(db, run.plan, limit), db.checkpoints.list(plan_id, superseded=True)
            freed = self._remove(run, verdict.prune)
        return _answer(plan_id, groups, verdict, limit, dry_run=False, bytes_freed=freed)

    def delete(self, group: CheckpointGroup, observer: Observer) -> Pruning:
        """Delete one group; refuse one that must stay, with the reason. What an undo needs may go on request."""
        plan_id = group.plan_id
        with self.claims.open(plan_id, observer) as run:
            with self.database.reading() as db:
                db.checkpoints.get(group.group_id)  # it may have been pruned meanwhile
                groups = db.checkpoints.list(plan_id, superseded=True)
                needed = groups_needed(db, run.plan)
                needed = {group_id: why for group_id, why in needed.items() if why != UNDOABLE}
                reasons = reasons_to_stay(db.checkpoints.summaries(plan_id), needed=needed)
            if group.group_id in reasons:
                raise CheckpointNeeded(
                    checkpoint_id=group.first_checkpoint_id, plan_id=plan_id, reason=reasons[group.group_id]
                )
            freed = self._remove(run, [group.group_id])
        verdict = RetentionPlan(keep=(), prune=(group.group_id,))
        return _answer(plan_id, groups, verdict, None, dry_run=False, bytes_freed=freed)

    def _remove(self, run: Run, group_ids: Sequence[GroupId]) -> int | None:
        if not group_ids:
            return 0
        entry = Entry(type=EventType.PRUNED, data={"groups": list(group_ids)}, at=self.clock.now())
        with run.commit("prune.record") as commit:
            commit.db.checkpoints.remove(group_ids)
            commit.record(entry)
        run.pruned += len(group_ids)
        swept = self.sweeps.free_pruned(run)
        return swept.bytes_freed if swept else None

    def _limit(self, plan: Plan, keep: int | None) -> int:
        return keep if keep is not None else self.settings.for_plan(plan.definition.config).max_checkpoints


def _judge(db: Transaction, plan: Plan, limit: int) -> RetentionPlan:
    summaries = db.checkpoints.summaries(plan.plan_id)
    return plan_retention(summaries, limit=limit, needed=groups_needed(db, plan))


def _answer(
    plan_id: PlanId,
    groups: Sequence[CheckpointGroup],
    verdict: RetentionPlan,
    limit: int | None,
    *,
    dry_run: bool,
    bytes_freed: int | None,
) -> Pruning:
    by_id = {group.group_id: group for group in groups}
    return Pruning(
        plan_id=plan_id,
        dry_run=dry_run,
        limit=limit,
        kept=tuple(
            KeptGroup(
                group_id=kept.group_id,
                checkpoint_id=by_id[kept.group_id].first_checkpoint_id,
                number=by_id[kept.group_id].number,
                label=by_id[kept.group_id].reason.label,
                reason=kept.reason,
            )
            for kept in verdict.keep
        ),
        pruned=tuple(
            PrunedGroup(
                group_id=group_id,
                checkpoint_id=by_id[group_id].first_checkpoint_id,
                number=by_id[group_id].number,
                label=by_id[group_id].reason.label,
            )
            for group_id in verdict.prune
        ),
        bytes_freed=bytes_freed,
    )
