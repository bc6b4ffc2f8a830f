"""The probe: a server that ignores conditions or ranges would lose packs, and is refused when it is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mulligan import errors

if TYPE_CHECKING:
    from mulligan.adapters.object_packs.bucket import Bucket

_FOLDER = "probe/"
_FIRST, _SECOND = b"0123456789", b"another"
DEPLOYMENT = "deployment"


def probe(bucket: Bucket) -> None:
    """Try what packs rely on; StoreUnsuitable where the server does something else."""
    key = f"{_FOLDER}{os.urandom(16).hex()}"
    bucket.put_new(key, _FIRST)  # an answer that got lost makes the client meet itself
    try:
        if bucket.put_new(key, _SECOND) or bucket.get(key) != _FIRST:
            _refuse(bucket, "it overwrites an object that may only be created (If-None-Match)")
        if bucket.read(key, 2, 5) != _FIRST[2:5] or bucket.read(key, 8, 99) != _FIRST[8:]:
            _refuse(bucket, "it ignores the range of a request")
        if bucket.tail(key, 4) != _FIRST[-4:]:
            _refuse(bucket, "it ignores a range that counts from the end")
        if key not in [each.key for each in bucket.list(_FOLDER.rstrip("/"))]:
            _refuse(bucket, "it does not list an object that was just stored")
    except errors.StoreUnreachable as exc:
        _refuse(bucket, f"it answers wrongly: {exc.facts['reason']}")
    finally:
        bucket.delete([key])


def owner_of(bucket: Bucket) -> str | None:
    """Return the id of the project that a bucket's prefix belongs to; None: nobody's."""
    try:
        return bucket.get(DEPLOYMENT).decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def claim_bucket(bucket: Bucket, deployment: str, *, has_packs: bool) -> None:
    """Make the bucket's prefix that of this project, or make sure that it is; StoreForeign where it is not."""
    own = deployment.encode()
    try:
        found = bucket.get(DEPLOYMENT)
    except FileNotFoundError:
        if has_packs:
            reason = "it holds nothing of this project, whose rows name packs"
            raise errors.StoreForeign(store=bucket.address.shown, reason=reason) from None
        bucket.put_new(DEPLOYMENT, own)
        found = bucket.get(DEPLOYMENT)  # of the process that was first
    if found != own:
        raise errors.StoreForeign(store=bucket.address.shown, reason="it belongs to another project")


def _refuse(bucket: Bucket, reason: str) -> None:
    raise errors.StoreUnsuitable(store=bucket.address.shown, reason=reason)
