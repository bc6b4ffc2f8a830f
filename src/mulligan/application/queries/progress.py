"""Telling how far long work is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mulligan.ports import Observer

_Item = TypeVar("_Item")


def one_by_one(items: Sequence[_Item], what: str, observer: Observer) -> Iterator[_Item]:
    """Each in turn; before it, and after the last, it is told how many are done."""
    for number, item in enumerate(items):
        observer.progress(what, number, len(items))
        yield item
    observer.progress(what, len(items), len(items))
