"""The Leases port of packs whose register is in rows: work is checked at its commit, and nobody waits for it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from mulligan.ports import Lease

if TYPE_CHECKING:
    from mulligan.adapters.object_packs.bucket_packs import BucketPacks
    from mulligan.adapters.object_packs.commit_check import CommitCheck
    from mulligan.adapters.object_packs.pack_register import PackRegister

_PAUSE = 0.1


class RowLeases:
    """Leases over the rows of packs. `OBJECTS` alone is a transaction in which nobody commits.

    `UPKEEP` is a lock of the database's session, and only saves work: a sweep looks again before it removes.
    """

    def __init__(self, register: PackRegister, check: CommitCheck, packs: BucketPacks) -> None:
        self._register = register
        self._check = check
        self._packs = packs
        self._upkeep = Lock()  # a session takes its own lock as often as it likes

    def shared(self, lease: Lease) -> AbstractContextManager[object]:
        return self._check.hold() if lease is Lease.OBJECTS else self.exclusive(lease)

    def exclusive(self, lease: Lease) -> AbstractContextManager[object]:
        return self._packs.removing() if lease is Lease.OBJECTS else self._kept_up(wait=True)

    def exclusive_if_free(self, lease: Lease) -> AbstractContextManager[bool]:
        return self._kept_up(wait=False)

    @contextmanager
    def _kept_up(self, *, wait: bool) -> Generator[bool]:
        if not self._upkeep.acquire(blocking=wait):
            yield False
            return
        try:
            while not (free := self._register.try_upkeep()) and wait:
                time.sleep(_PAUSE)
            try:
                yield free
            finally:
                if free:
                    self._register.end_upkeep()
        finally:
            self._upkeep.release()
