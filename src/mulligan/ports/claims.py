"""Claims: the right to write, and the one process that has it."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId


class Claim(Struct, frozen=True, kw_only=True):
    """The right to work on a plan, until it is claimed again."""

    plan_id: PlanId
    fence: int


class LockHolder(Struct, frozen=True, kw_only=True):
    """The process that works on a plan."""

    pid: int
    since: datetime
    within: tuple[PlanId, ...] | None = None  # the plans that this work is part of; None: not known
    host: str | None = None  # None: this one
    lease: float | None = None  # seconds for which a server keeps the claim of a machine that is cut off


class Locks(Protocol):
    """One holder at a time per plan, a process or a thread of one; a process that died holds nothing."""

    def hold(self, plan_id: PlanId) -> AbstractContextManager[None]:
        """Hold the plan's lock, or refuse at once with PlanBusy, which names pid and since when."""

    def holder(self, plan_id: PlanId) -> LockHolder | None:
        """Return the current holder, if there is one."""

    def plans(self) -> Sequence[PlanId]:
        """All plans that were ever worked on here, but for those that are retired."""

    def retire(self, plan_id: PlanId) -> None:
        """Note that a plan, which the caller holds, is about to be forgotten; holding it again withdraws that."""

    def forget(self, plan_id: PlanId) -> None:
        """Remove what is kept of a retired plan that nobody holds; what was removed already is fine."""

    def take_over(self, plan_id: PlanId, children: Sequence[PlanId]) -> Sequence[PlanId]:
        """End the process that holds it, or stop the thread; return what was taken from a holder that lives on.

        The locks of such a holder no longer count, nor do those of children that it works on within the plan: no act
        of its own that lasts begins after that. Children that were claimed apart stay with their holders.
        """

    def wait_for(self, plan_id: PlanId, seconds: float) -> float | None:
        """Wait until nobody holds it; return how long that took, or None where it took longer."""

    def ask_to_stop(self, plan_id: PlanId) -> None:
        """Ask the process or thread that holds it to stop, and wait until it has; PlanBusy when it does not."""

    def was_asked_to_stop(self, plan_id: PlanId) -> bool:
        """Return whether the one who holds it, or held it last, was asked to stop."""

    def close(self) -> None:
        """Give back what questions about holders use, which the next question opens again; claims stay."""
