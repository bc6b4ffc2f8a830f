"""Applying: what is to be brought into a real thing, and the rows that tell what was."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.snapshot import Root, Snapshot
    from mulligan.domain.plans.intent import IntentKind
    from mulligan.domain.resources.resource import Sandbox
    from mulligan.domain.text.ids import PlanId
    from mulligan.domain.trees.real_change import RealChange
    from mulligan.domain.trees.tree_difference import TreeDifference


class ApplyOrder(Struct, frozen=True, kw_only=True):
    """What a plan made, to be brought into the real thing: merged already, and not written yet."""

    sandbox: Sandbox  # the plan's
    real: Sandbox  # the same resource as an in-place sandbox: what is to change
    base: Snapshot  # of both sides
    theirs: Snapshot  # what the plan made of it
    ours: Snapshot  # the real thing now
    files: Root  # merge(base, theirs, ours), stored
    changed: tuple[TreeDifference, ...]  # base -> theirs, of the files
    message: str | None  # of the commit; None: no commit
    included: frozenset[str]  # paths in git directories that are taken over all the same
    at: datetime


class Composed(Struct, frozen=True, kw_only=True):
    """What the real thing is to become."""

    snapshot: Snapshot  # all roots of it; restoring it is all that is left to do
    commit: str | None  # that it will have checked out; None: no new one
    uncommitted: tuple[str, ...]  # changes that reach the working tree only, each with why
    notes: tuple[str, ...]  # what was made in the sandbox and is not carried over


class RealChangeRepository(Protocol):
    """Keeps what applying plans did, or is about to do, to the real resources."""

    def add(self, change: RealChange) -> None:
        """Record what is about to be done."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[RealChange]:
        """All of a plan, in the order of its resources."""
        ...

    def snapshots(self) -> Sequence[Snapshot]:
        """All snapshots that they name, of all plans."""
        ...

    def remove(self, plan_id: PlanId, act: IntentKind) -> None:
        """It was taken back, or can be no more."""
        ...
