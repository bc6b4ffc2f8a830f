"""The schema version of a database, and the one that this version of mulligan needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mulligan.adapters.db.connection import SqliteConnection

NEWEST_VERSION = 8  # of the files in migrations/; opening a database of today reads none of them

_HAS_VERSION = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
_VERSION = "SELECT version FROM schema_version"


def version_of(connection: SqliteConnection) -> int:
    """The schema version of a database; 0 for an empty one."""
    if connection.row(_HAS_VERSION) is None:
        return 0
    row = connection.row(_VERSION)
    return int(row["version"]) if row else 0
