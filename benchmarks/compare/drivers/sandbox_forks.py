"""A process that forks a sandbox again and again: from nothing, and from a parked copy; prints the seconds as JSON.

Called with the folder to make a sandbox of, a folder for the project home, and how often.
"""

import json
import sys
import time
from pathlib import Path

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.adapters.snapshots.store import PackedSnapshotStore
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.osfiles.tempdirs import Rooms
from mulligan.ports import SandboxOrder, Unobserved

_RESOURCE = Resource(
    name="data",
    type=ResourceType.FS_DIRECTORY,
    location="tree",
    strategy=None,
    from_revision=None,
    create=False,
)


def _kind(home: Path, tree: Path) -> DirectorySandboxes:
    """Put sandboxes of folders together, as a new process does."""
    store = home / "store"
    packed = PackedSnapshotStore(
        packs=PackFolder(store / "packs", Rooms(store / "rooms")),
        leases=FlockLeases(store),
        work=store,
        now_ns=time.time_ns,
        boot_id=Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
    )
    return DirectorySandboxes(
        Workplace(
            store=packed,
            home=home / "sandboxes",
            project=tree.parent,
            project_home=home,
            user_home=Path("/nonexistent"),
            pool=lambda: 1,
        )
    )


def _order(home: Path, tree: Path, number: int) -> SandboxOrder:
    plan = PlanId(f"01JZZZZZZZZZZZZZZZZZZZZZ{number:02}")
    return SandboxOrder(
        plan_id=plan,
        resource=_RESOURCE,
        location=tree,
        path=home / "sandboxes" / plan / "data",
        excluded=frozenset(),
        include_ignored=True,
        patterns=(),
    )


def _fork(home: Path, tree: Path, parent: Sandbox, number: int) -> tuple[float, Sandbox]:
    """Fork in a store that has nothing in memory, as that of a child plan."""
    kind, order = _kind(home, tree), _order(home, tree, number)
    started = time.perf_counter()
    made = kind.fork(order, parent, parent.base, Unobserved())
    return time.perf_counter() - started, made


def main(tree: Path, home: Path, repeats: int) -> None:
    """Measure both kinds of forks in turns."""
    kind = _kind(home, tree)
    parent, _ = kind.create(_order(home, tree, 0), Unobserved())
    cold: list[float] = []
    warm: list[float] = []
    for number in range(1, 2 * repeats, 2):
        seconds, fork = _fork(home, tree, parent, number)
        cold.append(seconds)
        kind.park(fork)
        seconds, fork = _fork(home, tree, parent, number + 1)
        warm.append(seconds)
        kind.remove(fork)
    print(json.dumps({"cold": cold, "warm": warm}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
