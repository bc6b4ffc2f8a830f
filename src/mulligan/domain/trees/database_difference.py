"""The difference between two states of a database: its tables, and the rows that came and went."""

from collections.abc import Sequence

from msgspec import Struct


class TableDifference(Struct, frozen=True, kw_only=True):
    """One table; None for a number of rows: there is no such table on that side."""

    name: str
    columns: tuple[str, ...]
    columns_changed: bool
    rows_before: int | None
    rows_after: int | None
    came: tuple[Sequence[str], ...]  # the first rows that only the newer side has
    went: tuple[Sequence[str], ...]
    more: bool  # there are more of them

    @property
    def differs(self) -> bool:
        """Return whether anything of it does."""
        return self.columns_changed or self.rows_before != self.rows_after or bool(self.came or self.went)


class DatabaseDifference(Struct, frozen=True, kw_only=True):
    """All tables, by their names, and why they are not all."""

    tables: tuple[TableDifference, ...]
    problem: str | None
