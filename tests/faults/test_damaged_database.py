"""A database that is locked, read-only, truncated or garbage: told clearly, and nothing is made worse."""

import gc
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mulligan.adapters.db import connection
from tests.commands import program
from tests.support.homes import home_of
from tests.support.ordinary_user import as_ordinary_user
from tests.support.snapshot_world import picture

PLAN = "name: p\nsteps:\n  - {name: one, tool: write_file, args: {path: one, content: '1'}}\n"
READING = (
    ("plan", "status"),
    ("plan", "list"),
    ("plan", "log"),
    ("checkpoint", "list"),
    ("checkpoint", "verify"),
)
WRITING = (
    ("plan", "create", "plan.yaml"),
    ("plan", "execute", "plan.yaml"),
    ("plan", "rollback", "--yes", "p", "first"),
    ("checkpoint", "create", "p", "--label", "x"),
    ("checkpoint", "prune", "p", "--keep", "2"),
    ("plan", "cancel", "p"),
)


@pytest.fixture(autouse=True, scope="module")
def _little_garbage() -> None:
    """What other tests left is out of the way of the collections below."""
    gc.collect()
    gc.freeze()


def ask(folder: Path, *words: str) -> dict[str, Any]:
    """Run a command and end what a process would end with itself: its connection to the database."""
    answer = program.ask(folder, *words)
    gc.collect()
    return answer


def data_of(folder: Path, *words: str) -> Any:
    answer = ask(folder, *words)
    assert answer["exit_code"] == 0, answer
    return answer["data"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return _project(tmp_path / "project")


def _project(folder: Path) -> Path:
    """A project with a plan that ran."""
    folder.mkdir()
    (folder / "plan.yaml").write_text(PLAN)
    data_of(folder, "plan", "execute", "plan.yaml")
    return folder


def _database(folder: Path) -> Path:
    return home_of(folder) / "mulligan.db"


def _bytes(folder: Path) -> object:
    """All that must not change: the database, the snapshots, the sandboxes."""
    home = home_of(folder)
    packs = {pack.name: pack.read_bytes() for pack in (home / "store" / "packs").iterdir()}
    return _database(folder).read_bytes(), packs, picture(home / "sandboxes")


def _unusable(folder: Path, *words: str) -> str:
    """Run a command that must refuse the database; gives what it said."""
    answer = ask(folder, *words)
    assert (answer["exit_code"], answer["error"]["kind"]) == (1, "database_unusable"), (words, answer)
    assert str(_database(folder)) in answer["error"]["message"]
    assert answer["error"]["hint"]
    return str(answer["error"]["message"])


def _cut(share: float) -> Callable[[Path], object]:
    return lambda file: os.truncate(file, int(file.stat().st_size * share) | 1)


HURTS: dict[str, Callable[[Path], object]] = {
    "garbage": lambda file: file.write_bytes(b"no database at all " * 5000),
    "a few bytes": lambda file: os.truncate(file, 10),
    "half of it": _cut(0.5),
    "nearly all of it": _cut(0.97),
    "a garbled beginning": lambda file: file.write_bytes(b"\0" * 4096 + file.read_bytes()[4096:]),
}


@pytest.mark.parametrize("how", HURTS)
def test_a_damaged_database_is_told_and_nothing_is_built_on_it(folder: Path, how: str) -> None:
    file = _database(folder)
    good = file.read_bytes()
    HURTS[how](file)
    before = _bytes(folder)

    for words in (*READING, *WRITING, ("gc",), ("init",)):
        _unusable(folder, *words)

    assert _bytes(folder) == before
    for beside in (f"{file}-wal", f"{file}-shm"):
        Path(beside).unlink(missing_ok=True)
    file.write_bytes(good)
    assert data_of(folder, "plan", "status")["state"] == "complete"
    assert data_of(folder, "checkpoint", "verify")["damaged"] == []


def test_a_database_that_someone_keeps_locked_can_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_BUSY_MS", 50)
    with closing(sqlite3.connect(_database(folder), isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        before = _bytes(folder)
        for words in READING:
            assert ask(folder, *words)["exit_code"] == 0, words
        for words in WRITING:
            assert "locked" in _unusable(folder, *words)
        assert _bytes(folder) == before
        other.execute("ROLLBACK")
    assert data_of(folder, "checkpoint", "create", "p", "--label", "x")


def test_a_database_locked_against_readers_too_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_BUSY_MS", 50)
    with closing(sqlite3.connect(_database(folder), isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        for words in (*READING, *WRITING, ("gc",)):
            assert "locked" in _unusable(folder, *words)


def test_a_database_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        os.environ["HOME"] = str(home)
        folder = _project(home / "project")
        _database(folder).chmod(0o400)
        before = _bytes(folder)
        for words in (*READING, *WRITING, ("gc",)):
            assert "read-only" in _unusable(folder, *words)
        assert _bytes(folder) == before
        _database(folder).chmod(0o600)
        assert data_of(folder, "checkpoint", "create", "p", "--label", "x")

    as_ordinary_user(tmp_path, check)


def test_a_home_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    def check(home: Path) -> None:
        os.environ["HOME"] = str(home)
        folder = _project(home / "project")
        before = _bytes(folder)
        _database(folder).chmod(0o400)
        _database(folder).parent.chmod(0o500)
        for words in WRITING:
            answer = ask(folder, *words)
            assert answer["exit_code"] == 1, answer
            assert answer["error"]["kind"] in ("database_unusable", "system_failed"), answer
            assert answer["error"]["hint"]
        _database(folder).parent.chmod(0o700)
        assert _bytes(folder) == before

    as_ordinary_user(tmp_path, check)


def test_the_log_of_a_killed_process_is_not_lost_with_its_index(folder: Path) -> None:
    """The rows of the last commits may stand in the log alone; its index is made anew."""
    file = _database(folder)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:  # keeps the log from being folded in
        other.execute("BEGIN")
        other.execute("SELECT * FROM plans").fetchall()
        data_of(folder, "checkpoint", "create", "p", "--label", "x")
        log = Path(f"{file}-wal")
        killed = {part: part.read_bytes() for part in (file, log)}
    assert killed[log]
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()
    for part, data in killed.items():
        part.write_bytes(data)
    assert [c["label"] for c in data_of(folder, "checkpoint", "list")["checkpoints"]][-1] == "x"
