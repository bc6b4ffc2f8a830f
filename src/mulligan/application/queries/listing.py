"""A list of which only the newest may be shown, and which says how many it left out."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, overload

_Item = TypeVar("_Item")


class Listing(Sequence[_Item]):
    """The newest of something, oldest of them first."""

    def __init__(self, items: Iterable[_Item], *, older: int) -> None:
        """Hold these; `older` are there besides and were not asked for."""
        self._items = tuple(items)
        self.older = older

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        """One of them, or some."""
        return self._items[index]

    def __len__(self) -> int:
        """How many are here."""
        return len(self._items)
