"""Whatever was done to a database and however it is written: a restore brings back exactly what was captured."""

import random
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.databases import beside, content, is_sound, new_world, run_sql
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.sampled_from(["x" * 5000, b"\0" * 70000]),
)
VERBS = (
    "insert",
    "insert",
    "update",
    "delete",
    "create",
    "drop",
    "index",
    "vacuum",
    "version",
    "mode",
    "crash",
)


@dataclass(frozen=True)
class Act:
    """One thing done to a database: what, to which of its tables, and with what."""

    verb: str
    table: int
    value: object
    number: int


ACTS = st.lists(
    st.builds(
        Act,
        verb=st.sampled_from(VERBS),
        table=st.integers(0, 2),
        value=VALUES,
        number=st.integers(0, 2**31 - 1),
    ),
    max_size=12,
)
PAGE_SIZES = st.sampled_from([512, 1024, 4096, 16384, 65536])
MODES = ("delete", "truncate", "persist", "wal")


def do(connection: sqlite3.Connection, act: Act) -> None:
    table = f"t{act.table}"
    match act.verb:
        case "insert":
            connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (act.number, act.value))
        case "update":
            connection.execute(f"UPDATE {table} SET b = ?", (act.value,))
        case "delete":
            connection.execute(f"DELETE FROM {table} WHERE a % 2 = ?", (act.number % 2,))
        case "create":
            connection.execute(f"CREATE TABLE {table} (a, b)")
        case "drop":
            connection.execute(f"DROP TABLE {table}")
        case "index":
            connection.execute(f"CREATE INDEX i{act.number} ON {table} (b)")
        case "vacuum":
            connection.execute("VACUUM")
        case "version":
            connection.execute(f"PRAGMA user_version = {act.number}")
            connection.execute(f"PRAGMA application_id = {act.number}")
        case _:
            connection.execute(f"PRAGMA journal_mode = {MODES[act.number % 4]}")


def work(path: Path, acts: list[Act]) -> None:
    """Do things, what cannot be done left out; a crash leaves the files as they are at that instant."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("PRAGMA cache_size = 1")
        for act in acts:
            if act.verb == "crash":
                crash(connection, path, act)
                connection = sqlite3.connect(path, isolation_level=None)
                continue
            with suppress(sqlite3.Error):
                do(connection, act)
    finally:
        connection.close()


def crash(connection: sqlite3.Connection, path: Path, act: Act) -> None:
    """Stop in the middle of a transaction that has reached the files."""
    with suppress(sqlite3.Error):
        connection.execute("BEGIN IMMEDIATE")
        rows = [(n, "lost" * 300) for n in range(50)]
        connection.executemany(f"INSERT INTO t{act.table} VALUES (?, ?)", rows)
    left = {name: (path.parent / name).read_bytes() for name in beside(path) if not name.endswith("-shm")}
    connection.close()
    for name in beside(path):
        (path.parent / name).unlink()
    for name, data in left.items():
        (path.parent / name).write_bytes(data)


def seen(path: Path, room: Path) -> object:
    """What SQLite makes of the files, on a copy: looking recovers what was left half done."""
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir()
    for name in beside(path):
        shutil.copy(path.parent / name, room / name)
    run_sql(room / path.name, "SELECT count(*) FROM sqlite_schema")
    assert is_sound(room / path.name)
    return content(room / path.name)


@settings(max_examples=25 * LONGER, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PAGE_SIZES, st.sampled_from([0, 1, 2]), ACTS, ACTS, ACTS, st.randoms(use_true_random=False))
def test_capture_and_restore_of_any_database(
    page_size: int, vacuum: int, before: list[Act], first: list[Act], second: list[Act], chance: random.Random
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder) / "room"
        world = new_world(Path(folder))
        run_sql(
            world.real,
            f"PRAGMA page_size = {page_size}",
            f"PRAGMA auto_vacuum = {vacuum}",
            "CREATE TABLE t0 (a, b)",
        )
        work(world.real, before)
        real = seen(world.real, room)
        sandbox = world.make()
        path = Path(sandbox.path)
        states = [(sandbox.base, real)]
        assert seen(path, room) == real
        for acts in (first, second):
            work(path, acts)
            capture = world.capture(sandbox)
            assert capture.unheld == ()
            assert world.capture(sandbox).snapshot.same_as(capture.snapshot)
            states.append((capture.snapshot, seen(path, room)))
        chance.shuffle(states)
        for snapshot, expected in states:
            told = world.kind.compare(sandbox, snapshot)
            assert world.kind.restore(sandbox, snapshot, Watcher()) == told
            assert beside(path) == ["app.db"]
            with closing(sqlite3.connect(path)) as reader:
                assert reader.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert seen(path, room) == expected
            assert world.capture(sandbox).snapshot.same_as(snapshot)
        assert seen(world.real, room) == real
