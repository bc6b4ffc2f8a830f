"""The progress of a call: what an operation reports in its thread, for notifications to the client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.text.inert_text import harmless, without_escapes

if TYPE_CHECKING:
    from mulligan.domain.plans.event import Event
    from mulligan.domain.text.ids import PlanId

_LINE = 200  # characters of what a command prints


class CallProgress:
    """The newest that can be said of a call."""

    def __init__(self) -> None:
        self._text: str | None = None

    def take(self) -> str | None:
        """Return what is new since the last time, if anything is."""
        text, self._text = self._text, None
        return text

    def event(self, event: Event) -> None:
        """Something was recorded."""
        self._say(event.type.replace("_", " "))

    def output(self, plan_id: PlanId, data: bytes) -> None:  # noqa: ARG002 - a port
        """Take the last line that a command printed."""
        lines = without_escapes(data.decode("utf-8", "replace")).strip().splitlines()
        if lines:
            self._say(harmless(lines[-1])[:_LINE])

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""
        self._say(f"{what}: {done}" if total is None else f"{what}: {done} of {total}")

    def _say(self, text: str) -> None:
        self._text = text
