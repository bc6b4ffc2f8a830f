"""Leases as `flock` on a file each, which the system releases when a process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.osfiles.folders import make_private_folder

if TYPE_CHECKING:
    from mulligan.ports import Lease


class FlockLeases(Struct, frozen=True, eq=False):
    """The Leases port over the files of a folder."""

    folder: Path

    def shared(self, lease: Lease) -> AbstractContextManager[object]:
        return self._locked(lease, fcntl.LOCK_SH)

    def exclusive(self, lease: Lease) -> AbstractContextManager[object]:
        return self._locked(lease, fcntl.LOCK_EX)

    def exclusive_if_free(self, lease: Lease) -> AbstractContextManager[bool]:
        return self._locked(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @contextmanager
    def _locked(self, lease: Lease, kind: int) -> Generator[bool]:
        make_private_folder(self.folder)
        path = self.folder / lease
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            free = True
            try:
                fcntl.flock(fd, kind)
            except OSError as exc:
                free = False
                if not (
                    kind & fcntl.LOCK_NB and isinstance(exc, BlockingIOError)
                ):  # never used without the lock
                    raise errors.LockImpossible(path=str(path), reason=exc.strerror or str(exc)) from exc
            yield free
        finally:
            os.close(fd)
