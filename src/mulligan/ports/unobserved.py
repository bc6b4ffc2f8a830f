"""The observer of work that nobody follows, in a module of its own: every command has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.domain.plans.event import Event
    from mulligan.domain.text.ids import PlanId


class Unobserved:
    """An observer for work that nobody follows."""

    def event(self, event: Event) -> None:
        """Something was recorded."""

    def output(self, plan_id: PlanId, data: bytes) -> None:
        """A tool of that plan printed something."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""
