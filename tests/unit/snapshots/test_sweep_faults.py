"""Sweeps that are cut off, and sweeps beside captures and reads of other processes."""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from mulligan.adapters.snapshots.packs.repack import ENOUGH_TO_JOIN
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from tests.support.forks import ended, in_a_process, killed_at
from tests.support.long_run import LONGER
from tests.support.snapshot_world import Watcher, bring_back, new_store, picture, sound, take, tree_at

# Packs are the same whichever way trees are walked.
pytestmark = pytest.mark.parametrize("walker", ["in C"], indirect=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "steady").write_text("the same in all of them")
    return path


@pytest.fixture
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill is no power cut: what was written is there."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def make_history(home: Path, tree: Path) -> tuple[list[Snapshot], list[Snapshot]]:
    """A store with packs that go, packs that are rewritten and small ones that are joined; live and all."""
    store = new_store(home)
    taken: list[Snapshot] = []
    for number in range(24):
        (tree / "large").write_bytes(os.urandom(20_000))
        (tree / f"file {number % 4}").write_bytes(os.urandom(3_000))
        taken.append(take(store, tree))
    return taken[9::2], taken


def size_of(home: Path) -> int:
    return sum(path.stat().st_size for path in (home / "packs").iterdir())


@pytest.mark.usefixtures("quick_disk")
def test_a_sweep_killed_anywhere_loses_nothing_and_the_next_completes_it(home: Path, tree: Path) -> None:
    live, taken = make_history(home, tree)
    original = {path.name: path.read_bytes() for path in (home / "packs").iterdir()}

    def sweep() -> None:
        new_store(home).sweep(lambda: live, dry_run=False, observer=Watcher())

    swept_size = 0
    number = 1
    while True:
        for path in (home / "packs").iterdir():
            path.unlink()
        for name, data in original.items():
            (home / "packs" / name).write_bytes(data)
        killed = killed_at(number, sweep)
        assert sound(home, *live), f"killed at call {number}"
        sweep()
        assert sound(home, *live), f"completed after a kill at call {number}"
        assert not list((home / "rooms").iterdir())
        swept_size = max(swept_size, size_of(home))
        if not killed:
            break
        number += 1
    assert number > 15  # the fault did fire, at every call there is
    assert swept_size < sum(map(len, original.values())) * 2 / 3
    assert not sound(home, taken[0])


@pytest.mark.usefixtures("quick_disk")
def test_a_capture_killed_anywhere_while_it_joins_packs_loses_nothing(home: Path, tree: Path) -> None:
    store = new_store(home)
    taken: list[Snapshot] = []
    for _ in range(ENOUGH_TO_JOIN - 1):
        (tree / "changing").write_bytes(os.urandom(300))
        taken.append(take(store, tree))
    original = {path.name: path.read_bytes() for path in (home / "packs").iterdir()}
    (tree / "changing").write_bytes(os.urandom(300))
    number = 1
    while True:
        for path in (home / "packs").iterdir():
            path.unlink()
        for name, data in original.items():
            (home / "packs" / name).write_bytes(data)
        killed = killed_at(number, lambda: take(new_store(home), tree))
        assert sound(home, *taken), f"killed at call {number}"
        if not killed:
            break
        number += 1
    assert number > ENOUGH_TO_JOIN  # the fault did fire, at every pack that goes
    assert len(list((home / "packs").iterdir())) < ENOUGH_TO_JOIN
    assert sound(home, take(new_store(home), tree), *taken)


def test_an_interrupted_sweep_lets_go_of_its_locks(home: Path, tree: Path) -> None:
    live, _ = make_history(home, tree)
    calls: list[int] = []

    def interrupt() -> list[Snapshot]:
        calls.append(1)
        if len(calls) == 3:  # with the lock in hand
            raise KeyboardInterrupt
        return live

    store = new_store(home)
    with pytest.raises(KeyboardInterrupt):
        store.sweep(interrupt, dry_run=False, observer=Watcher())
    assert ended(in_a_process(lambda: store.hold().__enter__())) == 0
    store.sweep(lambda: live, dry_run=False, observer=Watcher())
    assert sound(home, *live)


def test_a_sweep_waits_for_a_capture_whose_rows_are_not_committed(
    home: Path, tree: Path, tmp_path: Path
) -> None:
    live, taken = make_history(home, tree)
    rows = tmp_path / "rows"
    rows.write_text("\n".join(snapshot.to_text() for snapshot in live))
    bring_back(new_store(home), taken[5], tree)
    ready, go_on = os.pipe(), os.pipe()

    def capture() -> None:
        store = new_store(home)
        with store.hold():
            snapshot = take(store, tree)
            os.write(ready[1], b"x")
            os.read(go_on[0], 1)
            with rows.open("a") as file:
                file.write("\n" + snapshot.to_text())

    capturing = in_a_process(capture)
    os.read(ready[0], 1)

    def read_rows() -> list[Snapshot]:
        return [Snapshot.from_text(line) for line in rows.read_text().splitlines()]

    sweeping = in_a_process(lambda: new_store(home).sweep(read_rows, dry_run=False, observer=Watcher()))
    time.sleep(0.3)
    assert os.waitpid(sweeping, os.WNOHANG) == (0, 0)  # it waits
    os.write(go_on[1], b"x")
    assert ended(capturing) == 0
    assert ended(sweeping) == 0
    assert taken[5].id in [snapshot.id for snapshot in read_rows()]
    assert sound(home, *read_rows())


