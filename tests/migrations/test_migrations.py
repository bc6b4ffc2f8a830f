"""A database of any earlier version is brought up to date by opening it; a newer one is refused."""

import hashlib
import json
import sqlite3
from pathlib import Path

import pytest

from mulligan.adapters.db.connection import SqliteConnection
from mulligan.adapters.db.database_file import NEWEST_VERSION, sqlite_database, version_of
from mulligan.adapters.db.migration import Migration, migrate, packaged_migrations
from mulligan.errors import DatabaseTooNew, DatabaseUnusable
from mulligan.rows.place_codec import Places
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
    "entries",
    "counters",
    "agent_sessions",
    "agent_moments",
    "graph_states",
    "graph_writes",
    "graph_positions",
    "hosts",
}


# Of each migration, its SHA-256: databases of these versions exist, so a change of the schema is a new file.
FROZEN = [
    "5945f37221097eb12b8f02cfd2b974fe3e8c43361a834adf86c8222b4f6d23bb",
    "21ad830003dfdf6474d8a85b1058431cb98994a6ee9f97a46e054f68ab7dfcdd",
    "66e264bbee99f0f23f660d153c44d82f2f858229378a4780693bace4b019aa8e",
    "c6751e0fbf7ebf513aab24b8b8dd4a188f15072d2a48c46183a8a5be0d7b2766",
    "2a7b638a88511a2a9b067a56bd191d477ab196ca8dbf16dfaa51392ae8730233",
    "c7b96579c9f8d9019a17bebe5d63569433fd1ae9da5f57a1777c26dde307169d",
    "004912434c375638371b1e5d15ef9b8288189bf70addf2f21f4f03af484d2f8b",
    "55b6874ebaf6f61ebaf601fc2df6b2c489dc65f18e179bb0942d0f9b37bbdc53",
    "7035a8e163b51ed3c3522d4ed49fd045652e2beb22da19bd641cda4f9c940b10",
    "c7632cd2b130838a358f9f68b0af1c215a1c6efd8c88513a6b31fe98a8136d8c",
    "60c655646c7d04f0e4aec9970edb30aa1b194c3a8c399ef44879f92477c35b6a",
    "c7a6c7006073985ebb696cde66d759ccf012d308db3b8654965c3944153c1a3a",
    "99ae6b999bc111c3c0ce2314e5f55ce4655c3def78c2272a413bb59cea54684d",
    "099418899d8451fe28dc5701dc4f8e6e7b714fc850cbdd2f97c85b3440dcec00",
    "041053fc60229103874dee42fdbcd24484647acca476b4b048b58ba7c691f96f",
    "2a50c8cb5e092884d4d7a03cf87dd25186d51d193447e54eeb0ecbe709923e27",
    "2b9a9e1dbabc5549032832a1e1545feec3a9a8df5980830896438c4556e3172d",
    "837b7cd096e8eadcc79c06fbcb026537c341cdab9134b4fbfe0d48e4389c9c80",
    "bd71d5cc31935975d8e80868933188c83db704dc8c9ea97a2698611f6f092ba1",
]


def tables(file: Path) -> set[str]:
    rows = sqlite3.connect(file).execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name for (name,) in rows}


def schema(file: Path) -> set[str]:
    rows = sqlite3.connect(file).execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {sql for (sql,) in rows}


def test_the_code_is_written_for_the_newest_file() -> None:
    versions = [m.version for m in packaged_migrations()]
    assert versions == list(range(1, NEWEST_VERSION + 1))


def test_no_migration_is_changed_once_it_is_there() -> None:
    assert [hashlib.sha256(m.text.encode()).hexdigest() for m in packaged_migrations()] == FROZEN


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


# The seventeenth as it was at first: databases of it exist too.
FIRST_HOSTS = """
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    home TEXT NOT NULL -- the project home on it
);
ALTER TABLE sandboxes ADD COLUMN host TEXT;
ALTER TABLE real_changes ADD COLUMN host TEXT;
"""


def test_a_database_of_the_first_form_of_hosts_ends_in_the_same_schema(tmp_path: Path) -> None:
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    connection = SqliteConnection(old)
    migrate(connection, (*packaged_migrations()[:16], Migration(17, FIRST_HOSTS)))
    connection.close()
    for file in (old, new):
        a_database_with_a_plan(file)
    assert schema(old) == schema(new)
    assert (tmp_path / "old.db.v17").is_file()


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
    with pytest.raises(DatabaseUnusable, match="already exists") as failure:
        migrate(connection, [*packaged_migrations(), broken])
    assert "disk" not in failure.value.next_step
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


def insert(connection: SqliteConnection, table: str, **values: str | int | None) -> None:
    """Add a row; columns that are not named hold what costs nothing."""
    for column in connection.rows(f"PRAGMA table_info({table})"):
        if column["notnull"] and column["dflt_value"] is None:
            values.setdefault(column["name"], 0 if "INT" in column["type"] else "[]")
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def test_plans_of_before_get_handles_and_their_groups_numbers(tmp_path: Path) -> None:
    connection = SqliteConnection(tmp_path / "mulligan.db")
    migrate(connection, packaged_migrations()[:8])
    plans = [("p1", "Tune it", None), ("p2", "docs", "p1"), ("p3", "Tune it", None), ("p4", "latest", None)]
    with connection.transaction(write=True):
        for ordinal, (plan_id, name, parent) in enumerate(plans):
            insert(connection, "plans", plan_id=plan_id, name=name, parent_plan_id=parent, ordinal=ordinal)
        for group_id, plan_id, seq in (("g3", "p1", 9), ("g1", "p1", 2), ("g2", "p1", 5), ("g4", "p3", 7)):
            insert(connection, "checkpoint_groups", group_id=group_id, plan_id=plan_id, seq=seq)
    migrate(connection, packaged_migrations())
    found = connection.rows("SELECT plan_id, handle, groups FROM plans ORDER BY ordinal")
    assert [tuple(row) for row in found] == [
        ("p1", "tune-it", 3),
        ("p2", "tune-it.docs", 0),
        ("p3", "tune-it-2", 1),
        ("p4", "latest-2", 0),
    ]
    numbered = connection.rows("SELECT group_id, number FROM checkpoint_groups ORDER BY group_id")
    assert [tuple(row) for row in numbered] == [("g1", 1), ("g2", 2), ("g3", 3), ("g4", 1)]
    connection.close()


