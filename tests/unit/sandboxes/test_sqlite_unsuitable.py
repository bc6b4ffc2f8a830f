"""What is no database, or a damaged one, is refused before the first step; what only looks like it is not."""

import os
import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.errors import ResourceUnsuitable, SystemFailed
from tests.support.databases import (
    DATA,
    DatabaseWorld,
    new_world,
    rows,
    run_sql,
)
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import Watcher


@pytest.fixture
def world(tmp_path: Path) -> DatabaseWorld:
    return new_world(tmp_path)


def reason(world: DatabaseWorld, location: Path) -> str:
    with pytest.raises(ResourceUnsuitable) as refused:
        world.kind.check(DATA, location)
    return refused.value.text


def test_what_is_no_database_is_refused_by_name(world: DatabaseWorld, tmp_path: Path) -> None:
    world.real.write_text("plain text, and long enough to be something else" * 10)
    assert "it is not a SQLite database" in reason(world, world.real)
    assert "does not exist" in reason(world, world.project / "missing.db")
    assert "`create: true`" in reason(world, world.project / "missing.db")
    assert "a database is a file" in reason(world, world.project)
    os.mkfifo(world.project / "fifo")
    assert "it is not a file" in reason(world, world.project / "fifo")
    home = world.project / ".mulligan" / "mulligan.db"
    assert "inside the project home" in reason(world, home)
    run_sql(tmp_path / "elsewhere.db", "CREATE TABLE t (a)")
    (world.project / "link.db").symlink_to(tmp_path / "elsewhere.db")
    assert "leads out of the project" in reason(world, world.project / "link.db")


def test_a_missing_database_is_fine_where_the_plan_may_create_it(world: DatabaseWorld) -> None:
    world.kind.check(replace(DATA, create=True), world.project / "no" / "folder" / "either.db")
    sandbox = world.make(create=True)
    assert not Path(sandbox.path).exists()
    assert world.kind.survey(world.order(create=True), Watcher()).files == 0
    run_sql(Path(sandbox.path), "CREATE TABLE t (a)")
    assert not world.capture(sandbox).snapshot.same_as(sandbox.base)


def test_one_that_went_between_check_and_copy_is_refused(world: DatabaseWorld) -> None:
    with pytest.raises(ResourceUnsuitable, match="it no longer exists"):
        world.make()


def filled(path: Path) -> None:
    run_sql(path, "CREATE TABLE t (a)", "CREATE INDEX i ON t (a)")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO t VALUES (?)", [(f"row {n} " * 20,) for n in range(500)])


def damage_inside(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 5] = b"\x55" * 4096 * 2
    path.write_bytes(data)


def damage_the_schema(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:300] = b"\xaa" * 200
    path.write_bytes(data)


def cut_short(path: Path) -> None:
    os.truncate(path, 4096 * 4)


def only_the_beginning(path: Path) -> None:
    os.truncate(path, 50)


def damage_in_wal_mode(path: Path) -> None:
    run_sql(path, "PRAGMA journal_mode = wal")
    data = bytearray(path.read_bytes())
    data[:10] = b"1234567890"
    path.write_bytes(data)


@pytest.mark.parametrize(
    "harm", [damage_in_wal_mode, damage_inside, damage_the_schema, cut_short, only_the_beginning]
)
def test_a_damaged_database_is_refused_before_the_first_step(
    world: DatabaseWorld, harm: Callable[[Path], None]
) -> None:
    filled(world.real)
    harm(world.real)
    with pytest.raises(ResourceUnsuitable) as refused:
        world.make()
    assert "SQLite cannot read it: " in refused.value.text
    assert ".recover" in refused.value.next_step
    assert list((world.sandboxes / world.order().plan_id).iterdir()) == []


def test_rows_that_break_a_constraint_are_no_damage(world: DatabaseWorld) -> None:
    run_sql(
        world.real,
        "CREATE TABLE t (a CHECK (a > 0), b NOT NULL DEFAULT 1)",
        "PRAGMA ignore_check_constraints = ON",
        "INSERT INTO t (a) VALUES (-1)",
        "PRAGMA writable_schema = ON",
        "CREATE TABLE u (a)",
        "INSERT INTO u VALUES (NULL)",
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE u (a NOT NULL)' WHERE name = 'u'",
    )
    assert rows(world.real, "PRAGMA quick_check") != [("ok",)]
    assert rows(Path(world.make().path)) == [(-1, 1)]


def test_what_only_its_own_program_knows_is_no_damage(world: DatabaseWorld) -> None:
    with closing(sqlite3.connect(world.real)) as connection, connection:
        connection.create_collation("odd", lambda a, b: (a > b) - (a < b))
        connection.execute("CREATE TABLE t (a COLLATE odd)")
        connection.execute("CREATE INDEX i ON t (a)")
        connection.execute("INSERT INTO t VALUES ('x'), ('y')")
    assert rows(Path(world.make().path)) == [("x",), ("y",)]


def test_one_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = new_world(home)
        run_sql(world.real, "CREATE TABLE t (a)")
        world.real.chmod(0o200)
        assert "it cannot be read: Permission denied" in reason(world, world.real)

    as_ordinary_user(tmp_path, check)


def test_a_disk_that_is_full_is_no_damage_of_the_database(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = new_world(home)
        for mode in ("delete", "wal"):
            run_sql(world.real, f"PRAGMA journal_mode = {mode}")
            filled(world.real)
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, resource.RLIM_INFINITY))
            with pytest.raises(SystemFailed, match="disk"):
                world.make()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            world.make()
            world.real.unlink()

    as_ordinary_user(tmp_path, check)
