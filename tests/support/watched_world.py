"""What tests of the watch share: a watched tree, each look at which is proved by a scan that knows nothing."""

import shutil
import time
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange
from mulligan.ports import Observer, SnapshotStore, WorkingTree
from tests.support.snapshot_world import Watcher, new_store, pack_storage, tree_at


class World:
    """A watched tree, and a way to look at it that proves each look by a scan that knows nothing."""

    def __init__(self, home: Path, *excluded: str, others_at_work: bool = False) -> None:
        self.home = home
        self.path = home / "tree"
        if not self.path.exists():
            (self.path / "sub" / "deep").mkdir(parents=True)
            (self.path / "sub" / "file").write_text("first")
            (self.path / "sub" / "deep" / "file").write_text("deep")
            (self.path / "top").write_text("top")
        self.tree: WorkingTree = tree_at(self.path, *excluded)
        self.store: PackedSnapshotStore = new_store(home / "store")
        self.watching = self.store.watch(self.tree, others_at_work=others_at_work)

    def look(self) -> str:
        """Capture; gives why all was scanned, or "" where the watch told what changed."""
        capture = self.store.capture(self.tree, Watcher())
        look = self.store.last_look
        assert look.watched == (look.reason == "")
        assert _essence(capture) == _essence(self.fresh())
        assert self.store.verify([capture.snapshot], quick=False, observer=Watcher()) == {}
        return look.reason

    def fresh(self) -> Capture:
        home = self.home / "fresh"
        shutil.rmtree(home, ignore_errors=True)
        return new_store(home).capture(self.tree, Watcher())


def _essence(capture: Capture) -> tuple[object, ...]:
    return capture.snapshot, capture.files, capture.unheld


class Watching(PackedSnapshotStore):
    """A store that watches every tree from the first time it is asked about it until the test ends."""

    watches: ExitStack
    watched: set[str]

    def capture(self, tree: WorkingTree, observer: Observer, *, at_work: bool = False) -> Capture:
        self._begin(tree)
        return super().capture(tree, observer, at_work=at_work)

    def compare(self, snapshot: Snapshot, tree: WorkingTree) -> tuple[PathChange, ...]:
        self._begin(tree)
        return super().compare(snapshot, tree)

    def restore(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> tuple[PathChange, ...]:
        self._begin(tree)
        return super().restore(snapshot, tree, observer)

    def watch(self, tree: WorkingTree, *, others_at_work: bool) -> AbstractContextManager[None]:
        self.watched.add(tree.cache_key)
        return super().watch(tree, others_at_work=others_at_work)

    def _begin(self, tree: WorkingTree) -> None:
        if tree.cache_key not in self.watched:
            self.watches.enter_context(self.watch(tree, others_at_work=False))


def watching_store(home: Path, watches: ExitStack) -> SnapshotStore:
    store = Watching(
        packs=pack_storage(home),
        leases=FlockLeases(home),
        work=home,
        now_ns=time.time_ns,
        boot_id="this boot",
    )
    store.watches, store.watched = watches, set()
    return store
