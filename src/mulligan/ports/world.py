"""The world around: time, ids, and someone who watches."""

# pyright: reportReturnType=none
# (a method of a protocol has no body)
from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from mulligan.domain.plans.event import Event
    from mulligan.domain.text.ids import PlanId

_Item = TypeVar("_Item")


class Clock(Protocol):
    """The current time."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""


class Ids(Protocol):
    """The source of new ids."""

    def new(self) -> str:
        """A ULID, greater than every one given before by this process."""


class Observer(Protocol):
    """An observer of a running operation; it must be quick and must not raise.

    Plans that run beside each other call it from several threads.
    """

    def event(self, event: Event) -> None:
        """Something was recorded."""

    def output(self, plan_id: PlanId, data: bytes) -> None:
        """A tool of that plan printed something."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on: files, bytes or objects; `total` is None where it is not known."""


def one_by_one(items: Sequence[_Item], what: str, observer: Observer) -> Iterator[_Item]:
    """Yield each item, and report to the observer how many are done."""
    for number, item in enumerate(items):
        observer.progress(what, number, len(items))
        yield item
    observer.progress(what, len(items), len(items))
