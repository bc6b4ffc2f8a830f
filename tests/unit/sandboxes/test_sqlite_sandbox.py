"""A database's sandbox goes back and forward, whatever a step did to the file and to what stands beside it."""

import os
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.sqlite.database_copy import DatabaseCopies
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import RestoreFailed, SnapshotDamaged
from tests.support.databases import (
    COMMITTER,
    PLAN,
    SPILLER,
    DatabaseWorld,
    beside,
    content,
    is_sound,
    new_world,
    program,
    rows,
    run_sql,
)
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import Watcher, removed, restored


@pytest.fixture
def world(tmp_path: Path) -> DatabaseWorld:
    made = new_world(tmp_path)
    run_sql(made.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('base')", "PRAGMA user_version = 5")
    return made


def back(world: DatabaseWorld, sandbox: Sandbox) -> None:
    expected = world.kind.compare(sandbox, sandbox.base)
    assert world.kind.restore(sandbox, sandbox.base, Watcher()) == expected
    path = Path(sandbox.path)
    assert beside(path) == [path.name]
    assert rows(path) == [("base",)]
    assert content(path) == content(world.real)
    assert is_sound(path)


@pytest.mark.parametrize("mode", ["delete", "wal", "persist"])
def test_the_way_a_database_is_written_comes_back_with_it(world: DatabaseWorld, mode: str) -> None:
    sandbox = world.make()
    path = Path(sandbox.path)
    run_sql(path, f"PRAGMA journal_mode = {mode}", "INSERT INTO t VALUES (2)")
    changed = world.capture(sandbox).snapshot
    back(world, sandbox)
    assert world.kind.restore(sandbox, changed, Watcher()) == restored("app.db")
    assert rows(path) == [("base",), (2,)]
    kept = "wal" if mode == "wal" else "delete"  # the others are a matter of each connection
    assert rows(path, "PRAGMA journal_mode") == [(kept,)]


@pytest.mark.parametrize(("code", "mode"), [(SPILLER, "delete"), (COMMITTER, "wal")])
def test_nothing_of_a_killed_writer_mixes_with_what_is_restored(
    world: DatabaseWorld, code: str, mode: str
) -> None:
    sandbox = world.make()
    path = Path(sandbox.path)
    run_sql(path, f"PRAGMA journal_mode = {mode}")
    with program(code, path):
        pass
    assert len(beside(path)) > 1
    left = world.capture(sandbox)
    assert left.unheld == ()
    back(world, sandbox)
    world.kind.restore(sandbox, left.snapshot, Watcher())
    assert beside(path) == ["app.db"]
    assert rows(path) == ([("base",)] if mode == "delete" else [("base",), ("in the wal",)])


def test_a_checkpoint_while_the_tool_has_it_open_holds_what_was_committed(world: DatabaseWorld) -> None:
    sandbox = world.make()
    run_sql(Path(sandbox.path), "PRAGMA journal_mode = wal")
    with closing(sqlite3.connect(sandbox.path, isolation_level=None)) as tool:
        tool.execute("INSERT INTO t VALUES ('committed')")
        tool.execute("BEGIN IMMEDIATE")
        tool.execute("INSERT INTO t VALUES ('not yet')")
        snapshot = world.capture(sandbox).snapshot
        tool.execute("COMMIT")
    world.kind.restore(sandbox, snapshot, Watcher())
    assert rows(Path(sandbox.path)) == [("base",), ("committed",)]


# --- what costs nothing ---------------------------------------------------------------------------------


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The databases that were read."""
    read: list[Path] = []
    honest = DatabaseCopies.copy

    def noting(
        self: DatabaseCopies, files: object, target: Path, *others: object, at_work: bool = False
    ) -> None:
        read.append(target)
        honest(self, files, target, *others, at_work=at_work)  # pyright: ignore[reportArgumentType] - handed on as it came

    monkeypatch.setattr(DatabaseCopies, "copy", noting)
    return read


def settle(sandbox: Sandbox) -> None:
    """Make the file older than the grain of any clock."""
    os.utime(sandbox.path)
    time.sleep(0.05)


def test_one_that_nobody_touched_is_not_read_again_also_by_the_next_process(
    world: DatabaseWorld, copies: list[Path], tmp_path: Path
) -> None:
    sandbox = world.make()
    settle(sandbox)
    first = world.capture(sandbox)
    del copies[:]
    again = world.capture(sandbox)
    assert (again.snapshot, again.size_bytes, again.files) == (first.snapshot, 0, 1)
    assert new_world(tmp_path).capture(sandbox).snapshot == first.snapshot
    assert world.kind.compare(sandbox, first.snapshot) == ()
    assert world.kind.restore(sandbox, first.snapshot, Watcher()) == ()
    assert copies == []
    new_world(tmp_path, boot_id="another boot").capture(sandbox)
    assert len(copies) == 1


def test_what_is_known_is_forgotten_when_the_store_has_lost_it(
    world: DatabaseWorld, copies: list[Path]
) -> None:
    sandbox = world.make()
    settle(sandbox)
    known = world.capture(sandbox).snapshot
    del copies[:]
    world.store.sweep(set, dry_run=False, observer=Watcher())
    assert world.capture(sandbox).snapshot == known
    assert len(copies) == 1
    assert world.store.verify([known], quick=False, observer=Watcher()) == {}


def test_a_note_that_nobody_can_read_is_no_harm(world: DatabaseWorld, copies: list[Path]) -> None:
    sandbox = world.make()
    settle(sandbox)
    world.capture(sandbox)
    note = Path(sandbox.path).parent.parent / ".known-data"
    for odd in (b"", b"[1]", b'{"boot": "this boot"}', b"\xff"):
        note.write_bytes(odd)
        assert world.capture(sandbox).snapshot.same_as(sandbox.base)
    note.unlink()
    note.mkdir()
    assert world.capture(sandbox).snapshot.same_as(sandbox.base)


def test_a_large_one_is_known_right_after_it_was_put_there(world: DatabaseWorld, copies: list[Path]) -> None:
    with closing(sqlite3.connect(world.real)) as connection, connection:
        connection.execute("INSERT INTO t VALUES (zeroblob(5000000))")
    sandbox = world.make()
    del copies[:]
    assert world.capture(sandbox).size_bytes == 0
    assert copies == []
    run_sql(Path(sandbox.path), "INSERT INTO t VALUES ('more')")
    changed = world.capture(sandbox)
    assert not changed.snapshot.same_as(sandbox.base)
    assert world.kind.compare(sandbox, sandbox.base) == restored("app.db")


def test_going_back_from_a_known_state_is_told_to_the_path(world: DatabaseWorld) -> None:
    sandbox = world.make()
    path = Path(sandbox.path)
    path.unlink()
    gone = world.capture(sandbox).snapshot  # known at once: there is nothing that could change unseen
    assert world.kind.compare(sandbox, sandbox.base) == restored("app.db")
    back(world, sandbox)
    settle(sandbox)
    world.capture(sandbox)
    assert world.kind.compare(sandbox, gone) == removed("app.db")
    assert world.kind.restore(sandbox, gone, Watcher()) == removed("app.db")
    assert beside(path) == []
    assert world.kind.restore(sandbox, gone, Watcher()) == ()


# --- what a step may do to the file ---------------------------------------------------------------------


def not_a_database(path: Path) -> None:
    path.write_text("no database any more " * 100)


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[:50] = b"\x77" * 50
    path.write_bytes(data)
    Path(f"{path}-wal").write_bytes(b"of whatever")


def a_symlink(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def a_dangling_symlink(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("harm", [not_a_database, damaged, a_symlink, a_dangling_symlink])
def test_what_sqlite_cannot_read_is_told_and_kept_as_it_is(
    world: DatabaseWorld, harm: Callable[[Path], None]
) -> None:
    sandbox = world.make()
    path = Path(sandbox.path)
    harm(path)
    before = {name: raw(path.parent / name) for name in beside(path)}
    capture = world.capture(sandbox)
    assert [each.path for each in capture.unheld] == ["app.db"]
    assert capture.unheld[0].reason.startswith("as a database: ")
    assert "app.db" in [change.path for change in world.kind.compare(sandbox, sandbox.base)]
    back(world, sandbox)
    world.kind.restore(sandbox, capture.snapshot, Watcher())
    assert {name: raw(path.parent / name) for name in beside(path)} == before
    assert world.capture(sandbox).snapshot.same_as(capture.snapshot)


def raw(path: Path) -> object:
    return os.readlink(path) if path.is_symlink() else (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner").write_text("x")


def a_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("harm", [a_folder, a_fifo])
def test_what_is_no_file_any_more_is_told_and_going_back_removes_it(
    world: DatabaseWorld, harm: Callable[[Path], None]
) -> None:
    sandbox = world.make()
    harm(Path(sandbox.path))
    capture = world.capture(sandbox)
    assert capture.unheld[0].reason == "it is no longer a file; a rollback removes it"
    back(world, sandbox)


def test_one_that_may_not_be_read_is_told_and_comes_back(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = new_world(home)
        run_sql(world.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('base')")
        sandbox = world.make()
        Path(sandbox.path).chmod(0o000)
        assert [each.reason for each in world.capture(sandbox).unheld] == ["it may not be read"]
        world.kind.restore(sandbox, sandbox.base, Watcher())
        assert rows(Path(sandbox.path)) == [("base",)]

    as_ordinary_user(tmp_path, check)


def test_modes_come_back(world: DatabaseWorld) -> None:
    world.real.chmod(0o640)
    sandbox = world.make()
    assert stat.S_IMODE(Path(sandbox.path).stat().st_mode) == 0o640
    Path(sandbox.path).chmod(0o400)
    changed = world.capture(sandbox).snapshot
    assert not changed.same_as(sandbox.base)
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert stat.S_IMODE(Path(sandbox.path).stat().st_mode) == 0o640


def test_a_damaged_snapshot_is_refused_with_nothing_touched(world: DatabaseWorld) -> None:
    sandbox = world.make()
    run_sql(Path(sandbox.path), "INSERT INTO t VALUES (2)")
    for pack in (world.project / ".mulligan" / "store" / "packs").iterdir():
        pack.unlink()
    with pytest.raises(SnapshotDamaged):
        world.kind.compare(sandbox, sandbox.base)
    with pytest.raises(SnapshotDamaged):
        world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(Path(sandbox.path)) == [("base",), (2,)]


# --- inside the sandbox of another resource -------------------------------------------------------------


def test_inside_another_sandbox_no_symlink_on_the_way_is_followed(
    world: DatabaseWorld, tmp_path: Path
) -> None:
    outer = world.sandboxes / PLAN / "outer"
    outer.mkdir(parents=True)
    sandbox = world.make(inside="var/lib/app.db")
    assert rows(outer / "var" / "lib" / "app.db") == [("base",)]
    precious = tmp_path / "precious"
    (precious / "lib").mkdir(parents=True)
    run_sql(precious / "lib" / "app.db", "CREATE TABLE mine (a)")
    (outer / "var").rename(outer / "moved")
    (outer / "var").symlink_to(precious)
    missing = world.capture(sandbox)
    assert (missing.files, missing.unheld) == (0, ())
    with pytest.raises(RestoreFailed, match="Not a directory"):
        world.kind.restore(sandbox, sandbox.base, Watcher())
    world.kind.remove(sandbox)
    assert rows(precious / "lib" / "app.db", "SELECT * FROM mine") == []
    (outer / "var").unlink()
    world.kind.restore(sandbox, sandbox.base, Watcher())  # makes the folders that it needs
    assert rows(outer / "var" / "lib" / "app.db") == [("base",)]
    world.kind.remove(sandbox)
    assert list((outer / "var" / "lib").iterdir()) == []
    assert world.kind.exists(sandbox)  # the sandbox around it is there


def test_two_databases_side_by_side_are_no_harm_to_each_other(world: DatabaseWorld) -> None:
    (world.sandboxes / PLAN / "outer").mkdir(parents=True)
    one = world.make(inside="app.db", name="one")
    two = world.make(inside="app.db2", name="two")
    run_sql(Path(two.path), "INSERT INTO t VALUES ('two')")
    world.kind.restore(one, one.base, Watcher())
    world.kind.remove(one)
    assert rows(Path(two.path)) == [("base",), ("two",)]


def test_what_a_killed_process_left_is_cleared_by_the_next(world: DatabaseWorld) -> None:
    left = world.sandboxes / PLAN / ".work-data" / "in"
    left.mkdir(parents=True)
    (left / "app.db").write_text("half")
    sandbox = world.make()
    assert rows(Path(sandbox.path)) == [("base",)]
    assert not left.exists()
    fork = world.kind.fork(replace(world.order(name="fork")), sandbox, sandbox.base, Watcher())
    assert rows(Path(fork.path)) == [("base",)]
