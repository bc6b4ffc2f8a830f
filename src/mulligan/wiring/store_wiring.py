"""The snapshot store of a project: which storage of packs and which leases it uses. Today both are local."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.osfiles.tempdirs import Rooms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore


def pack_storage(store: Path) -> PackFolder:
    """Open the packs of the store in this folder."""
    return PackFolder(store / "packs", Rooms(store / "rooms"))


def stored_trees(store: Path) -> PackedTrees:
    """Open the store in this folder to read it."""
    from mulligan.adapters.snapshots.packed_trees import PackedTrees

    return PackedTrees(packs=pack_storage(store), leases=FlockLeases(store), work=store)


def snapshot_store(store: Path, *, now_ns: Callable[[], int], boot_id: str) -> PackedSnapshotStore:
    """Open the store in this folder to capture and restore."""
    from mulligan.adapters.snapshots.store import PackedSnapshotStore

    packs, leases = pack_storage(store), FlockLeases(store)
    return PackedSnapshotStore(packs=packs, leases=leases, work=store, now_ns=now_ns, boot_id=boot_id)
