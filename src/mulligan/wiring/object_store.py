"""The bucket of a shared project: its packs, their register in the database, and the check at commit."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.adapters.object_packs.bucket import Bucket
from mulligan.adapters.object_packs.bucket_packs import BucketPacks
from mulligan.adapters.object_packs.commit_check import CommitCheck
from mulligan.adapters.object_packs.pack_cache import PackCache
from mulligan.adapters.object_packs.pack_register import PackRegister
from mulligan.adapters.object_packs.row_leases import RowLeases
from mulligan.adapters.object_packs.store_address import store_address
from mulligan.adapters.object_packs.store_probe import claim_bucket, probe
from mulligan.osfiles.folders import make_private_folder
from mulligan.wiring.database_place import open_shared, require_package

if TYPE_CHECKING:
    from mulligan.wiring.adapters import Adapters

_DAY = 86_400.0  # seconds


class ObjectStore(Struct, frozen=True, eq=False):
    """The parts of a bucket that a project uses."""

    packs: BucketPacks
    leases: RowLeases
    check: CommitCheck
    register: PackRegister


def object_store_of(project: Adapters, url: str) -> ObjectStore:
    """Open a bucket for the packs of a project; nothing is asked of it yet."""
    settings = project.settings.of_project()
    place, work = project.database_place, project.home / "store"
    if isinstance(place, Path):
        raise errors.StoreNotShared(store=url, database=str(place))
    require_package("obstore", "packs in an object store")
    if any((work / "packs").glob("*.pack")):  # they would be out of reach
        raise errors.NotBuiltYet(
            feature=f"moving the packs of a project from {work / 'packs'} into a bucket",
            hint="unset `core.store.url`, or let the folder have a new home without plans: `mulligan init --fresh`",
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
        cache=PackCache(work / "bucket-cache", settings.store_cache),
        check=check,
        grace=settings.store_grace,
        opened=opened,
    )
    return ObjectStore(packs, RowLeases(register, check, packs), check, register)
