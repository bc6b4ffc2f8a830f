"""The base of all repositories."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from mulligan.domain.text.ids import as_id_prefix
from mulligan.rows.place_codec import ABSOLUTE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mulligan.errors import MulliganError
    from mulligan.rows.place_codec import Places
    from mulligan.rows.sql_connection import Row, SqlConnection, Value


@cache
def _insertion(table: str, *columns: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names


@cache
def _change(table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    changed = ", ".join(f"{name} = ?" for name in columns)
    wanted = " AND ".join(f"{name} = ?" for name in key)
    return f"UPDATE {table} SET {changed} WHERE {wanted}"  # noqa: S608 - our own names


class RowRepository:
    """Rows of one kind, reached through the open transaction of a connection."""

    def __init__(self, connection: SqlConnection, places: Places = ABSOLUTE) -> None:
        """Take the connection, and the folders that paths in its rows are relative to."""
        self._db = connection
        self._places = places

    def _insert(self, table: str, columns: Mapping[str, Value]) -> None:
        self._db.execute(_insertion(table, *columns), tuple(columns.values()))

    def _update(self, table: str, columns: Mapping[str, Value], **key: Value) -> None:
        """Change these columns of the rows that have all of the key."""
        statement = _change(table, tuple(columns), tuple(key))
        self._db.execute(statement, (*columns.values(), *key.values()))

    def _count(self, statement: str, values: Sequence[Value] = ()) -> int:
        """Return the column `count` of the first row; 0 without a row."""
        row = self._db.row(statement, values)
        return int(row["count"]) if row else 0

    def _by_prefix(self, table: str, column: str, word: str, not_found: type[MulliganError]) -> Row:
        """Return the row that an id or a unique prefix of one means; else `not_found` or Ambiguous."""
        prefix = as_id_prefix(word)
        statement = f"SELECT * FROM {table} WHERE {column} LIKE ? ORDER BY {column} LIMIT 10"  # noqa: S608 - our own names
        rows = self._db.rows(statement, (f"{prefix}%",)) if prefix else ()
        if not rows:
            from mulligan.rows.id_hints import hint_of_other_kind

            raise not_found(wanted=word, **hint_of_other_kind(self._db, word))
        if len(rows) > 1:
            from mulligan.errors import Ambiguous

            raise Ambiguous(
                wanted=word,
                count=f"several {table}",
                candidates=", ".join(row[column] for row in rows),
                hint="name one with more characters of its id",
            )
        return rows[0]
