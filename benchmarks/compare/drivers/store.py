"""A process around mulligan's snapshot store: one call and over, or asked in lines of JSON."""

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.event import Event
from mulligan.domain.snapshot import Snapshot
from mulligan.ports import WorkingTree


class _Nobody:
    """An observer that does not look."""

    def event(self, event: Event) -> None: ...

    def output(self, data: bytes) -> None: ...

    def progress(self, what: str, done: int, total: int | None) -> None: ...


def describe() -> dict[str, Any]:
    """Tell what this version of the store can do."""
    return {"watch": hasattr(PackedSnapshotStore, "watch")}


class Stored:
    """One tree and its store."""

    def __init__(self, tree: str, home: str) -> None:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        self._store = PackedSnapshotStore(home=Path(home), now_ns=time.time_ns, boot_id=boot_id)
        self._tree = WorkingTree(path=Path(tree), cache_key=tree, excluded=frozenset())

    def watch(self) -> AbstractContextManager[object]:
        """Watch the tree where the store can."""
        watch: Callable[[WorkingTree], AbstractContextManager[object]] | None = getattr(
            self._store, "watch", None
        )
        return nullcontext() if watch is None else watch(self._tree)

    def snapshot(self) -> str:
        """Capture the tree; gives the snapshot's name."""
        with self._store.hold():
            return self._store.capture(self._tree, _Nobody()).snapshot.to_text()

    def restore(self, name: str) -> None:
        """Restore the tree."""
        self._store.restore(Snapshot.from_text(name), self._tree, _Nobody())


def serve(stored: Stored) -> None:
    """Answer until nobody asks any more. The first snapshot's time includes setting the watch."""
    started = time.perf_counter()
    with stored.watch():
        setting_up = time.perf_counter() - started
        for line in sys.stdin:
            request = json.loads(line)
            started = time.perf_counter()
            name = request.get("name")
            if request["verb"] == "snapshot":
                name = stored.snapshot()
            else:
                stored.restore(name)
            answer = {"seconds": time.perf_counter() - started + setting_up, "name": name}
            setting_up = 0.0
            print(json.dumps(answer), flush=True)


def main(verb: str, arguments: list[str]) -> None:
    if verb == "describe":
        print(json.dumps(describe()))
    elif verb == "serve":
        serve(Stored(*arguments))
    elif verb == "snapshot":
        print(json.dumps({"name": Stored(*arguments).snapshot()}))
    else:
        tree, home, name = arguments
        Stored(tree, home).restore(name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