def fill_project_of_before(connection: SqliteConnection) -> None:
    """Add what the version with handles wrote: a plan in place, one that was applied, and one that failed."""
    folder, home = "/was/here", "/was/here/.mulligan"
    definition = json.dumps({"resources": [{"name": "site", "location": "site"}]})
    with connection.transaction(write=True):
        for ordinal, (plan_id, phase, state) in enumerate(
            [("p1", "execute", "complete"), ("p2", "apply", "applied"), ("p3", "execute", "failed")]
        ):
            insert(
                connection,
                "plans",
                plan_id=plan_id,
                name=f"name {plan_id}",
                handle=plan_id,
                ordinal=ordinal,
                phase=phase,
                state=state,
                steps_total=1,
                seq=10,
                updated_at=f"2026-01-0{ordinal + 1}T09",
            )
            insert(connection, "definitions", plan_id=plan_id, definition_json=definition)
            status = "failed" if state == "failed" else "done"
            insert(connection, "steps", plan_id=plan_id, step_index=0, name=f"step {plan_id}", status=status)
            in_place = plan_id == "p1"
            path = f"{folder}/site" if in_place else f"{home}/sandboxes/{plan_id}/site"
            git_dir = f"{home}/git/{plan_id}/site" if in_place else None
            where = {"plan_id": plan_id, "resource": "site", "location": f"{folder}/site", "path": path}
            strategy = "in_place" if in_place else "filesystem_copy"
            insert(connection, "sandboxes", **where, git_dir=git_dir, strategy=strategy, type="fs-directory")
            for seq in (1, 2):
                group_id = f"{plan_id}g{seq}"
                insert(
                    connection,
                    "checkpoint_groups",
                    group_id=group_id,
                    plan_id=plan_id,
                    seq=seq,
                    number=seq,
                    step_index=0 if state == "failed" else seq - 1,
                    between_steps=1,
                    superseded=0,
                    created_at=f"2026-01-0{ordinal + 1}T0{seq}",
                )
                insert(
                    connection,
                    "checkpoints",
                    checkpoint_id=f"{group_id}c",
                    group_id=group_id,
                    plan_id=plan_id,
                    resource="site",
                    filesystem_path=path,
                )
        real = {"location": f"{folder}/site", "path": f"{folder}/site", "git_dir": f"{home}/git/p2/site"}
        insert(connection, "real_changes", plan_id="p2", act="apply", resource="site", **real)


@pytest.mark.parametrize("version", range(9, NEWEST_VERSION))
def test_rows_of_before_have_relative_paths_and_a_timeline(tmp_path: Path, version: int) -> None:
    """All later migrations run in one transaction, whichever is the first of them."""
    connection = SqliteConnection(tmp_path / "mulligan.db")
    migrate(connection, packaged_migrations()[:9])
    fill_project_of_before(connection)
    migrate(connection, packaged_migrations()[:version])
    migrate(connection, packaged_migrations())

    def found(statement: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in connection.rows(statement)]

    assert found("SELECT plan_id, location, path, git_dir FROM sandboxes ORDER BY plan_id") == [
        ("p1", "project:site", "project:site", "home:git/p1/site"),
        ("p2", "project:site", "home:sandboxes/p2/site", None),
        ("p3", "project:site", "home:sandboxes/p3/site", None),
    ]
    assert found("SELECT location, path, git_dir, patterns_json, theirs_snapshot FROM real_changes") == [
        ("project:site", "project:site", "home:git/p2/site", "[]", None)
    ]
    assert found("SELECT DISTINCT plan_id, filesystem_path FROM checkpoints ORDER BY plan_id") == [
        ("p1", "project:site"),
        ("p2", "home:sandboxes/p2/site"),
        ("p3", "home:sandboxes/p3/site"),
    ]
    entries = "SELECT number, plan_id, kind, title, step_index, seq, before_group, after_group FROM entries"
    assert found(f"{entries} ORDER BY number") == [
        (1, "p1", "step", "step p1", 0, 2, "p1g1", "p1g2"),
        (2, "p2", "step", "step p2", 0, 2, "p2g1", "p2g2"),
        (3, "p2", "apply", "name p2", None, 10, None, None),
    ]
    assert found("SELECT name, used FROM counters") == [("entries", 3)]
    connection.close()
    places = Places(home="/home/of/it", project="/is/there")
    database = sqlite_database(tmp_path / "mulligan.db", places)
    with database.reading() as db:
        assert [(each.location, each.path) for each in db.sandboxes.all()] == [
            ("/is/there/site", "/is/there/site"),
            ("/is/there/site", "/home/of/it/sandboxes/p2/site"),
            ("/is/there/site", "/home/of/it/sandboxes/p3/site"),
        ]
    database.close()


def test_two_processes_that_open_a_new_database_at_once_agree(tmp_path: Path) -> None:
    first, second = SqliteConnection(tmp_path / "a.db"), SqliteConnection(tmp_path / "a.db")
    migrate(first, packaged_migrations())
    migrate(second, packaged_migrations())
    assert version_of(second) == NEWEST_VERSION
