"""Leases as `flock` on a file each, which the system releases when a process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.errors import LockImpossible
from mulligan.osfiles.folders import make_private_folder

if TYPE_CHECKING:
    from mulligan.ports import Lease


class FlockLeases(Struct, frozen=True, eq=False):
    """The Leases port over the files of a folder."""

    folder: Path

    @contextmanager
    def shared(self, lease: Lease) -> Generator[None]:
        with self._locked(lease, fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self, lease: Lease) -> Generator[None]:
        with self._locked(lease, fcntl.LOCK_EX):
            yield

    @contextmanager
    def exclusive_if_free(self, lease: Lease) -> Generator[bool]:
        with self._locked(lease, fcntl.LOCK_EX | fcntl.LOCK_NB) as free:
            yield free

    @contextmanager
    def _locked(self, lease: Lease, kind: int) -> Generator[bool]:
        make_private_folder(self.folder)
        path = self.folder / lease
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, kind)
                free = True
            except BlockingIOError as exc:
                if not kind & fcntl.LOCK_NB:  # it must not be used without the lock
                    raise LockImpossible(path=str(path), reason=exc.strerror or str(exc)) from exc
                free = False
            except OSError as exc:
                raise LockImpossible(path=str(path), reason=exc.strerror or str(exc)) from exc
            yield free
        finally:
            os.close(fd)
