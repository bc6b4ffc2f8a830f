"""Trees that change while they are read: read again, scanned again, or told; never stored half and half."""

import errno
import fcntl
import os
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

import pytest

from mulligan.adapters.snapshots.capture.sqlite_locks import not_written_by_sqlite
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.errors import SystemFailed, TreeUnsteady
from tests.support.patience import wait_until
from tests.support.raised import raises
from tests.support.snapshot_world import Watcher, bring_back, new_store, take, tree_at


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    (path / "a" / "b").mkdir(parents=True)
    for name in ("one", "a/two", "a/b/three"):
        (path / name).write_text(name * 50)
    (path / "link").symlink_to("a")
    os.link(path / "one", path / "a" / "same")
    (path / "a" / "b").chmod(0o500)
    return path


def _meddle(
    monkeypatch: pytest.MonkeyPatch, tree: Path, meddle: Callable[[], None], *, times: int
) -> list[int]:
    """Do something each time that a file of the tree is read."""
    read = os.read
    fired: list[int] = []

    def reading(fd: int, length: int) -> bytes:
        data = read(fd, length)
        if len(fired) < times and os.readlink(f"/proc/self/fd/{fd}").startswith(f"{tree}/"):
            fired.append(1)
            meddle()
        return data

    monkeypatch.setattr(os, "read", reading)
    return fired


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tree / "a" / "two"
    fired: list[int] = []
    fired = _meddle(monkeypatch, tree, lambda: target.write_text(f"{len(fired)}" * 70), times=2)
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert len(fired) == 2
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_a_file_that_never_rests_is_held_as_it_was_read_last_and_named(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "log").write_text("line\n")

    def grow() -> None:
        with (tree / "log").open("a") as file:
            file.write("line\n")

    store = new_store(tmp_path / "store")
    fired = _meddle(monkeypatch, tree, grow, times=1000)
    first = store.capture(tree_at(tree), Watcher())
    tries, before = len(fired), len(fired)
    again = store.capture(tree_at(tree), Watcher())
    assert len(fired) - before < tries, "what is known for it is not waited for a second time"
    monkeypatch.undo()
    assert (first.busy, again.busy) == (("log",), ("log",))
    assert first.files == again.files == 6
    rested = store.capture(tree_at(tree), Watcher())
    assert (rested.busy, rested.snapshot) == ((), take(new_store(tmp_path / "fresh"), tree))
    bring_back(store, again.snapshot, tmp_path / "copy")
    held = (tmp_path / "copy" / "log").read_text()
    assert held
    assert (tree / "log").read_text().startswith(held)
    assert set(held.splitlines()) == {"line"}
    assert store.verify([first.snapshot, again.snapshot], quick=False, observer=Watcher()) == {}


def test_a_database_that_a_writer_holds_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with closing(sqlite3.connect(tmp_path / "live.db")) as db:
        db.execute("CREATE TABLE t (a)")
    with (tmp_path / "live.db").open("r+b") as reader, (tmp_path / "live.db").open("r+b") as writer:
        with not_written_by_sqlite(reader.fileno()) as locked:
            assert locked
            with pytest.raises(OSError, match="temporarily unavailable"):
                _lock(writer.fileno(), 0x40000002, 510)
        for start, length in ((0x40000002, 510), (0x40000000, 1)):
            _lock(writer.fileno(), start, length)
            with not_written_by_sqlite(reader.fileno()) as locked:
                assert not locked
            _lock(writer.fileno(), start, length, fcntl.F_UNLCK)
    (tmp_path / "text").write_text("no database")
    with (tmp_path / "text").open("rb") as text, not_written_by_sqlite(text.fileno()) as locked:
        assert not locked


def test_a_writer_that_is_between_transactions_for_an_instant_only_is_kept_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / "live.db")) as db:
        db.execute("CREATE TABLE t (a)")
    with (tmp_path / "live.db").open("r+b") as reader, (tmp_path / "live.db").open("r+b") as writer:
        waited: list[float] = []

        def at_work(pause: float) -> None:
            waited.append(pause)
            _lock(writer.fileno(), 0x40000002, 510, fcntl.F_UNLCK if len(waited) == 20 else fcntl.F_WRLCK)

        monkeypatch.setattr(time, "sleep", at_work)
        _lock(writer.fileno(), 0x40000002, 510)
        with not_written_by_sqlite(reader.fileno()) as locked:
            assert locked
        assert sum(waited) < 0.5


def _lock(fd: int, start: int, length: int, kind: int = fcntl.F_WRLCK) -> None:
    """Lock a part of an open file as another process would."""
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqixxxx", kind, os.SEEK_SET, start, length, 0))


