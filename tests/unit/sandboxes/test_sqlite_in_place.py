"""A real database that is worked on in place goes back without being replaced: others may have it open."""

import dataclasses
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.sqlite.database_in_place import InPlaceDatabases
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.errors import DatabaseBusy, ResourceUnsuitable, RestoreFailed
from tests.faults.projects import project_in
from tests.support.databases import DATA, DatabaseWorld, beside, content, is_sound, new_world, rows, run_sql
from tests.support.snapshot_world import Watcher, removed, restored


@pytest.fixture
def world(tmp_path: Path) -> DatabaseWorld:
    made = new_world(tmp_path)
    run_sql(made.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('base')", "PRAGMA user_version = 5")
    return dataclasses.replace(made, kind=InPlaceDatabases(*made.around))


def in_place(world: DatabaseWorld, *, create: bool = False) -> Sandbox:
    order = replace(world.order(create=create), path=world.real)
    sandbox, _ = world.kind.create(order, Watcher())
    assert (sandbox.path, sandbox.strategy) == (str(world.real), Strategy.IN_PLACE)
    assert world.kind.exists(sandbox)
    return sandbox


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_others_keep_it_open_and_see_it_go_back(world: DatabaseWorld, mode: str) -> None:
    run_sql(world.real, f"PRAGMA journal_mode = {mode}")
    sandbox = in_place(world)
    inode = world.real.stat().st_ino
    with closing(sqlite3.connect(world.real, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (2)")
        other.execute("CREATE TABLE u (a)")
        other.execute("PRAGMA user_version = 6")
        changed = world.capture(sandbox).snapshot
        assert world.kind.compare(sandbox, sandbox.base) == restored("app.db")
        assert world.kind.restore(sandbox, sandbox.base, Watcher()) == restored("app.db")
        assert other.execute("SELECT * FROM t").fetchall() == [("base",)]
        assert other.execute("PRAGMA user_version").fetchone() == (5,)
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            other.execute("SELECT * FROM u")
        assert world.capture(sandbox).snapshot.same_as(sandbox.base)
        assert world.kind.restore(sandbox, sandbox.base, Watcher()) == ()
        world.kind.restore(sandbox, changed, Watcher())
        assert other.execute("SELECT count(*) FROM u").fetchone() == (0,)
    assert world.real.stat().st_ino == inode
    assert beside(world.real) == ["app.db"]
    assert is_sound(world.real)
    assert rows(world.real, "PRAGMA journal_mode") == [(mode,)]


@pytest.mark.parametrize(("first", "then"), [("delete", "wal"), ("wal", "delete")])
def test_page_size_journal_mode_and_mode_of_the_file_come_back(
    world: DatabaseWorld, first: str, then: str
) -> None:
    run_sql(world.real, f"PRAGMA journal_mode = {first}")
    world.real.chmod(0o640)
    before = content(world.real)
    sandbox = in_place(world)
    run_sql(world.real, "PRAGMA journal_mode = delete", "PRAGMA page_size = 1024", "VACUUM")
    run_sql(world.real, f"PRAGMA journal_mode = {then}")
    world.real.chmod(0o600)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert content(world.real) == before
    assert stat.S_IMODE(world.real.stat().st_mode) == 0o640
    assert world.capture(sandbox).snapshot.same_as(sandbox.base)


def test_a_journal_mode_that_others_hold_on_to_is_told(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    run_sql(world.real, "PRAGMA journal_mode = wal")
    with closing(sqlite3.connect(world.real, isolation_level=None)) as other:
        other.execute("INSERT INTO t VALUES (2)")
        with pytest.raises((RestoreFailed, DatabaseBusy)):
            world.kind.restore(sandbox, sandbox.base, Watcher())
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == [("base",)]


def test_a_page_size_cannot_go_back_in_wal_mode_while_others_have_it_open(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    run_sql(world.real, "PRAGMA page_size = 1024", "VACUUM", "PRAGMA journal_mode = wal")
    with closing(sqlite3.connect(world.real, isolation_level=None)) as other:
        other.execute("SELECT * FROM t").fetchall()
        with pytest.raises(DatabaseBusy):
            world.kind.restore(sandbox, sandbox.base, Watcher())
        assert other.execute("PRAGMA page_size").fetchone() == (1024,)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real, "PRAGMA page_size") == [(4096,)]
    assert world.capture(sandbox).snapshot.same_as(sandbox.base)


@pytest.mark.parametrize("cut", ["content", "journal mode"])
@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_restore_that_was_cut_off_is_on_its_way_and_no_change_of_others(
    world: DatabaseWorld, mode: str, cut: str
) -> None:
    run_sql(world.real, f"PRAGMA journal_mode = {mode}")
    sandbox = in_place(world)
    other = "delete" if mode == "wal" else "wal"
    run_sql(world.real, "INSERT INTO t VALUES (2)", f"PRAGMA journal_mode = {other}")
    world.real.chmod(0o600)
    before = world.capture(sandbox).snapshot
    world.kind.export(sandbox.base, world.project / "base", Watcher())
    with closing(sqlite3.connect(world.project / "base" / "app.db")) as source:  # as far as it came
        source.execute("PRAGMA journal_mode = delete")
        with closing(sqlite3.connect(world.real)) as real:
            source.backup(real)
    if cut == "journal mode":
        run_sql(world.real, f"PRAGMA journal_mode = {mode}")
    assert not any(world.capture(sandbox).snapshot.same_as(s) for s in (before, sandbox.base))
    assert world.kind.changed_by_others(sandbox, sandbox.base, before, Watcher()) == ()
    run_sql(world.real, "INSERT INTO t VALUES ('by hand')")
    assert world.kind.changed_by_others(sandbox, sandbox.base, before, Watcher()) == (str(world.real),)
    world.real.write_text("ruined by hand")
    assert world.kind.changed_by_others(sandbox, sandbox.base, before, Watcher()) == (str(world.real),)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert world.kind.changed_by_others(sandbox, sandbox.base, before, Watcher()) == ()
    world.real.unlink()
    assert world.kind.changed_by_others(sandbox, sandbox.base, before, Watcher()) == ()


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_a_symlink_in_the_place_of_a_sidecar_is_neither_followed_nor_in_the_way(
    world: DatabaseWorld, tmp_path: Path, suffix: str, mode: str
) -> None:
    run_sql(world.real, f"PRAGMA journal_mode = {mode}")
    sandbox = in_place(world)
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    run_sql(world.real, "INSERT INTO t VALUES (2)")
    beside_it = world.real.with_name(world.real.name + suffix)
    beside_it.symlink_to(precious)
    left = world.capture(sandbox)
    assert [unheld.path for unheld in left.unheld] == ["app.db"]
    assert suffix in left.unheld[0].reason
    with pytest.raises(ResourceUnsuitable, match=suffix):
        world.kind.create(replace(world.order(), path=world.real), Watcher())
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert beside(world.real) == ["app.db"]
    assert rows(world.real) == [("base",)]
    world.kind.restore(sandbox, left.snapshot, Watcher())
    assert beside_it.is_symlink() is (suffix != "-shm")
    beside_it.unlink(missing_ok=True)
    assert rows(world.real) == [("base",), (2,)]
    assert precious.read_bytes() == b"precious"


def test_one_that_others_have_locked_is_waited_for_and_then_told(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    run_sql(world.real, "INSERT INTO t VALUES (2)")
    world.capture(sandbox)
    with closing(sqlite3.connect(world.real, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM t").fetchall()
        with pytest.raises(DatabaseBusy, match=f"process {os.getpid()}|another program"):
            world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == [("base",), (2,)]
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == [("base",)]


def test_one_that_was_not_there_goes_again_unless_someone_works_in_it(world: DatabaseWorld) -> None:
    world.real.unlink()
    sandbox = in_place(world, create=True)
    run_sql(world.real, "CREATE TABLE t (a)")
    made = world.capture(sandbox).snapshot
    with closing(sqlite3.connect(world.real, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseBusy):
            world.kind.restore(sandbox, sandbox.base, Watcher())
    assert world.kind.restore(sandbox, sandbox.base, Watcher()) == removed("app.db")
    assert beside(world.real) == []
    assert world.kind.restore(sandbox, made, Watcher()) == restored("app.db")
    assert rows(world.real) == []


def test_what_is_no_database_any_more_is_replaced(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    world.real.write_text("ruined")
    left = world.capture(sandbox)
    assert left.unheld
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == [("base",)]
    world.kind.restore(sandbox, left.snapshot, Watcher())
    assert world.real.read_text() == "ruined"


def test_a_symlink_is_neither_followed_nor_accepted(world: DatabaseWorld, tmp_path: Path) -> None:
    world.kind.check(DATA, world.real)
    (world.project / "alias").symlink_to(".")
    with pytest.raises(ResourceUnsuitable, match="a symlink leads to it"):
        world.kind.check(DATA, world.project / "alias" / "app.db")
    sandbox = in_place(world)
    precious = tmp_path / "precious.db"
    run_sql(precious, "CREATE TABLE mine (a)")
    world.real.unlink()
    world.real.symlink_to(precious)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert not world.real.is_symlink()
    assert rows(world.real) == [("base",)]
    assert rows(precious, "SELECT * FROM mine") == []


def test_a_hard_link_to_another_database_is_replaced_and_not_written_through(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    precious = world.project / "precious.db"
    run_sql(precious, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('precious')")
    world.real.unlink()
    world.real.hardlink_to(precious)
    left = world.capture(sandbox).snapshot
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == [("base",)]
    assert rows(precious) == [("precious",)]
    world.kind.restore(sandbox, left, Watcher())
    assert rows(world.real) == rows(precious) == [("precious",)]


def test_a_fork_is_a_copy_and_removing_leaves_the_real_one_alone(world: DatabaseWorld) -> None:
    sandbox = in_place(world)
    fork = world.kind.fork(world.order(name="fork"), sandbox, sandbox.base, Watcher())
    assert fork.strategy is Strategy.FILESYSTEM_COPY
    assert rows(Path(fork.path)) == [("base",)]
    world.kind.remove(sandbox)
    assert rows(world.real) == [("base",)]


PLAN = """\
name: p
resources:
  app: {type: fs-directory, location: app, strategy: in_place}
  data: {type: sqlite, location: app/var/app.db}
steps:
  - {name: one, tool: sql, resource: data, args: {statements: ["INSERT INTO t VALUES (2)"]}, checkpoint: one}
  - {name: two, tool: shell, args: {command: "echo 2 > file; rm -r var"}}
"""


def test_a_database_in_a_folder_that_is_worked_on_in_place_is_too(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "app" / "var").mkdir(parents=True)
    (folder / "app" / "file").write_text("1")
    database = folder / "app" / "var" / "app.db"
    run_sql(database, "CREATE TABLE t (a)")
    (folder / "plan.yaml").write_text(PLAN)
    status = project_in(folder).execute(folder / "plan.yaml")
    assert [s.path for s in status.sandboxes] == [str(folder / "app"), str(database)]
    assert not database.exists()
    project_in(folder).rollback("p", "one")
    assert rows(database) == [(2,)]
    assert (folder / "app" / "file").read_text() == "1"
    project_in(folder).rollback("p", "first")
    assert rows(database) == []
