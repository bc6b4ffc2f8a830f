"""The snapshot store of a project: its storage of packs and its leases, those of this disk or of a bucket."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.adapters.homes.home_link import STAGING, small_folder
from mulligan.adapters.local_packs.flock_leases import FlockLeases
from mulligan.adapters.local_packs.pack_folder import PackFolder
from mulligan.osfiles.folders import make_private_folder
from mulligan.osfiles.tempdirs import Rooms
from mulligan.wiring.surroundings import boot_id

_DAY = 86_400.0  # seconds

if TYPE_CHECKING:
    from mulligan.adapters.object_packs.bucket_packs import BucketPacks
    from mulligan.adapters.object_packs.commit_check import CommitCheck
    from mulligan.adapters.object_packs.pack_register import PackRegister
    from mulligan.adapters.object_packs.row_leases import RowLeases
    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.config import Settings
    from mulligan.ports import Leases, PackStorage
    from mulligan.wiring.adapters import Adapters
    from mulligan.wiring.surroundings import Surroundings


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


class ObjectStore(Struct, frozen=True, eq=False):
    """The parts of a bucket that a project uses."""

    packs: BucketPacks
    leases: RowLeases
    check: CommitCheck
    register: PackRegister


def refuse_foreign_store(url: str, settings: Settings, around: Surroundings, database: ServerAddress) -> None:
    """Refuse a bucket that is not the one of the project in a database; nothing is written there."""
    from mulligan.adapters.object_packs.bucket import Bucket
    from mulligan.adapters.object_packs.store_address import store_address
    from mulligan.adapters.object_packs.store_probe import owner_of
    from mulligan.wiring.database_place import require_package

    require_package("obstore", "packs in an object store")
    address = store_address(url, endpoint=settings.store_endpoint, environ=around.environ, user=Path.home())
    if (owner := owner_of(Bucket(address))) is None:
        raise errors.StoreNotJoinable(database=database.shown)
    if owner != database.project:
        raise errors.StoreForeign(store=address.shown, reason="it belongs to another project")


def object_store_of(project: Adapters, url: str) -> ObjectStore:
    """Open a bucket for the packs of a project; nothing is asked of it yet."""
    from mulligan.adapters.object_packs.bucket import Bucket
    from mulligan.adapters.object_packs.bucket_packs import BucketPacks
    from mulligan.adapters.object_packs.commit_check import CommitCheck
    from mulligan.adapters.object_packs.pack_cache import PackCache
    from mulligan.adapters.object_packs.pack_register import PackRegister
    from mulligan.adapters.object_packs.row_leases import RowLeases
    from mulligan.adapters.object_packs.store_address import store_address
    from mulligan.adapters.object_packs.store_probe import claim_bucket, probe
    from mulligan.wiring.database_place import open_shared, require_package

    settings = project.settings.of_project()
    place, work = project.database_place, project.home / "store"
    if isinstance(place, Path):
        raise errors.StoreNotShared(store=url, database=str(place))
    require_package("obstore", "packs in an object store")
    if any((work / "packs").glob("*.pack")):  # they would be out of reach
        raise errors.NotBuiltYet(
            feature=f"moving the packs of a project from {work / 'packs'} into a bucket",
            hint=errors.Advice(
                errors.NextStep("config.unset", key="core.store.url"),
                " goes on with them; to let the folder have a new home without plans: ",
                errors.NextStep("init", fresh=True),
            ),
        )
    address = store_address(
        url,
        endpoint=settings.store_endpoint,
        environ=project.around.environ,
        user=Path.home(),
    )
    bucket, register = Bucket(address), PackRegister(lambda: open_shared(place))
    deployment = place.project or ""

    def opened() -> None:
        """Look at the bucket once a day: the server may be another one since."""
        note = work / "bucket"
        known = f"{address.shown}\n{deployment}\n"
        with suppress(OSError):
            if note.read_text() == known and 0 <= time.time() - note.stat().st_mtime < _DAY:
                return
        probe(bucket)
        if register.seen is None:
            register.refresh()
        claim_bucket(bucket, deployment, has_packs=bool(register.sizes))
        with suppress(OSError):  # it is looked at again
            make_private_folder(work)
            draft = note.with_name(f"bucket.{os.getpid()}")
            draft.write_text(known)
            draft.replace(note)

    check = CommitCheck(register, settings.store_grace)
    packs = BucketPacks(
        bucket=bucket,
        register=register,
        cache=PackCache(work / "bucket-cache", settings.store_cache, time.time),
        check=check,
        grace=settings.store_grace,
        opened=opened,
    )
    return ObjectStore(packs, RowLeases(register, check, packs), check, register)
