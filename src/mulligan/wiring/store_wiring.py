"""The snapshot store of a project: its storage of packs and its leases, those of this disk or of a bucket."""

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
    from mulligan.ports import Leases, PackStorage
    from mulligan.wiring.adapters import Adapters


def pack_storage(project: Adapters) -> PackStorage:
    """Open the packs of the store."""
    if (bucket := project.object_store) is not None:
        return bucket.packs
    return PackFolder(_work(project) / "packs", Rooms(_work(project) / "rooms"))


def stored_trees(project: Adapters) -> PackedTrees:
    """Open the store to read it."""
    from mulligan.adapters.snapshots.packed_trees import PackedTrees

    return PackedTrees(packs=pack_storage(project), leases=_leases(project), work=_work(project))


def snapshot_store(project: Adapters) -> PackedSnapshotStore:
    """Open the store to capture and restore."""
    from mulligan.adapters.snapshots.store import PackedSnapshotStore

    return PackedSnapshotStore(
        packs=pack_storage(project),
        leases=_leases(project),
        work=_work(project),
        now_ns=time.time_ns,
        boot_id=boot_id(),
        staging=small_folder(project.project) / STAGING,
        reports=project.reports,
    )


def _leases(project: Adapters) -> Leases:
    bucket = project.object_store
    return FlockLeases(_work(project)) if bucket is None else bucket.leases


def _work(project: Adapters) -> Path:
    return project.home / "store"
