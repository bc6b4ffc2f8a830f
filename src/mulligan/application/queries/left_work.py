"""The work of a step that failed: taken back from the sandboxes, and held by a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
    from mulligan.rows.transaction import Transaction


class LeftWork(Struct, frozen=True, kw_only=True):
    """The group of what a failed step left, where that differs from the present group."""

    handle: str  # of its plan
    step: str
    group: CheckpointGroup
    is_all: bool  # the plan is where it began, in sandboxes: to accept it is to take this work

    @property
    def taking(self) -> NextStep:
        """Return the operation that takes it."""
        at = {} if self.is_all else {"at": f"@{self.group.number}"}
        return NextStep("accept", plan=self.handle, **at)

    @property
    def advice(self) -> Advice:
        """Describe how to see it, and how to take it."""
        look = NextStep("diff", plan=self.handle, new=f"@{self.group.number}")
        return Advice(look, " shows what it did, ", self.taking, " takes that")


def work_left(db: Transaction, plan: Plan) -> LeftWork | None:
    """Return what the step that stopped a plan left, as far as rows know; None: nothing, or it is still there."""
    failure = plan.failure if plan.state is State.ERRORED else None
    if failure is None or failure.checkpoint is None or failure.step is None or plan.current_group_id is None:
        return None
    group = db.checkpoints.holding(CheckpointId(failure.checkpoint))
    if group is None or same_contents(group, db.checkpoints.get(plan.current_group_id)):
        return None
    in_place = any(each.strategy is Strategy.IN_PLACE for each in db.sandboxes.list(plan.plan_id))
    return LeftWork(
        handle=plan.handle,
        step=failure.step,
        group=group,
        is_all=plan.progress.step_index == 0 and not in_place,
    )


def same_contents(group: CheckpointGroup, other: CheckpointGroup) -> bool:
    """Return whether two groups of a plan hold the same files."""
    held = {each.resource: each.snapshot for each in other.checkpoints}
    return all(each.snapshot.same_as(held.get(each.resource)) for each in group.checkpoints)
