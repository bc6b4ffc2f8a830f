"""A database of any earlier version is brought up to date by opening it; a newer one is refused."""

import sqlite3
from pathlib import Path

import pytest

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.adapters.db.database_file import NEWEST_VERSION, sqlite_database, version_of
from mulligan.adapters.db.migration import Migration, migrate, packaged_migrations
from mulligan.errors import DatabaseTooNew, DatabaseUnusable
from tests.unit.examples import a_plan

TABLES = {
    "plans",
    "steps",
    "tool_calls",
    "decisions",
    "checkpoint_groups",
    "checkpoints",
    "intents",
    "events",
    "sandboxes",
    "lines",
    "outputs",
    "corrections",
    "earlier_definitions",
}


def tables(file: Path) -> set[str]:
    rows = sqlite3.connect(file).execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name for (name,) in rows}


def schema(file: Path) -> set[str]:
    rows = sqlite3.connect(file).execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {sql for (sql,) in rows}


def test_the_code_is_written_for_the_newest_file() -> None:
    versions = [m.version for m in packaged_migrations()]
    assert versions == list(range(1, NEWEST_VERSION + 1))


def test_opening_makes_every_table(tmp_path: Path) -> None:
    with sqlite_database(tmp_path / "new.db").reading():
        pass
    assert tables(tmp_path / "new.db") >= TABLES


@pytest.mark.parametrize("version", range(NEWEST_VERSION + 1))
def test_every_earlier_version_ends_in_the_same_schema(tmp_path: Path, version: int) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    connection = SqliteConnection(old)
    if version:
        migrate(connection, packaged_migrations()[:version])
    connection.close()
    for file in (old, new):
        database = sqlite_database(file)
        with database.writing() as db:
            db.plans.add(a_plan())
        database.close()
    assert schema(old) == schema(new)


SECOND = Migration(
    NEWEST_VERSION + 1, "-- one more; with a comment\nALTER TABLE plans ADD COLUMN colour TEXT;\n"
)


def a_database_with_a_plan(file: Path) -> None:
    database = sqlite_database(file)
    with database.writing() as db:
        db.plans.add(a_plan())
    database.close()


def test_rows_survive_and_a_copy_of_the_old_database_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "mulligan.db"
    a_database_with_a_plan(file)
    connection = SqliteConnection(file)
    migrate(connection, [*packaged_migrations(), SECOND])
    assert version_of(connection) == SECOND.version
    connection.close()
    assert sqlite3.connect(file).execute("SELECT name, colour FROM plans").fetchall() == [("upgrade", None)]
    copy = sqlite3.connect(f"{file}.v{NEWEST_VERSION}")
    assert copy.execute("SELECT name FROM plans").fetchall() == [("upgrade",)]
    assert copy.execute("SELECT version FROM schema_version").fetchall() == [(NEWEST_VERSION,)]


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "mulligan.db"
    a_database_with_a_plan(file)
    before = schema(file)
    broken = Migration(SECOND.version, SECOND.text + "CREATE TABLE plans (again TEXT);\n")
    connection = SqliteConnection(file)
    with pytest.raises(DatabaseUnusable, match="already exists"):
        migrate(connection, [*packaged_migrations(), broken])
    assert version_of(connection) == NEWEST_VERSION
    connection.close()
    assert schema(file) == before


def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "mulligan.db"
    a_database_with_a_plan(file)
    connection = SqliteConnection(file)
    migrate(connection, [*packaged_migrations(), SECOND])
    connection.close()
    before = file.read_bytes()
    with pytest.raises(DatabaseTooNew) as refusal, sqlite_database(file).reading():
        pass
    assert refusal.value.exit_code == 3
    assert "newer mulligan" in refusal.value.next_step
    assert file.read_bytes() == before


def test_two_processes_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    first, second = SqliteConnection(tmp_path / "a.db"), SqliteConnection(tmp_path / "a.db")
    migrate(first, packaged_migrations())
    migrate(second, packaged_migrations())
    assert version_of(second) == NEWEST_VERSION
