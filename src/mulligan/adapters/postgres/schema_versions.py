"""The schema of a project in PostgreSQL: made by `init`, brought to another version by `database upgrade` alone.

Machines are upgraded one after the other: an ordinary command changes no table that others use, and refuses a schema
that is not the one it knows.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.sql import SQL, Identifier

from mulligan import errors
from mulligan.adapters.postgres.driver_errors import unusable
from mulligan.adapters.postgres.postgres_connection import PostgresConnection

if TYPE_CHECKING:
    from collections.abc import Generator

    from mulligan.adapters.postgres.server_address import ServerAddress

NEWEST_VERSION = 5  # of the files in migrations/; opening a database of today reads none of them
_HOSTS = 3  # the version that records which machine has what
_OF_ONE_HOST = (
    "UPDATE sandboxes SET host = %(host)s, real_host = %(host)s",
    "UPDATE real_changes SET host = %(host)s, real_host = %(host)s",
    "UPDATE intents SET host = %(host)s",
)
_STATE = "SELECT version, id FROM schema_version, deployment"
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('mulligan schema ' || %s, 0))"
_IS_THERE = "SELECT to_regclass('schema_version') IS NOT NULL"
_OLDEST_SERVER = (
    140000  # the first with idle_session_timeout, which ends the claims of a machine that is cut off
)


def open_postgres(address: ServerAddress) -> PostgresConnection:
    """Open a project's database; refuse one of another version, and that of another project where the id is known."""
    connection = PostgresConnection(address)
    try:
        state = connection.row(_STATE) if _is_made(connection) else None
        if state is None:
            _refuse_pooler(connection, address)
        refuse_version(address, state["version"] if state else 0)
        if state and address.project is not None and state["id"] != address.project:
            raise errors.DatabaseOfAnotherProject(database=address.shown)
    except BaseException:
        connection.close()
        raise
    return connection


def refuse_version(address: ServerAddress, found: int) -> None:
    """Refuse a schema of another version than that of this program."""
    facts = {"database": address.shown, "found": found, "known": NEWEST_VERSION}
    if found == 0:
        raise errors.DatabaseNotMade(database=address.shown)
    if found < NEWEST_VERSION:
        raise errors.DatabaseTooOld(**facts)
    if found > NEWEST_VERSION:
        raise errors.DatabaseTooNew(**facts)


def project_in(address: ServerAddress) -> str | None:
    """Return the id of the project that the database holds; None for none."""
    with _alone(address) as raw:
        return _state(raw)[1] if _version(raw) else None


def make_schema(address: ServerAddress, project: str) -> str:
    """Make the tables of a project; return the id in them, which is another one where the tables were there."""
    with _alone(address) as raw:
        if _version(raw) == 0:
            raw.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(address.schema)))
            _migrate(raw, 0)
            raw.execute("INSERT INTO deployment (id) VALUES (%s)", (project,))
        version, found = _state(raw)
    refuse_version(address, version)
    return found


def upgrade_schema(address: ServerAddress, host: str) -> tuple[int, int]:
    """Bring the tables to the version of this program; return the version that was there, and the one that is.

    Until tables knew machines, one alone used them: `host`.
    """
    with _alone(address) as raw:
        found = _version(raw)
        if found == 0 or found > NEWEST_VERSION:
            refuse_version(address, found)
        _migrate(raw, found)
        if found < _HOSTS:
            for statement in _OF_ONE_HOST:
                raw.execute(statement, {"host": host})
    return found, NEWEST_VERSION


@contextmanager
def _alone(address: ServerAddress) -> Generator[psycopg.Connection[Any]]:
    """Change the schema in one transaction, which no other process does meanwhile."""
    try:
        with closing(address.connect_for_rows("mulligan schema")) as raw:
            _refuse_server(address, raw)
            with raw.transaction():
                raw.execute(_ALONE, (address.schema,))
                yield raw
    except psycopg.Error as exc:
        raise unusable(address.shown, exc) from exc


def _refuse_server(address: ServerAddress, raw: psycopg.Connection[Any]) -> None:
    encoding = raw.info.parameter_status("server_encoding")
    if raw.info.server_version < _OLDEST_SERVER:
        reason = f"the server is PostgreSQL {raw.info.server_version // 10_000}"
        raise errors.DatabaseUnusable(
            database=address.shown, reason=reason, hint="use a server of version 14 or newer"
        )
    if encoding != "UTF8":
        hint = "make another one: `createdb --encoding=UTF8 --template=template0 NAME`"
        raise errors.DatabaseUnusable(
            database=address.shown, reason=f"its encoding is {encoding}, not UTF8", hint=hint
        )


def _is_made(connection: PostgresConnection) -> bool:
    row = connection.row("SELECT to_regclass('schema_version') IS NOT NULL AS made")
    return row is not None and bool(row["made"])


def _refuse_pooler(connection: PostgresConnection, address: ServerAddress) -> None:
    """Refuse a pooler that dropped the settings of the connection, so that other tables are looked at."""
    row = connection.row("SELECT current_setting('search_path') AS path")
    if row is not None and row["path"] != address.schema:
        raise errors.PoolerInTheWay(database=address.shown)


def _version(raw: psycopg.Connection[Any]) -> int:
    return _state(raw)[0] if raw.execute(_IS_THERE).fetchall()[0][0] else 0


def _state(raw: psycopg.Connection[Any]) -> tuple[int, str]:
    version, deployment = raw.execute(_STATE).fetchall()[0]
    return int(version), str(deployment)


def _migrate(raw: psycopg.Connection[Any], found: int) -> None:
    """Run the migrations that are missing, inside the transaction that is open."""
    for version, text in packaged_migrations():
        if version > found:
            raw.execute(text.encode())  # without values: several statements in one call
    raw.execute("DELETE FROM schema_version")
    raw.execute("INSERT INTO schema_version (version) VALUES (%s)", (NEWEST_VERSION,))


def packaged_migrations() -> list[tuple[int, str]]:
    """Return the migrations in the order of their numbers."""
    folder = resources.files("mulligan.adapters.postgres") / "migrations"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name
    )
    return [(int(file.name[:4]), file.read_text("utf-8")) for file in files]