@pytest.mark.parametrize("size", [3_000_000, 1_500_000])
@pytest.mark.parametrize("left", [3_000_000, 2_000_000, 100, 0])
def test_a_large_file_that_never_rests_is_held_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, left: int
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "data").write_bytes(b"x" * size)
    count = iter(range(100_000))

    def write() -> None:
        with (tree / "data").open("r+b") as file:
            file.truncate(left if next(count) % 2 else size)
            file.write(b"y")

    store = new_store(tmp_path / "store")
    _meddle(monkeypatch, tree, write, times=100_000)
    capture = store.capture(tree_at(tree), Watcher())
    monkeypatch.undo()
    assert capture.busy == ("data",)
    bring_back(store, capture.snapshot, tmp_path / "copy")
    assert (tmp_path / "copy" / "data").stat().st_size <= max(size, left)
    assert store.verify([capture.snapshot], quick=False, observer=Watcher()) == {}


_WRITES_WITHOUT_END = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60)
db.execute("PRAGMA synchronous=OFF")
print("at work", flush=True)
while True:
    with db:
        db.execute("UPDATE first SET value = value + 1")
        db.execute("UPDATE last SET value = value + 1")
"""
_STOPS_HALFWAY = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA cache_size = 1")  # what does not fit there is written before the end of the transaction
with db:
    db.execute("UPDATE first SET value = 1")
    db.execute("UPDATE filling SET value = zeroblob(99000)")
    db.execute("UPDATE last SET value = 1")
    print("halfway", flush=True)
    sys.stdin.readline()
"""


