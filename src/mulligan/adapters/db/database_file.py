"""The file that holds the database of a project, brought up to date when it is opened."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.rows.database import Database
from mulligan.rows.place_codec import ABSOLUTE

if TYPE_CHECKING:
    from pathlib import Path

    from mulligan.rows.place_codec import Places

NEWEST_VERSION = 19  # of the files in migrations/; opening a database of today reads none of them

_HAS_VERSION = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
_WITH_HOSTS = 17
_KNOWS_FOLDERS = "SELECT 1 FROM pragma_table_info('hosts') WHERE name = 'folder'"
_VERSION = "SELECT version FROM schema_version"


def sqlite_database(path: Path, places: Places = ABSOLUTE) -> Database:
    """Return the database in that file, which is opened when it is first needed.

    Paths in its rows are relative to the places.
    """
    return Database(partial(open_sqlite, path), places)


def open_sqlite(path: Path) -> SqliteConnection:
    """Open the file, which is created or migrated if it has to be."""
    connection = SqliteConnection(path)
    try:
        found = version_of(connection)
        if found != NEWEST_VERSION or not is_whole(connection, found):
            from mulligan.adapters.db.migration import migrate, packaged_migrations

            migrate(connection, packaged_migrations())
    except BaseException:
        connection.close()
        raise
    return connection


def version_of(connection: SqliteConnection) -> int:
    """Return the schema version of a database; 0 for an empty one."""
    if connection.row(_HAS_VERSION) is None:
        return 0
    row = connection.row(_VERSION)
    return int(row["version"]) if row else 0


def is_whole(connection: SqliteConnection, version: int) -> bool:
    """Return whether a database has all that its version has now: the one with hosts had two forms."""
    return version != _WITH_HOSTS or connection.row(_KNOWS_FOLDERS) is not None
