"""Running plans beside each other: each with a claim of its own, as if a process of its own worked on it."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId
    from mulligan.errors import MulliganError
    from mulligan.ports.world import Observer


class Ended(Struct, frozen=True, kw_only=True):
    """The end of a plan that ran beside others."""

    plan_id: PlanId
    error: MulliganError | None  # what stopped it, if something did
    messages: tuple[str, ...]  # what the caller must know of its run


class Crew(Protocol):
    """Plans that run at the same time."""

    def start(self, plan_id: PlanId, *, retries: int) -> None:
        """Let a plan run on to its end, again from its own first checkpoint where it fails and retries are left."""

    def next_ended(self) -> Ended:
        """Wait until one of those that run has ended."""

    def stop(self) -> None:
        """Ask all that run to stop, as Ctrl-C asks one; those that were asked end as Interrupted."""


class Engine(Protocol):
    """Runs plans beside each other."""

    def crew(self, observer: Observer) -> AbstractContextManager[Crew]:
        """Have plans run until the block ends. Afterwards none of them runs, whatever ended the block."""


class SideWork(Protocol):
    """Work that goes on while its caller waits for something else."""

    @property
    def is_over(self) -> bool:
        """Return whether it has come to its end."""

    def finish(self) -> None:
        """Wait until it is over, and raise what ended it; Ctrl-C waits until then too."""


class SideWorks(Protocol):
    """Lets work go on beside its caller, which meanwhile leaves alone what the work uses."""

    def begin(self, work: Callable[[], object]) -> SideWork:
        """Begin some work, under the guards of the caller."""
