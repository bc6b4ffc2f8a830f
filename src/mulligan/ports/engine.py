"""Running plans beside each other: each with a claim of its own, as if a process of its own worked on it.

In a shared project workers take them from a queue.
"""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.queues.submission import QueueSize, Wakeup, WorkerLine
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


class LocalCrew(Crew, Protocol):
    """Plans that run at the same time in this process."""

    def ended_soon(self) -> Ended | None:
        """Return the next that has ended; wait for a moment, and return None where none has."""

    def disband(self) -> None:
        """Stop all that run, and wait until none does."""


class LocalEngine(Protocol):
    """Runs plans beside each other in this process."""

    def begin(self, observer: Observer) -> LocalCrew:
        """Have plans run until the crew is disbanded."""


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


class WorkQueue(Protocol):
    """A durable queue of wake-ups: an entry that was committed wakes one worker, and then no other.

    What wakes nobody, because the queue lost it, is entered again by a worker that reads the rows.
    """

    def open(self, sizes: Mapping[str, QueueSize], pace: float, run: Callable[[PlanId, int], str]) -> None:
        """Take entries of these queues, as many of each at once as it has slots, and call `run` in threads."""

    def close(self) -> None:
        """Take no more entries, and wait until none runs here."""

    def live(self, entries: Collection[str]) -> Collection[str]:
        """Return those of these entries that wait, or run somewhere."""

    def held_by_others(self) -> Mapping[str, Sequence[Wakeup]]:
        """Return the entries that other workers run, by worker."""

    def give_back(self, entry: Wakeup) -> None:
        """Let an entry that a worker ran wake another one; what that worker says of it no longer counts."""

    def adjust(self, sizes: Mapping[str, QueueSize], pace: float) -> None:
        """Set how many entries of a queue run at once, and how often each worker looks, in seconds."""

    def forget_old(self) -> None:
        """Remove what is kept of entries that ended more than a day ago."""


class Workers(Protocol):
    """The workers of a project: each is alive as long as the server hears of it."""

    def join(self, line: WorkerLine) -> None:
        """Be known as a worker from now on, and be alive."""

    def leave(self) -> None:
        """Be forgotten."""

    def note_stopping(self) -> None:
        """Let others see that this worker finishes its steps and takes nothing new."""

    def list(self) -> Sequence[WorkerLine]:
        """Return all that joined and did not leave, with what they work on."""

    def dead(self, workers: Collection[str]) -> Sequence[str]:
        """Return those of these workers that were not alive at every look for two seconds; ask twice a second."""

    def burying(self, worker: str) -> AbstractContextManager[bool]:
        """Keep a dead worker from coming back, and others from taking what it had; False: it lives, or others do."""

    def sizes(self) -> Mapping[str, QueueSize]:
        """Return the numbers of plans that may run at once, of each queue for which they were set."""

    def set_slots(self, queue: str, slots: int) -> None:
        """Set how many plans of a queue each of its workers runs at once."""

    def limit(self, queue: str, plans: int | None) -> None:
        """Limit the plans of a queue that run at once on all workers; None: no longer."""
