"""The base of all repositories."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.rows.sql_connection import SqlConnection, Value


class RowRepository:
    """Rows of one kind, reached through the open transaction of a connection."""

    def __init__(self, connection: SqlConnection) -> None:
        self._db = connection

    def _count(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Return the column `count` of the first row; 0 without a row."""
        row = self._db.row(statement, values)
        return int(row["count"]) if row else 0
