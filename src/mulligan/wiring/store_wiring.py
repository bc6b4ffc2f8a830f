"""The snapshot store of a project: which storage of packs and which leases it uses. Today both are local.

Each function gets the project's adapters, and with them its folder and its settings: a second storage is chosen here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mulligan.adapters.homes.home_link import STAGING, small_folder
from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.osfiles.tempdirs import Rooms
from mulligan.wiring.surroundings import boot_id

if TYPE_CHECKING:
    from pathlib import Path

    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.wiring.adapters import Adapters


def pack_storage(project: Adapters) -> PackFolder:
    """Open the packs of the store."""
    return PackFolder(_work(project) / "packs", Rooms(_work(project) / "rooms"))


def stored_trees(project: Adapters) -> PackedTrees:
    """Open the store to read it."""
    from mulligan.adapters.snapshots.packed_trees import PackedTrees

    work = _work(project)
    return PackedTrees(packs=pack_storage(project), leases=FlockLeases(work), work=work)


def snapshot_store(project: Adapters) -> PackedSnapshotStore:
    """Open the store to capture and restore."""
    from mulligan.adapters.snapshots.store import PackedSnapshotStore

    work, packs = _work(project), pack_storage(project)
    leases = FlockLeases(work)
    return PackedSnapshotStore(
        packs=packs,
        leases=leases,
        work=work,
        now_ns=time.time_ns,
        boot_id=boot_id(),
        staging=small_folder(project.project) / STAGING,
        reports=project.reports,
    )


def _work(project: Adapters) -> Path:
    return project.home / "store"
