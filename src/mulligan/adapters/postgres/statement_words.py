"""Statements in the words of the driver, and rows that are read by name."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from psycopg import Cursor

_MARKS = re.compile(r"'(?:[^']|'')*'|\?|%")


@lru_cache(maxsize=1024)
def translated(statement: str) -> bytes:
    """Return a statement whose values are marked as the driver wants: `?` outside of quotes is `%s` there."""
    return _MARKS.sub(_in_words_of_driver, statement).encode()


def _in_words_of_driver(found: re.Match[str]) -> str:
    return "%s" if found[0] == "?" else found[0].replace("%", "%%")


class NamedRow(tuple[Any, ...]):
    """One row, by the names of its columns or by their positions."""

    __slots__ = ()
    positions: ClassVar[dict[str, int]] = {}

    def __getitem__(self, column: Any) -> Any:
        return super().__getitem__(self.positions[column] if isinstance(column, str) else column)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.positions)


@lru_cache(maxsize=1024)
def _row_type(names: tuple[str, ...]) -> type[NamedRow]:
    positions = {name: position for position, name in enumerate(names)}
    return type("Row", (NamedRow,), {"__slots__": (), "positions": positions})


def named_rows(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], NamedRow]:
    """Return what makes a row of the values that the server sent."""
    columns = cursor.description
    return NamedRow if columns is None else _row_type(tuple(column.name for column in columns))
