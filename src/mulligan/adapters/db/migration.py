"""Numbered migrations, run automatically when a database of an earlier version is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.adapters.db.database_file import is_whole, version_of
from mulligan.adapters.db.relative_paths import make_paths_relative
from mulligan.boundaries import act
from mulligan.domain.plans.handle import HandleSupply
from mulligan.errors import DatabaseTooNew, DatabaseUnusable
from mulligan.osfiles.folders import sync_folder

if TYPE_CHECKING:
    from mulligan.adapters.db.connection import SqliteConnection

_WITH_HANDLES = 9
_WITH_RELATIVE_PATHS = 11
_VERSION_TABLE = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL)"


# What the first form of the migration with hosts lacked. No program of then put a host into a file.
_REST_OF_HOSTS = """
DROP TABLE hosts;
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    home TEXT NOT NULL, -- the project home on it
    folder TEXT NOT NULL -- the project folder on it
);
ALTER TABLE intents ADD COLUMN host TEXT;
ALTER TABLE sandboxes ADD COLUMN real_host TEXT;
ALTER TABLE real_changes ADD COLUMN real_host TEXT;
"""


class Migration(Struct, frozen=True):
    """One step from a version of the schema to the next."""

    version: int
    text: str


def packaged_migrations() -> tuple[Migration, ...]:
    """The migrations that come with this version, in order."""
    folder = resources.files("mulligan.adapters.db") / "migrations"
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(Migration(int(name[:4]), (folder / name).read_text("utf-8")) for name in files)


def migrate(connection: SqliteConnection, migrations: Sequence[Migration]) -> None:
    """Bring the database to the newest version, in one transaction, with a copy kept of an older one."""
    known = migrations[-1].version
    found = version_of(connection)
    if found > known:
        raise DatabaseTooNew(database=str(connection.path), found=found, known=known)
    if found == known and is_whole(connection, found):
        return
    if found:
        _keep_copy(connection, found)
    with connection.transaction(write=True):
        connection.execute(_VERSION_TABLE)
        found = version_of(connection)  # another process may have been faster
        if not is_whole(connection, found):
            connection.script(_REST_OF_HOSTS)
        for migration in migrations:
            if migration.version > found:
                connection.script(migration.text)
                if migration.version == _WITH_HANDLES:
                    _make_handles(connection)
                if migration.version == _WITH_RELATIVE_PATHS:
                    make_paths_relative(connection)
        connection.execute("DELETE FROM schema_version")
        connection.execute("INSERT INTO schema_version (version) VALUES (?)", (max(found, known),))


def _make_handles(connection: SqliteConnection) -> None:
    """Give each plan its handle, in the order in which they were made: parents come before their children."""
    handles: dict[str, str] = {}
    supply = HandleSupply()
    for row in connection.rows("SELECT plan_id, parent_plan_id, name FROM plans ORDER BY ordinal"):
        handle = supply.next_for(row["name"], handles.get(row["parent_plan_id"]))
        handles[row["plan_id"]] = handle
        connection.execute("UPDATE plans SET handle = ? WHERE plan_id = ?", (handle, row["plan_id"]))


def _keep_copy(connection: SqliteConnection, version: int) -> None:
    copy = Path(f"{connection.path}.v{version}")
    unfinished = Path(f"{copy}.part")
    unfinished.unlink(missing_ok=True)
    connection.copy_to(unfinished)
    try:
        with act("rows.copy"), unfinished.open("rb") as file:
            os.fsync(file.fileno())
            unfinished.rename(copy)
            sync_folder(copy.parent)  # the copy is there for good before the first table is changed
    except OSError as exc:
        raise DatabaseUnusable(database=str(connection.path), reason=exc.strerror or str(exc)) from exc
