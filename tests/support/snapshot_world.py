"""What tests of the snapshot store share: stores, trees, and a picture of a tree taken without the store."""

import os
import stat
import time
from pathlib import Path

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.adapters.snapshots.format.pack_format import Pack
from mulligan.adapters.snapshots.packs.objects import Objects
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import ChangeAction, PathChange, Swept
from mulligan.domain.plans.event import Event
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import ChangeReports, WorkingTree


class Watcher:
    """An observer that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int | None]] = []

    def event(self, event: Event) -> None:
        raise AssertionError("a store records no events")

    def output(self, plan_id: str, data: bytes) -> None:
        raise AssertionError("a store prints nothing")

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.told.append((what, done, total))


def new_store(
    home: Path, *, boot_id: str = "this boot", ahead_ns: int = 0, reports: ChangeReports | None = None
) -> PackedSnapshotStore:
    """Open a store as a new process does; to one whose clock is `ahead_ns` no file is young."""
    return PackedSnapshotStore(
        packs=pack_storage(home),
        leases=FlockLeases(home),
        work=home,
        now_ns=lambda: time.time_ns() + ahead_ns,
        boot_id=boot_id,
        reports=reports,
        ask_from=0,
    )


def pack_storage(home: Path) -> PackFolder:
    """Open the packs of a store."""
    return PackFolder(home / "packs", Rooms(home / "rooms"))


def objects_of(home: Path) -> Objects:
    """Open the objects of a store beside the store itself."""
    return Objects(pack_storage(home))


def pack_at(path: Path) -> Pack:
    """Open a pack file of a store."""
    return Pack.open(pack_storage(path.parent.parent), path.name)


def tree_at(path: Path, *excluded: str, patterns: tuple[str, ...] = ()) -> WorkingTree:
    return WorkingTree(
        path=path, cache_key=str(path), excluded=frozenset(excluded), patterns=patterns, real=False
    )


def take(store: PackedSnapshotStore, path: Path, *excluded: str) -> Snapshot:
    return store.capture(tree_at(path, *excluded), Watcher()).snapshot


def bring_back(
    store: PackedSnapshotStore, snapshot: Snapshot, path: Path, *excluded: str
) -> tuple[PathChange, ...]:
    return store.restore(snapshot, tree_at(path, *excluded), Watcher())


def restored(*paths: str) -> tuple[PathChange, ...]:
    return tuple(PathChange(path, ChangeAction.RESTORED) for path in paths)


def removed(*paths: str) -> tuple[PathChange, ...]:
    return tuple(PathChange(path, ChangeAction.REMOVED) for path in paths)


def picture(path: Path | bytes) -> dict[bytes, tuple[object, ...]]:
    """All that a restore brings back: names, kinds, modes, contents, links, attributes, mtimes, sharing."""
    top = os.fsencode(path)
    found: dict[bytes, tuple[object, ...]] = {}
    inodes: dict[tuple[int, int], bytes] = {}
    pending = [b"."]
    while pending:
        name = pending.pop()
        full = os.path.join(top, name)
        st = os.lstat(full)
        what: object = None
        shared: object = None
        attributes: object = ()
        if stat.S_ISDIR(st.st_mode):
            pending += [os.path.join(name, inner) for inner in sorted(os.listdir(full), reverse=True)]
        elif stat.S_ISLNK(st.st_mode):
            what = os.readlink(full)
        elif stat.S_ISREG(st.st_mode):
            with open(full, "rb") as file:
                what = file.read()
            shared = inodes.setdefault((st.st_dev, st.st_ino), name)
        if stat.S_ISDIR(st.st_mode) or stat.S_ISREG(st.st_mode):
            attributes = tuple(sorted((key, os.getxattr(full, key)) for key in os.listxattr(full)))
        found[name] = (
            stat.S_IFMT(st.st_mode),
            stat.S_IMODE(st.st_mode),
            what,
            st.st_mtime_ns,
            shared,
            attributes,
        )
    return found


def inodes(path: Path) -> dict[bytes, int]:
    """Every file's inode, to tell what was left alone."""
    top = os.fsencode(path)
    return {
        os.path.relpath(os.path.join(folder, name), top): os.lstat(os.path.join(folder, name)).st_ino
        for folder, _, names in os.walk(top)
        for name in names
    }


def age(path: Path) -> None:
    """Let the tree's files become older than any timestamp grain, so that the stat cache may be trusted."""
    time.sleep(0.05)


def history(store: PackedSnapshotStore, tree: Path, length: int) -> list[Snapshot]:
    """Captures that each add something, and share the rest."""
    taken: list[Snapshot] = []
    for number in range(length):
        (tree / "counter").write_bytes(os.urandom(2000) + str(number).encode())
        taken.append(take(store, tree))
    return taken


def packs(home: Path) -> dict[str, int]:
    """The packs of a store with their sizes."""
    return {path.name: path.stat().st_size for path in (home / "packs").glob("*.pack")}


def sound(home: Path, *snapshots: Snapshot) -> bool:
    """Whether a process that knows nothing yet can read all of them."""
    return new_store(home).verify(snapshots, quick=False, observer=Watcher()) == {}


def sweep(store: PackedSnapshotStore, *live: Snapshot) -> Swept:
    return store.sweep(lambda: live, dry_run=False, observer=Watcher())
