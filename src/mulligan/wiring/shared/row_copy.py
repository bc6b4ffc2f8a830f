"""All rows of a project, copied from one database into another of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.errors import ArchiveDamaged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mulligan.rows.sql_connection import SqlConnection, Value

# Others refer to the rows of these; a row of two of them may refer to another one of its own table.
_FIRST = ("plans", "decisions", "checkpoint_groups")
_OF_ITS_KIND = {"plans": ("plan_id", "parent_plan_id"), "decisions": ("decision_id", "parent_decision_id")}
# What only one database needs: its version, and in a server who works with which packs and what waits for a worker.
_LEFT_OUT = {
    *("schema_version", "deployment", "commits", "claims", "store", "packs", "removed_packs", "hosts"),
    *("queues", "submissions", "workers"),
}
_HOSTS = ("host", "real_host")
_REAL = {
    "sandboxes": "strategy = 'in_place' AND host IS NOT NULL AND host <> ?",
    "real_changes": "host IS NOT NULL AND host <> ?",
    "intents": "kind <> 'sandbox' AND host IS NOT NULL AND host <> ?",
}


def copy_rows(source: SqlConnection, target: SqlConnection, *, here: str | None, host: str | None) -> int:
    """Replace the rows of a database by those of another one; return their number.

    `here` is the machine whose real things are copied, None where there is one only; to `host` they belong in the
    copy. Both connections are in a transaction.
    """
    known, wanted = source.columns(), target.columns()
    names = [name for name in wanted if name in known and name not in _LEFT_OUT]
    tables = [*_FIRST, *sorted(set(names).difference(_FIRST))]
    for table in reversed(tables):
        target.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
    return sum(_copy_table(source, target, table, wanted[table], here=here, host=host) for table in tables)


def count_rows(connection: SqlConnection) -> int:
    """Return how many rows a project has."""
    tables = [name for name in connection.columns() if name not in _LEFT_OUT]
    counts = (connection.row(f"SELECT COUNT(*) AS count FROM {table}") for table in tables)  # noqa: S608 - our own names
    return sum(int(row["count"]) for row in counts if row is not None)


def refuse_uneven(connection: SqlConnection, copied: int, file: str) -> None:
    """Refuse a copy that does not have all rows."""
    if (found := count_rows(connection)) != copied:
        raise ArchiveDamaged(file=file, reason=f"it has {copied} rows, and its copy {found}")


def _copy_table(
    source: SqlConnection,
    target: SqlConnection,
    table: str,
    columns: Sequence[str],
    *,
    here: str | None,
    host: str | None,
) -> int:
    key, own = _OF_ITS_KIND.get(table, ("", ""))
    there = source.columns()[table]
    listed = ", ".join(columns)
    asked = ", ".join(column if column in there else f"NULL AS {column}" for column in columns)
    elsewhere = _REAL.get(table) if here is not None else None
    where, values = (f" WHERE NOT ({elsewhere})", (here,)) if elsewhere else ("", ())
    marks = ", ".join("?" * len(columns))
    insertion = f"INSERT INTO {table} ({listed}) VALUES ({marks})"  # noqa: S608 - our own names
    later: list[tuple[Value, Value]] = []
    count = 0
    for row in source.each(f"SELECT {asked} FROM {table}{where}", values):  # noqa: S608 - our own names
        found: Mapping[str, Value] = {column: row[column] for column in columns}
        if own and found[own] is not None:
            later.append((found[own], found[key]))
            found = {**found, own: None}
        if _HOSTS[0] in columns:
            found = {**found, **{name: host for name in _HOSTS if name in columns}}
        target.execute(insertion, tuple(found[column] for column in columns))
        count += 1
    for parent, child in later:
        target.execute(f"UPDATE {table} SET {own} = ? WHERE {key} = ?", (parent, child))  # noqa: S608 - our own names
    return count
