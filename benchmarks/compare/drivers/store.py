"""A process around mulligan's snapshot store: one call and over, or asked in lines of JSON."""

import json
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.event import Event
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import WorkingTree


class _Nobody:
    """An observer that does not look."""

    def event(self, event: Event) -> None: ...

    def output(self, data: bytes) -> None: ...

    def progress(self, what: str, done: int, total: int | None) -> None: ...


class Stored:
    """One tree and its store."""

    def __init__(self, tree: str, home: str) -> None:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        work = Path(home)
        self._store = PackedSnapshotStore(
            packs=PackFolder(work / "packs", Rooms(work / "rooms")),
            leases=FlockLeases(work),
            work=work,
            now_ns=time.time_ns,
            boot_id=boot_id,
        )
        self._tree = WorkingTree(path=Path(tree), cache_key=tree, excluded=frozenset(), real=False)

    def watch(self) -> AbstractContextManager[None]:
        """Watch the tree, as a running plan does with its sandbox."""
        return self._store.watch(self._tree, others_at_work=False)

    def snapshot(self) -> str:
        """Capture the tree; return the snapshot's name."""
        with self._store.hold():
            return self._store.capture(self._tree, _Nobody()).snapshot.to_text()

    def restore(self, name: str) -> None:
        """Restore the tree."""
        self._store.restore(Snapshot.from_text(name), self._tree, _Nobody())


def serve(stored: Stored) -> None:
    """Answer requests until there are none. The first snapshot sets up the watch, and its time includes that."""
    with stored.watch():
        for line in sys.stdin:
            request = json.loads(line)
            started = time.perf_counter()
            name = request.get("name")
            if request["verb"] == "snapshot":
                name = stored.snapshot()
            else:
                stored.restore(name)
            answer = {"seconds": time.perf_counter() - started, "name": name}
            print(json.dumps(answer), flush=True)


def main(verb: str, arguments: list[str]) -> None:
    if verb == "serve":
        serve(Stored(*arguments))
    elif verb == "snapshot":
        print(json.dumps({"name": Stored(*arguments).snapshot()}))
    else:
        tree, home, name = arguments
        Stored(tree, home).restore(name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