def test_a_reader_whose_packs_were_rewritten_looks_again(home: Path, tree: Path, tmp_path: Path) -> None:
    """It knows the packs of before the sweep, and has opened none of them yet."""
    live, _ = make_history(home, tree)
    reader = new_store(home)
    reader.verify([], quick=True, observer=Watcher())  # opens the store
    before = set(os.listdir(home / "packs"))
    sweeping = in_a_process(lambda: new_store(home).sweep(lambda: live, dry_run=False, observer=Watcher()))
    assert ended(sweeping) == 0
    assert not before & set(os.listdir(home / "packs"))
    assert reader.difference(live[0].roots[0], live[-1].roots[0])
    bring_back(reader, live[-1], tmp_path / "copy")
    assert take(reader, tmp_path / "copy").id == live[-1].id


class Rows:
    """Rows in files, one per worker, each replaced at once: what a database is to the store."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder

    def read(self, worker: int) -> list[Snapshot]:
        try:
            return [Snapshot.from_text(text) for text in json.loads((self._folder / f"{worker}").read_text())]
        except FileNotFoundError:
            return []

    def write(self, worker: int, snapshots: list[Snapshot]) -> None:
        path = self._folder / f"{worker}.new"
        path.write_text(json.dumps([snapshot.to_text() for snapshot in snapshots]))
        path.rename(self._folder / f"{worker}")

    def all(self) -> list[Snapshot]:
        return [each for worker in range(WORKERS) for each in self.read(worker)]


WORKERS = 3
KEPT = 5


def work(home: Path, rows: Rows, tree: Path, seed: int, enough: Path) -> None:
    """Capture, prune, restore until it is enough: contents come from a small pool, so that old objects are reused."""
    chance = random.Random(seed)
    store = new_store(home)
    done = 0
    while not enough.exists() or done < 20:
        done += 1
        if chance.random() < 0.2:
            store = new_store(home)  # another process, for all the store knows
        for _ in range(3):
            name = f"file {chance.randrange(6)}"
            (tree / name).write_bytes(bytes([chance.randrange(8)]) * 2000 + name.encode())
            os.utime(tree / name, ns=(0, 0))
        with store.hold():
            snapshot = store.capture(tree_at(tree), Watcher()).snapshot
            mine = rows.read(seed)
            rows.write(seed, [*mine, snapshot][-KEPT:])
        if chance.random() < 0.3:
            back = chance.choice(rows.read(seed))
            bring_back(store, back, tree)
            assert take_id(store, tree) == back.id


def take_id(store: PackedSnapshotStore, tree: Path) -> str:
    with store.hold():
        return take(store, tree).id


@pytest.mark.usefixtures("quick_disk")
def test_captures_and_restores_of_several_processes_beside_sweeps(home: Path, tmp_path: Path) -> None:
    rows = Rows(tmp_path / "rows")
    enough = tmp_path / "enough"
    workers: list[int] = []
    for number in range(WORKERS):
        (tmp_path / f"tree {number}").mkdir()

    def start(number: int) -> int:
        return in_a_process(lambda: work(home, rows, tmp_path / f"tree {number}", number, enough))

    workers = [start(number) for number in range(WORKERS)]
    sweeps = removed = 0
    while any(os.waitid(os.P_PID, w, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None for w in workers):
        swept = new_store(home).sweep(rows.all, dry_run=False, observer=Watcher())
        sweeps += 1
        removed += swept.objects_removed
        if sweeps >= 12 * LONGER and removed > 20:  # there was something to delete while they were at work
            enough.touch()
        if sweeps in (
            3,
            6,
        ):  # one of them dies in the middle of whatever it does, and another takes its place
            os.kill(workers[0], signal.SIGKILL)
            ended(workers[0])
            workers[0] = start(0)
    assert [ended(worker) for worker in workers] == [0] * WORKERS
    assert enough.exists()
    live = rows.all()
    assert len(live) == WORKERS * KEPT
    assert sound(home, *live)
    new_store(home).sweep(lambda: live, dry_run=False, observer=Watcher())
    assert sound(home, *live)
    bring_back(new_store(home), live[0], tmp_path / "copy")
    assert picture(tmp_path / "copy")
