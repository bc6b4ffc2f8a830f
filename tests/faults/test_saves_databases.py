"""What a program commits to a real database while it is restored, replaced or removed is never lost."""

import dataclasses
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.sqlite.database_files import DatabaseFiles
from mulligan.adapters.sandboxes.sqlite.database_in_place import InPlaceDatabases
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import ChangedMeanwhile, DatabaseBusy, RestoreFailed
from tests.faults.saves import Instants, chosen
from tests.support.databases import DatabaseWorld, new_world, rows, run_sql
from tests.support.snapshot_world import Watcher


def _in_place(folder: Path) -> DatabaseWorld:
    made = new_world(folder)
    return dataclasses.replace(made, kind=InPlaceDatabases(*made.around))


def _sandbox(world: DatabaseWorld) -> Sandbox:
    return world.kind.create(replace(world.order(create=True), path=world.real), Watcher())[0]


def going(folder: Path) -> tuple[DatabaseWorld, Sandbox]:
    """A database that was not there, and is to go."""
    world = _in_place(folder)
    sandbox = _sandbox(world)
    run_sql(world.real, "CREATE TABLE t (a)")
    return world, sandbox


def going_back(folder: Path) -> tuple[DatabaseWorld, Sandbox]:
    """A database that was changed."""
    world = _in_place(folder)
    run_sql(world.real, "CREATE TABLE t (a)")
    sandbox = _sandbox(world)
    run_sql(world.real, "CREATE TABLE u (a)")
    return world, sandbox


def with_two_names(folder: Path) -> tuple[DatabaseWorld, Sandbox]:
    """A database that became a hard link to another, and is to be replaced as a file."""
    world, sandbox = going_back(folder)
    (world.project / "other.db").hardlink_to(world.real)
    return world, sandbox


def commit(database: Path) -> bool:
    """Commit a row, as a program does that has had nothing open."""
    with closing(sqlite3.connect(database, timeout=0)) as connection:
        try:
            with connection:
                connection.execute("CREATE TABLE IF NOT EXISTS mine (a)")
                connection.execute("INSERT INTO mine VALUES ('precious')")
        except sqlite3.OperationalError:
            return False  # locked: the program knows that nothing was committed
    return True


@pytest.mark.parametrize("make", [going, going_back, with_two_names])
def test_a_commit_at_any_instant_is_kept(
    tmp_path: Path, make: Callable[[Path], tuple[DatabaseWorld, Sandbox]]
) -> None:
    passed = _restored_with_a_commit(tmp_path / "none", make, -1)[0]
    saved = 0
    for number in chosen(range(passed), share=2):
        _, committed, world, kept, error = _restored_with_a_commit(tmp_path / str(number), make, number)
        saved += committed
        if committed and not _has_row(world.real):
            assert error is None
            target = tmp_path / str(number) / "kept"
            world.kind.export(kept, target, Watcher())
            assert _has_row(target / "app.db"), f"lost at {number} of {passed}"
        if error is not None:
            assert isinstance(error, ChangedMeanwhile), error
            assert _has_row(world.real), number
    assert saved


def _restored_with_a_commit(
    folder: Path, make: Callable[[Path], tuple[DatabaseWorld, Sandbox]], number: int
) -> tuple[int, bool, DatabaseWorld, Snapshot, Exception | None]:
    world, sandbox = make(folder)
    kept: list[Snapshot] = []

    def command() -> None:
        kept.append(world.capture(sandbox).snapshot)  # as a group keeps it, before anything is restored
        world.kind.restore(sandbox, sandbox.base, Watcher(), kept[0])

    instants = Instants(number, lambda: commit(world.real))
    error = instants.during(command)
    return instants.passed, instants.saved, world, kept[0], error


def _has_row(database: Path) -> bool:
    if not database.exists():
        return False
    try:
        return rows(database, "SELECT a FROM mine") == [("precious",)]
    except sqlite3.Error:
        return False


def test_a_folder_in_the_place_of_a_database_is_not_removed(tmp_path: Path) -> None:
    world, sandbox = going_back(tmp_path)
    world.real.unlink()
    world.real.mkdir()
    (world.real / "precious").write_text("mine")
    with pytest.raises(RestoreFailed, match="a folder is in its place"):
        world.kind.restore(sandbox, sandbox.base, Watcher())
    assert (world.real / "precious").read_text() == "mine"
    (world.real / "precious").unlink()
    world.kind.restore(sandbox, sandbox.base, Watcher())
    assert rows(world.real) == []


WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
connection.execute("CREATE TABLE mine (a)")
connection.execute("INSERT INTO mine VALUES ('precious')")
print("begun", flush=True)
time.sleep(0.3)
connection.execute("COMMIT")
"""


@pytest.mark.parametrize("moment", ["version", "stat"])
def test_a_writer_in_the_middle_of_a_transaction_is_not_taken_for_a_dead_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Its journal lies there, and it commits while the restore waits for its lock."""
    world, sandbox = going_back(tmp_path)
    kept = world.capture(sandbox).snapshot
    writers: list[subprocess.Popen[str]] = []
    real = getattr(DatabaseFiles, moment)

    def begin_after(self: DatabaseFiles, *words: str) -> object:
        found = real(self, *words)
        if (
            self.path == world.real
            and not writers
            and (moment == "version" or words == (f"{self.name}-wal",))
        ):
            command = [sys.executable, "-c", WRITER, str(world.real)]
            writers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stdout = writers[0].stdout
            assert stdout is not None
            assert stdout.readline() == "begun\n"
        return found

    monkeypatch.setattr(DatabaseFiles, moment, begin_after)
    with suppress(ChangedMeanwhile, DatabaseBusy):
        world.kind.restore(sandbox, sandbox.base, Watcher(), kept)
    monkeypatch.undo()
    assert writers, "nobody wrote"
    assert writers[0].wait() == 0
    assert writers[0].stdout is not None
    writers[0].stdout.close()
    assert _has_row(world.real)
