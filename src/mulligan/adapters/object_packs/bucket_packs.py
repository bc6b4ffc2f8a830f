"""The PackStorage port over a bucket: bytes there, names in rows, a cache on this machine."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.boundaries import act

if TYPE_CHECKING:
    from collections.abc import Callable

    from mulligan.adapters.object_packs.bucket import Bucket
    from mulligan.adapters.object_packs.commit_check import CommitCheck
    from mulligan.adapters.object_packs.pack_cache import PackCache
    from mulligan.adapters.object_packs.pack_register import PackRegister

_FOLDER = "packs/"
_PROBES = "probe/"
_SUFFIX = ".pack"
_LARGEST = 60 << 20  # bytes of objects and index in one pack: conditions hold for a single request
_TAIL = 64 << 10  # most indexes are shorter, and so are most packs
_TRAILER = 64  # a read that ends so near to the end is of the index
_RANGES = 16  # small reads of one pack, after which it is worth having whole
_PART = 4  # so is one when a quarter of it was read
_ORPHANED = timedelta(days=1)  # no upload takes that long between its bytes and its row


class BucketPacks:
    """Packs in a bucket. Safe for threads."""

    pack_limit = _LARGEST

    def __init__(
        self,
        *,
        bucket: Bucket,
        register: PackRegister,
        cache: PackCache,
        check: CommitCheck,
        grace: float,
        opened: Callable[[], None],
    ) -> None:
        """`opened` makes sure, before the first use, that the bucket is the right one and keeps its promises."""
        self._bucket = bucket
        self._register = register
        self._cache = cache
        self._check = check
        self._grace = grace
        self._opened = opened
        self._is_sure = False
        self._lock = Lock()
        self._read: dict[str, tuple[int, int]] = {}  # by name: how many ranges were read, and how many bytes
        self._unlisted: list[str] = []  # in the transaction that is open: their bytes go when it is committed

    def list(self) -> list[str]:
        gone = self._register.refresh()
        self._cache.drop(gone)
        self._check.note()
        return [*self._register.sizes]

    def leaving(self) -> frozenset[str]:
        return self._register.doomed

    def draft(self) -> BucketDraft:
        return BucketDraft(self)

    def size(self, name: str) -> int:
        _refuse_name(name)
        size = self._register.sizes.get(name)
        if size is None:
            self._register.refresh()
            size = self._register.sizes.get(name)
        if size is None:
            raise FileNotFoundError(f"no such pack: {name}")
        return size

    def read(self, name: str, offset: int, length: int) -> bytes:
        size = self.size(name)
        offset, end = min(offset, size), min(offset + length, size)
        found = self._cache.read(name, size, offset, end - offset) if end > offset else b""
        return found if found is not None else self._fetched(name, size, offset, end)

    def distrust(self, name: str) -> bool:
        return self._cache.drop([name])

    def remove(self, *names: str) -> list[str]:
        for name in names:
            _refuse_name(name)
        with self.removing():
            gone = self._register.doom(names, self._grace)
            self._unlisted += gone
        return gone

    def replace(self, names: Iterable[str], pack: str) -> list[str]:
        with self.removing():
            gone = self._register.replace(names, pack)
            self._unlisted += gone
        return gone

    def spare(self, names: Iterable[str]) -> None:
        spared = self._register.doomed.intersection(names)
        if spared:
            self._register.spare(spared)

    def settle(self) -> None:
        """Do nothing: a pack has a row once it is durable."""

    def clear(self, *, dry_run: bool) -> tuple[int, int]:
        """Remove objects that never got a row, a day after they were stored; return how many, and their bytes."""
        self.make_sure()
        now = self._store_time()
        old = {
            each.key.removeprefix(_FOLDER): each.size
            for each in self._bucket.list(_FOLDER.rstrip("/"))
            if each.modified < now - _ORPHANED
        }
        self._register.refresh()
        orphans = sorted(old.keys() - self._register.sizes.keys())
        if orphans and not dry_run:
            orphans = self._register.give_up(orphans)
            self._delete(orphans)
        if not dry_run:
            probes = self._bucket.list(_PROBES.rstrip("/"))
            self._bucket.delete([each.key for each in probes if each.modified < now - _ORPHANED])
            self._cache.shrink()
        return len(orphans), sum(old[name] for name in orphans)

    def missing(self) -> list[str]:
        """Return the packs that rows name and the bucket does not have, or has with another length."""
        self.make_sure()
        self._register.refresh()
        expected = dict(self._register.sizes)
        stored = {
            each.key.removeprefix(_FOLDER): each.size for each in self._bucket.list(_FOLDER.rstrip("/"))
        }
        wrong = [name for name, size in expected.items() if stored.get(name) != size]
        if wrong:
            self._register.refresh()  # a sweep may have removed them since
        return sorted(name for name in wrong if name in self._register.sizes)

    @contextmanager
    def removing(self) -> Generator[None]:
        """Remove packs while nobody commits; their bytes go afterwards, when no row names them any longer."""
        if self._register.is_alone:
            yield
            return
        self._unlisted = []
        with ExitStack() as transaction:
            transaction.enter_context(self._register.writing())
            yield
            if self._unlisted:
                with act("pack.unlist"):
                    transaction.close()
            else:
                with act("pack.doom"):
                    transaction.close()
        gone, self._unlisted = self._unlisted, []
        self._delete(gone)

    def put(self, name: str, data: memoryview) -> None:
        """Store a pack: bytes first, then its row."""
        _refuse_name(name)
        self.make_sure()
        key = f"{_FOLDER}{name}"
        with act("pack.upload"):
            if not self._bucket.put_new(key, data):
                # The name is random: it is ours, and the answer to an earlier try was lost.
                start = max(0, len(data) - _TAIL)
                if self._bucket.tail(key, _TAIL) != bytes(data[start:]):
                    raise errors.StoreUnreachable(
                        store=self._bucket.address.shown, reason="a pack of that name is there already"
                    )
        if not self._register.add(name, len(data), self._check.own):
            raise errors.StoreMoved(packs=1, reason=f"{name} was stored so long ago that it was removed")
        self._register.refresh()
        self._check.own.add(name)
        self._cache.keep(name, data)

    def _fetched(self, name: str, size: int, offset: int, end: int) -> bytes:
        """Read a range from the bucket, and keep what is likely to be read next."""
        self.make_sure()
        key = f"{_FOLDER}{name}"
        with self._lock:
            count, total = self._read.get(name, (0, 0))
            total += end - offset
            self._read[name] = (count + 1, total)
        if size <= _TAIL or count >= _RANGES or total * _PART > size:
            data = self._bucket.get(key)
            if len(data) == size:
                self._cache.keep(name, data)
            return data[offset:end]
        if end > size - _TRAILER:
            length = max(_TAIL, size - offset)
            data = self._bucket.tail(key, length)
            if len(data) == length:
                self._cache.keep_tail(name, size - length, data)
            return data[offset - size + length : end - size + length]
        return self._bucket.read(key, offset, end)

    def _delete(self, names: list[str]) -> None:
        if names:
            self._cache.drop(names)
            with act("pack.remove"):
                self._bucket.delete([f"{_FOLDER}{name}" for name in names])

    def _store_time(self) -> datetime:
        """Return the present by the store's own clock."""
        key = f"{_PROBES}{os.urandom(16).hex()}"
        self._bucket.put_new(key, b"")
        now = next(each.modified for each in self._bucket.list(_PROBES.rstrip("/")) if each.key == key)
        self._bucket.delete([key])
        return now

    def make_sure(self) -> None:
        """Make sure, once, that the bucket is the right one and keeps its promises."""
        if not self._is_sure:
            self._opened()
            self._is_sure = True


class BucketDraft:
    """A pack in memory, until it is stored."""

    def __init__(self, packs: BucketPacks) -> None:
        self._packs = packs
        self.file = BytesIO()

    def put(self, name: str) -> None:
        with self.file.getbuffer() as data:
            self._packs.put(name, data)

    def close(self) -> None:
        self.file.close()


def _refuse_name(name: str) -> None:
    if not name.endswith(_SUFFIX) or "/" in name or "\0" in name:
        raise ValueError(f"not the name of a pack: {name!r}")
