"""A list that may hold only the newest items, with the number of omitted ones."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, overload

_Item = TypeVar("_Item")


class Listing(Sequence[_Item]):
    """The newest items, oldest first; `older` ones were omitted."""

    def __init__(self, items: Iterable[_Item], *, older: int) -> None:
        self._items = tuple(items)
        self.older = older

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Item]: ...
    def __getitem__(self, index: int | slice) -> _Item | Sequence[_Item]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)
