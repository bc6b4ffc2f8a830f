"""A real database is copied as it is at one moment, whatever others do to it, and nothing is left beside it."""

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.sqlite.database_files import DatabaseFiles
from mulligan.adapters.sandboxes.sqlite.lock_holders import holders_of
from mulligan.errors import DatabaseBusy
from tests.support.databases import (
    COMMITTER,
    LOCKER,
    SPILLER,
    WRITER,
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
from tests.support.raised import raises
from tests.support.snapshot_world import Watcher


@pytest.fixture
def world(tmp_path: Path) -> DatabaseWorld:
    return new_world(tmp_path)


def stamps(path: Path) -> dict[str, tuple[int, int, int]]:
    found = {name: (path.parent / name).stat() for name in beside(path)}
    return {name: (st.st_size, st.st_mtime_ns, st.st_ino) for name, st in found.items() if "shm" not in name}


@pytest.mark.parametrize("mode", ["delete", "truncate", "persist", "wal"])
@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_a_database_that_nobody_has_open(world: DatabaseWorld, mode: str, page_size: int) -> None:
    run_sql(
        world.real,
        f"PRAGMA page_size = {page_size}",
        "PRAGMA encoding = 'UTF-16le'",
        f"PRAGMA journal_mode = {mode}",
        "CREATE TABLE t (a)",
        "INSERT INTO t VALUES ('one'), (x'00ff'), (1.5), (NULL)",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 1234",
    )
    before = stamps(world.real)
    sandbox = world.make()
    assert stamps(world.real) == before
    assert "app.db-shm" not in beside(world.real)
    assert content(Path(sandbox.path)) == content(world.real)
    assert is_sound(Path(sandbox.path))


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_that_others_write_to_all_the_time(world: DatabaseWorld, mode: str) -> None:
    run_sql(world.real, f"PRAGMA journal_mode = {mode}", "CREATE TABLE a (n, x)", "CREATE TABLE b (n, x)")
    with program(WRITER, world.real) as writer:
        world = new_world(world.project.parent, busy_limit=30.0)
        seen = [self_contained(world, name) for name in ("one", "two", "three")]
        assert writer.poll() is None
    assert seen == sorted(seen)
    assert is_sound(world.real)


def self_contained(world: DatabaseWorld, name: str) -> int:
    """Make a sandbox; both tables have as many rows, or it would be of no moment at all."""
    sandbox = world.make(name=name)
    path = Path(sandbox.path)
    assert is_sound(path)
    assert beside(path) == ["app.db"]
    counted = rows(path, "SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)")[0]
    assert counted[0] == counted[1]
    assert isinstance(counted[0], int)
    return counted[0]


def test_one_that_is_locked_is_waited_for_and_then_told_with_who_holds_it(world: DatabaseWorld) -> None:
    run_sql(world.real, "CREATE TABLE t (a)")
    with program(LOCKER, world.real) as locker:
        name = Path(f"/proc/{locker.pid}/comm").read_text().strip()
        holders = f"process {locker.pid} ({name})"
        with raises(DatabaseBusy, database=str(world.real), seconds=1, holders=holders):
            world.make()
    sandbox = world.make()  # the locker is gone, and with it what it had not committed
    assert rows(Path(sandbox.path)) == []


def test_one_that_is_let_go_in_time_is_copied(world: DatabaseWorld) -> None:
    run_sql(world.real, "CREATE TABLE t (a)")
    patient = new_world(world.project.parent, busy_limit=30.0)
    with program(LOCKER, world.real) as locker:
        ender = subprocess.Popen(["sh", "-c", f"sleep 0.5; kill -9 {locker.pid}"])
        sandbox = patient.make()
        ender.wait()
    assert rows(Path(sandbox.path)) == []


@contextmanager
def touched(path: Path, *, times: int) -> Generator[None]:
    """Someone keeps changing the file's stamps, but not its content."""

    def touch() -> None:
        for _ in range(times):
            os.utime(path)
            time.sleep(0.002)

    toucher = threading.Thread(target=touch)
    toucher.start()
    try:
        yield
    finally:
        toucher.join()


def test_one_that_will_not_hold_still_is_waited_for_and_then_told(world: DatabaseWorld) -> None:
    run_sql(world.real, "PRAGMA journal_mode = wal", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    changed_right_now = new_world(world.project.parent, now_ns=lambda: world.real.stat().st_ctime_ns)
    with raises(DatabaseBusy, seconds=1, holders="another program"):
        changed_right_now.make()
    patient = new_world(world.project.parent, busy_limit=30.0)
    with touched(world.real, times=100):
        sandbox = patient.make()
    assert rows(Path(sandbox.path)) == [(1,)]


def test_a_change_while_it_is_read_as_it_lies_has_it_read_again(
    world: DatabaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sql(world.real, "PRAGMA journal_mode = wal", "CREATE TABLE t (a)")
    killed(world.real, COMMITTER)
    Path(f"{world.real}-shm").unlink()
    honest, disturbed = DatabaseFiles.copy_to, list[str]()

    def copy_to(files: DatabaseFiles, target: Path, names: tuple[str, ...]) -> None:
        honest(files, target, names)
        if len(disturbed) < 2:
            disturbed.append("again")
            os.utime(f"{files.path}-wal")

    monkeypatch.setattr(DatabaseFiles, "copy_to", copy_to)
    sandbox = world.make()
    assert len(disturbed) == 2
    assert rows(Path(sandbox.path)) == [("in the wal",)]


def test_another_file_in_its_place_has_it_read_again(
    world: DatabaseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sql(world.real, "CREATE TABLE t (a)")
    run_sql(world.project / "other.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('other')")
    honest = DatabaseFiles.head

    def head(files: DatabaseFiles, size: int) -> bytes:
        found = honest(files, size)
        if (world.project / "other.db").exists():
            (world.project / "other.db").rename(files.path)
        return found

    monkeypatch.setattr(DatabaseFiles, "head", head)
    assert rows(Path(world.make().path)) == [("other",)]


def test_who_holds_a_lock_may_be_gone_when_asked_for_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path.stat()
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    (tmp_path / "locks").write_text(
        f"1: POSIX  ADVISORY  WRITE 999999999 {inode} 0 EOF\n"
        f"1: -> POSIX  ADVISORY  WRITE -1 {inode} 0 EOF\n"
        "2: FLOCK  ADVISORY  WRITE 1 00:00:0 0 EOF\n\n"
    )
    monkeypatch.setattr("mulligan.adapters.sandboxes.sqlite.lock_holders._LOCKS", tmp_path / "locks")
    assert holders_of(found) == ("process 999999999 (gone meanwhile)",)


def killed(path: Path, code: str) -> None:
    with program(code, path):
        pass


def test_what_a_killed_writer_left_half_done_is_not_there_and_the_real_files_stay(
    world: DatabaseWorld,
) -> None:
    run_sql(world.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('whole')")
    killed(world.real, SPILLER)
    assert beside(world.real) == ["app.db", "app.db-journal"]
    before = stamps(world.real)
    sandbox = world.make()
    assert rows(Path(sandbox.path)) == [("whole",)]
    assert is_sound(Path(sandbox.path))
    assert stamps(world.real) == before  # whoever opens it next recovers it, not we
    assert rows(world.real) == [("whole",)]


@pytest.mark.parametrize("shm", [True, False])
def test_what_a_killed_writer_committed_to_the_wal_is_there(world: DatabaseWorld, *, shm: bool) -> None:
    run_sql(world.real, "PRAGMA journal_mode = wal", "CREATE TABLE t (a)")
    killed(world.real, COMMITTER)
    if not shm:
        Path(f"{world.real}-shm").unlink()
    before, names = stamps(world.real), beside(world.real)
    sandbox = world.make()
    assert rows(Path(sandbox.path)) == [("in the wal",)]
    assert beside(Path(sandbox.path))[0] == "app.db"
    assert stamps(world.real) == before
    assert beside(world.real) == names


def test_one_in_a_folder_that_may_not_be_written(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        world = new_world(home)
        order = replace(world.order(), location=world.project / "closed" / "app.db")
        closed = order.location.parent
        closed.mkdir()
        run_sql(order.location, "PRAGMA journal_mode = wal", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
        order.location.chmod(0o440)
        closed.chmod(0o500)
        sandbox, _ = world.kind.create(order, Watcher())
        assert rows(Path(sandbox.path)) == [(1,)]
        assert Path(sandbox.path).stat().st_mode & 0o777 == 0o440
        closed.chmod(0o700)
        order.location.chmod(0o640)
        with closing(sqlite3.connect(order.location, isolation_level=None)) as writer:
            writer.execute("INSERT INTO t VALUES ('in the wal')")
            files = {each: each.read_bytes() for each in closed.iterdir() if "shm" not in each.name}
        for path, data in files.items():  # as if the writer had been killed
            path.write_bytes(data)
        closed.chmod(0o500)
        again, _ = world.kind.create(replace(order, path=order.path.parent / "2" / "app.db"), Watcher())
        assert rows(Path(again.path)) == [(1,), ("in the wal",)]
        assert beside(order.location) == ["app.db", "app.db-wal"]

    as_ordinary_user(tmp_path, check)


def test_an_empty_file_is_an_empty_database_and_stays_one(world: DatabaseWorld) -> None:
    world.real.touch()
    sandbox = world.make()
    assert Path(sandbox.path).read_bytes() == b""
    assert world.capture(sandbox).snapshot == sandbox.base
    run_sql(Path(sandbox.path), "CREATE TABLE t (a)")
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert Path(sandbox.path).read_bytes() == b""


def test_one_whose_tables_are_all_gone_again(world: DatabaseWorld) -> None:
    run_sql(world.real, "CREATE TABLE t (a)", "DROP TABLE t", "PRAGMA user_version = 3", "VACUUM")
    sandbox = world.make()
    assert content(Path(sandbox.path)) == content(world.real)
    assert world.capture(sandbox).snapshot.same_as(sandbox.base)


@pytest.mark.parametrize("name", ["a ?#%41&b.db", "größe.db", os.fsdecode(b"\xff\xfe.db"), "it's.db"])
def test_a_name_of_any_bytes(world: DatabaseWorld, name: str) -> None:
    run_sql(world.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    odd = world.real.rename(world.project / name)
    order = world.order()
    order = replace(order, location=odd, path=order.path.with_name(name))
    sandbox, _ = world.kind.create(order, Watcher())
    assert os.fsencode(Path(sandbox.path).name) == os.fsencode(name)
    shutil.copy(sandbox.path, world.project / "plain.db")
    assert rows(world.project / "plain.db") == [(1,)]


def test_equal_contents_have_equal_ids_whatever_was_done_in_between(world: DatabaseWorld) -> None:
    run_sql(world.real, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    run_sql(world.real, "VACUUM")
    first = world.make(name="one")
    run_sql(
        world.real, "UPDATE t SET a = 2", "UPDATE t SET a = 1", "CREATE TABLE u (a)", "DROP TABLE u", "VACUUM"
    )
    run_sql(world.real, "PRAGMA user_version = 1", "PRAGMA user_version = 0")
    second = world.make(name="two")
    assert first.base.id == second.base.id