def _database(path: Path, size: int) -> None:
    """Make one whose first and last page say the same between two transactions."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE first AS SELECT 0 AS value")
        db.execute(f"CREATE TABLE filling AS SELECT zeroblob({size}) AS value")
        db.execute("CREATE TABLE last AS SELECT 0 AS value")
        db.commit()


def _writer(program: str, database: Path) -> "subprocess.Popen[bytes]":
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", program, database], **pipes)


def _values(database: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return db.execute("SELECT first.value, last.value FROM first, last").fetchone()


def test_a_database_under_constant_writes_is_held_in_one_state(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    _database(tree / "live.db", 4_000_000)
    store = new_store(tmp_path / "store")
    held: set[Snapshot] = set()

    def changed_between_many() -> bool:
        held.add(store.capture(tree_at(tree), Watcher()).snapshot)
        return len(held) == 8

    with _writer(_WRITES_WITHOUT_END, tree / "live.db") as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"at work\n"
            wait_until(changed_between_many, "the database was written to between captures")
            assert writer.poll() is None
        finally:
            writer.kill()
    for number, snapshot in enumerate(held):
        bring_back(store, snapshot, tmp_path / f"copy {number}")
        (tmp_path / f"copy {number}" / "live.db-journal").unlink(missing_ok=True)
        first, last = _values(tmp_path / f"copy {number}" / "live.db")
        assert first == last


@pytest.mark.parametrize("end", ["commits", "is killed"])
def test_a_database_that_holds_still_halfway_through_a_transaction_is_named(tmp_path: Path, end: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    _database(tree / "live.db", 100_000)
    store = new_store(tmp_path / "store")
    with _writer(_STOPS_HALFWAY, tree / "live.db") as writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"halfway\n"
            assert store.capture(tree_at(tree), Watcher()).busy == ("live.db",)
            if end == "commits":
                writer.communicate(b"\n")
        finally:
            writer.kill()
    rested = store.capture(tree_at(tree), Watcher())
    assert rested.busy == ()
    bring_back(store, rested.snapshot, tmp_path / "copy")
    assert (tmp_path / "copy" / "live.db-journal").exists() == (end == "is killed")
    assert _values(tmp_path / "copy" / "live.db") == ((1, 1) if end == "commits" else (0, 0))


@pytest.mark.parametrize("journal", ["folder", "empty", "ended"])
def test_a_journal_without_a_transaction_says_nothing_of_the_database(tmp_path: Path, journal: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    _database(tree / "live.db", 10)
    if journal == "folder":
        (tree / "live.db-journal").mkdir()
    else:
        (tree / "live.db-journal").write_bytes(bytes(512 * (journal == "ended")))
    assert new_store(tmp_path / "store").capture(tree_at(tree), Watcher()).busy == ()


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_a_file_that_shrinks_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_bytes(bytes(range(1, 11)) * (size // 10))
    fired = _meddle(monkeypatch, tree, lambda: os.truncate(tree / "file", 3), times=1)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    monkeypatch.undo()
    assert fired
    bring_back(store, snapshot, tmp_path / "copy")
    assert (tmp_path / "copy" / "file").read_bytes() == b"\1\2\3"


def _replace_once(tree: Path, change: Callable[[], None]) -> Callable[[], None]:
    done: list[int] = []

    def once() -> None:
        if not done:
            done.append(1)
            change()

    return once


@pytest.mark.parametrize(
    "what", ["gone", "moved", "folder", "link", "fifo", "folder gone", "link gone", "swap"]
)
def test_a_tree_that_changes_while_it_is_read_is_scanned_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Folders are read from the leaves up: `a/b/three` is the first file, `one` and `link` come last."""

    def change() -> None:
        match what:
            case "folder gone":
                (tree / "a" / "b").chmod(0o700)
                (tree / "a" / "b" / "three").unlink()
                (tree / "a" / "b").rmdir()
            case "link gone":
                (tree / "link").unlink()
            case "swap":
                (tree / "link").unlink()
                (tree / "link").write_text("file")
            case "moved":
                (tree / "one").rename(tree / "renamed")
            case _:
                (tree / "one").unlink()
                if what == "folder":
                    (tree / "one").mkdir()
                elif what == "link":
                    (tree / "one").symlink_to("a")
                elif what == "fifo":
                    os.mkfifo(tree / "one")

    fired = _meddle(monkeypatch, tree, _replace_once(tree, change), times=1)
    store = new_store(tmp_path / "store")
    snapshot = take(store, tree)
    monkeypatch.undo()
    assert fired
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_files_that_come_and_go_without_end_are_named(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flip() -> None:
        if (tree / "one").exists():
            (tree / "one").rename(tree / "other")
        else:
            (tree / "other").rename(tree / "one")
        (tree / "a" / "two").write_text(os.urandom(9).hex())

    _meddle(monkeypatch, tree / "a" / "two", flip, times=1000)
    _meddle(monkeypatch, tree, flip, times=1000)
    capture = new_store(tmp_path / "store").capture(tree_at(tree), Watcher())
    assert {*capture.busy} & {"one", "other", "a/two"}
    assert new_store(tmp_path / "store").verify([capture.snapshot], quick=False, observer=Watcher()) == {}


@pytest.mark.parametrize("walker", ["in Python"], indirect=True)  # what it interrupts is Python
def test_entries_that_vanish_while_a_folder_is_listed_are_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(5):
        (tree / str(number)).touch()
    scan = os.scandir
    fired: list[int] = []

    class Vanishing:
        def __init__(self, fd: int) -> None:
            self._entries = scan(fd)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            self._entries.close()

        def __iter__(self) -> Any:
            for entry in self._entries:
                if len(fired) < limit:
                    fired.append(1)
                    os.unlink(tree / entry.name)
                    yield entry
                    (tree / entry.name).touch()
                else:
                    yield entry

    monkeypatch.setattr(os, "scandir", Vanishing)
    limit = 1
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert fired
    assert len(os.listdir(tree)) == 4
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id
    for number in range(20):
        (tree / f"more {number}").touch()
    fired.clear()
    limit = 1000
    monkeypatch.setattr(os, "scandir", Vanishing)
    with pytest.raises(TreeUnsteady):  # another one each time
        take(new_store(tmp_path / "store"), tree)


def test_a_folder_swapped_between_listing_and_entering_is_scanned_again(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = _swap_folder_on_entry(
        monkeypatch, tree / "a" / "b", lambda path: path.symlink_to("/etc"), times=1
    )
    snapshot = take(new_store(tmp_path / "store"), tree)
    monkeypatch.undo()
    assert swapped
    assert take(new_store(tmp_path / "fresh"), tree).id == snapshot.id


def test_a_folder_that_is_never_there_when_it_is_entered_is_an_error(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = _swap_folder_on_entry(monkeypatch, tree / "a" / "b", lambda path: path.mkdir(), times=1000)
    with raises(TreeUnsteady, path="a/b"):
        take(new_store(tmp_path / "store"), tree)
    assert len(swapped) > 1


def test_an_error_while_a_folder_is_entered_is_told(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    _swap_folder_on_entry(monkeypatch, tree / "a" / "b", fail, times=1)
    with pytest.raises(SystemFailed, match="Input/output error"):
        take(new_store(tmp_path / "store"), tree)


def _swap_folder_on_entry(
    patch: pytest.MonkeyPatch, folder: Path, swap: Callable[[Path], None], *, times: int
) -> list[int]:
    """Move a folder away as it is about to be entered, and put something else there for the next look."""
    opening = os.open
    fired: list[int] = []

    def entering(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == folder.name and len(fired) < times:
            fired.append(1)
            folder.rename(folder.with_name(f"away {len(fired)}"))
            try:
                return opening(path, flags, mode, dir_fd=dir_fd)
            finally:
                swap(folder)
        return opening(path, flags, mode, dir_fd=dir_fd)

    patch.setattr(os, "open", entering)
    return fired
