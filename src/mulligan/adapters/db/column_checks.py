"""Values that do not fit their columns: SQLite stores any type in any column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mulligan.adapters.db.connection import SqliteConnection

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
_LARGEST = 1 << 53  # what every reader of JSON holds exactly; nothing here is counted so far
_TEXT = "typeof({0}) = 'text'"
_BYTES = "typeof({0}) = 'blob'"
_NUMBER = f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN 0 AND {_LARGEST}"
_DOCUMENT = "typeof({0}) = 'text' AND json_valid({0})"
_LISTS = (
    *(
        "messages_json",
        "conflicts_json",
        "alternatives_json",
        "excluded_json",
        "patterns_json",
        "hidden_json",
        "moving_json",
    ),
    *("superseded_decisions_json", "cancelled_child_plans_json"),
)
_ANYTHING = ("output_json", "value_json")


def misfits(connection: SqliteConnection) -> Iterator[str]:
    """List the columns that hold values of a wrong type, with how many rows have one."""
    for (table,) in connection.rows(_TABLES):
        for column in connection.rows(f"PRAGMA table_info({table})"):
            name, sound = column["name"], _sound(column["name"], column["type"])
            allowed = sound if column["notnull"] or column["pk"] else f"{name} IS NULL OR {sound}"
            question = f"SELECT COUNT(*) FROM {table} WHERE NOT ({allowed.format(name)})"  # noqa: S608 - our own names
            row = connection.row(question)
            if row and row[0]:
                rows = counted(row[0], "row has", "rows have")
                yield f"of {table} {rows} nonsense for {name}"


def _sound(name: str, type: str) -> str:
    """Return the condition on a column's values, in SQL."""
    if not name.endswith("_json"):
        return _NUMBER if "INT" in type else _BYTES if type == "BLOB" else _TEXT
    if name in _ANYTHING:
        return _DOCUMENT
    return f"{_DOCUMENT} AND json_type({{0}}) = '{'array' if name in _LISTS else 'object'}'"
