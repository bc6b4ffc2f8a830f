"""Rows of child plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.snapshot import Snapshot
    from mulligan.domain.plans.subplan import Child, Spawn
    from mulligan.domain.text.ids import PlanId


class ChildRepository(Protocol):
    """Keeps which plans are children of which."""

    def add(self, plan_id: PlanId, spawn: Spawn, bases: Mapping[str, Snapshot]) -> None:
        """Record where a new plan comes from, and what of its parent it starts with, by resource."""
        ...

    def list(self, parent_plan_id: PlanId) -> Sequence[Child]:
        """The children of a plan, in the order in which they came; those that ended too."""
        ...

    def move(self, plan_id: PlanId, line: int, seq: int) -> None:
        """Record that the parent, on another line of its history, goes on with this child."""
        ...

    def bases_of(self, plan_id: PlanId) -> Mapping[str, Snapshot]:
        """What the child's sandboxes are to be forked from; empty: they were, or never will be."""
        ...

    def forget_bases(self, plan_id: PlanId) -> None:
        """The child has its sandboxes, or will never have any."""
        ...

    def bases(self) -> Sequence[Snapshot]:
        """What all children that have no sandboxes yet are to be forked from."""
        ...
