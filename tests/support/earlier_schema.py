"""A database as a version before made it: what later migrations added is gone, its rows stay."""

import sqlite3
from contextlib import closing

from mulligan.adapters.db.migration import packaged_migrations


def as_version(database: sqlite3.Connection, version: int) -> None:
    """Drop the tables, indexes and columns that came after a version."""
    with closing(sqlite3.connect(":memory:")) as earlier:
        for migration in packaged_migrations():
            if migration.version <= version:
                earlier.executescript(migration.text)
        for kind in ("index", "table"):
            for name in _names(database, kind) - _names(earlier, kind) - {"schema_version"}:
                database.execute(f"DROP {kind} {name}")
        for table in _names(earlier, "table"):
            for column in _columns(database, table) - _columns(earlier, table):
                database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
    database.execute("UPDATE schema_version SET version = ?", (version,))


def _names(database: sqlite3.Connection, kind: str) -> set[str]:
    found = database.execute(
        "SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite_%'", (kind,)
    )
    return {str(name) for (name,) in found}


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {str(row[1]) for row in database.execute(f"PRAGMA table_info({table})")}
