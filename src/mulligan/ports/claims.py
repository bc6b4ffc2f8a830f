"""Claims: the right to write, and the one process that has it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId


class Claim(Struct, frozen=True, kw_only=True):
    """The right to work on a plan, until someone claims it anew."""

    plan_id: PlanId
    fence: int


class LockHolder(Struct, frozen=True, kw_only=True):
    """The process that works on a plan."""

    pid: int
    since: datetime


class PlanLocks(Protocol):
    """One process at a time per plan; a process that died holds nothing."""

    def hold(self, plan_id: PlanId) -> AbstractContextManager[None]:
        """Hold the plan's lock, or refuse at once with PlanBusy, which names pid and since when."""
        ...

    def holder(self, plan_id: PlanId) -> LockHolder | None:
        """Who holds it now, if anyone."""
        ...

    def plans(self) -> Sequence[PlanId]:
        """All plans that were ever worked on here."""
        ...

    def take_over(self, plan_id: PlanId, children: Sequence[PlanId]) -> Sequence[PlanId]:
        """End the process that holds it; gives what was taken from one that cannot be: none, where it is dead.

        Such a process holds locks that count no more, those of children it works on too: no act of its own
        that lasts begins any more.
        """
        ...

    def ask_to_stop(self, plan_id: PlanId) -> None:
        """Ask the process that holds it to stop, and wait until it has; PlanBusy when it does not."""
        ...
