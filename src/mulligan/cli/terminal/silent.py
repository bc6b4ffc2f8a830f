"""Observers that load nothing: one that shows nothing, and one that waits for something to show."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from mulligan.api.entrance import Unobserved

if TYPE_CHECKING:
    from mulligan.cli.terminal.live import Live
    from mulligan.domain.plans.event import Event
    from mulligan.domain.text.ids import PlanId


class Silent(Unobserved):
    """Draws nothing: the answer is a document."""

    def close(self) -> None:
        """Nothing to clean up."""

    def pause(self) -> None:
        """Nothing is drawn."""


class Deferred:
    """Loads and makes what shows progress when there is some: most commands only answer."""

    def __init__(self, make: "Callable[[], Live]") -> None:
        self._make = make
        self._made: Live | None = None
        self._lock = Lock()  # two threads may be the first

    @property
    def _live(self) -> "Live":
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def event(self, event: "Event") -> None:
        """Show an event."""
        self._live.event(event)

    def output(self, plan_id: "PlanId", data: bytes) -> None:
        """Show the output of a tool."""
        self._live.output(plan_id, data)

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Show the progress of long work."""
        self._live.progress(what, done, total)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._made is not None:
            self._made.close()

    def pause(self) -> None:
        """Leave the terminal to a step, and go on when something happens."""
        if self._made is not None:
            self._made.pause()
