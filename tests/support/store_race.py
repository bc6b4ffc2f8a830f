"""Machines that capture, sweep, prune and read one shared store at once; some stand still at the worst moments.

Whatever a row names must be readable from the bucket for as long as the row is there.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

from mulligan.boundaries import watch
from mulligan.domain.checkpoints.snapshot import ObjectId, Root, Snapshot, SnapshotId
from mulligan.errors import SnapshotDamaged, StoreMoved, StoreUnreachable
from mulligan.ports import Lease
from tests.support.shared_store import Machine, SharedStore
from tests.support.snapshot_world import Watcher, take

_TABLE = "CREATE TABLE race (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, root TEXT, address TEXT)"
_KEPT = 6  # snapshots that stay
_CONTENTS = 14  # so few that what was thrown away comes back
_FILES = 5
_LOOKED_AT = 0.6  # of the captures


class Race:
    """One run. `checked` is whether commits are checked: without it snapshots are lost, which shows that it looks."""

    def __init__(
        self,
        store: SharedStore,
        folder: Path,
        *,
        seed: int,
        grace: float,
        checked: bool = True,
        slow: float = 1.0,
    ) -> None:
        self.store = store
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.lost: list[str] = []
        self.failures: list[BaseException] = []
        self._seed = seed
        self._grace = grace
        self._checked = checked
        self._slow = slow
        self._lock = Lock()
        self._over = Event()
        connection = store.connect()
        with connection.transaction(write=True):
            connection.execute(_TABLE)
        connection.close()

    def run(self, *, captures: int, capturers: int = 3, sweepers: int = 2, readers: int = 1) -> None:
        """Let every capturer make so many captures while the others go on."""
        workers = [self._thread(self._capture, number, captures) for number in range(capturers)]
        others = [self._thread(self._prune, 100)]
        others += [self._thread(self._sweep, 200 + number) for number in range(sweepers)]
        others += [self._thread(self._read, 300 + number) for number in range(readers)]
        for thread in (*workers, *others):
            thread.start()
        for thread in workers:
            thread.join()
        self._over.set()
        for thread in others:
            thread.join()
        if self.failures:
            raise self.failures[0]
        for number, snapshot in self._rows(self._machine("last")):
            self._look(self._machine("last"), number, snapshot)

    def add(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def _thread(self, work: Callable[..., None], number: int, *more: int) -> Thread:
        def run() -> None:
            try:
                work(random.Random(self._seed * 1000 + number), self._machine(str(number)), *more)
            except BaseException as exc:  # noqa: BLE001 - raised in the test's thread
                self.failures.append(exc)
                self._over.set()

        return Thread(target=run)

    def _machine(self, name: str) -> Machine:
        with self._lock:
            return self.store.open(self.folder / f"machine {name}", grace=self._grace)

    def _stand_still(self, chance: random.Random, longest: float) -> None:
        time.sleep(chance.random() * longest * self._slow)

    def _capture(self, chance: random.Random, machine: Machine, captures: int) -> None:
        rows, store = machine.connect(), machine.store()
        tree = machine.work / "tree"
        tree.mkdir(parents=True)
        for _ in range(captures):
            if self._over.is_set():
                break
            for name in chance.sample(range(_FILES), 2):
                (tree / str(name)).write_bytes(f"{chance.randrange(_CONTENTS)} ".encode() * 3000)
            with machine.leases.shared(Lease.OBJECTS):
                try:
                    snapshot = take(store, tree)
                except StoreUnreachable:
                    self.add("met a store that was away")
                    continue
                self._stand_still(chance, 1.0 if chance.random() < 0.4 else 0.02)
                if chance.random() < 0.05:
                    self.add("died before they committed")
                    continue
                try:
                    with rows.transaction(write=True):
                        if self._checked:
                            machine.check.before_rows(rows)
                        root = snapshot.roots[0]
                        rows.execute(
                            "INSERT INTO race (root, address) VALUES (?, ?)", (root.id, root.address)
                        )
                except StoreMoved:
                    self.add("refused at their commit")
                else:
                    self.add("captures")
            if chance.random() < _LOOKED_AT:
                self._look_at_newest(machine, snapshot)
        rows.close()

    def _look_at_newest(self, machine: Machine, snapshot: Snapshot) -> None:
        for number, each in self._rows(machine)[-1:]:
            if each == snapshot:
                self._look(self.store.open(machine.work / "other"), number, each)
        shutil.rmtree(machine.work / "other", ignore_errors=True)

    def _prune(self, chance: random.Random, machine: Machine) -> None:
        rows = machine.connect()
        while not self._over.is_set():
            time.sleep(0.02)
            with rows.transaction(write=True):
                found = [row["id"] for row in rows.rows("SELECT id FROM race ORDER BY id")]
                for number in chance.sample(found, max(0, len(found) - _KEPT)):
                    rows.execute("DELETE FROM race WHERE id = ?", (number,))
                    self.add("pruned")
        rows.close()

    def _sweep(self, chance: random.Random, machine: Machine) -> None:
        def frozen(when: str, name: str) -> None:
            if name == "pack.remove" and when == "before":
                if chance.random() < 0.3:
                    self.add("sweeps that stood still before their deletes")
                    self._stand_still(chance, 0.6)
            elif name == "pack.unlist" and when == "after":
                self.add("removals")

        watch(frozen)
        while not self._over.is_set():
            self._stand_still(chance, 0.05)
            try:
                swept = machine.store().sweep(
                    lambda: [snapshot for _, snapshot in self._rows(machine)],
                    dry_run=False,
                    observer=Watcher(),
                )
            except StoreUnreachable:
                self.add("met a store that was away")
                continue
            except SnapshotDamaged:
                self.add("sweeps that met a snapshot which was pruned, or lost")
                for number, snapshot in self._rows(machine):
                    self._look(self.store.open(machine.work), number, snapshot)
                continue
            self.add("packs removed", swept.packs_removed + swept.packs_rewritten)

    def _read(self, chance: random.Random, machine: Machine) -> None:
        while not self._over.is_set():
            rows = self._rows(machine)
            if rows:
                shutil.rmtree(
                    machine.work / "bucket-cache", ignore_errors=True
                )  # from the bucket, not from here
                self._look(self.store.open(machine.work), *chance.choice(rows))

    def _look(self, machine: Machine, number: int, snapshot: Snapshot) -> None:
        """Read all of a snapshot; it is lost if its row is there afterwards."""
        while True:
            try:
                damage = machine.store().verify([snapshot], quick=False, observer=Watcher())
                break
            except StoreUnreachable:
                self.add("met a store that was away")
        machine.register.close()
        self.add("snapshots read")
        if damage and number in [each for each, _ in self._rows(machine)]:
            self.lost.append(f"{number}: {damage}")

    def _rows(self, machine: Machine) -> list[tuple[int, Snapshot]]:
        rows = machine.connect()
        try:
            with rows.transaction(write=False):
                found = rows.rows("SELECT id, root, address FROM race ORDER BY id")
        finally:
            rows.close()
        return [
            (row["id"], Snapshot((Root(SnapshotId(row["root"]), ObjectId(row["address"])),))) for row in found
        ]
