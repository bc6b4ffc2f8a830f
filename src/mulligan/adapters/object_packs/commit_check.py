"""The check at commit: refuse rows that rely on packs which a sweep removed since their bytes were looked up.

Work notes which packs there are when it looks first, and holds nothing while it reads and uploads, for hours if need
be. A transaction of the database is alone with the rows of packs: where none was removed since then nothing is lost.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.object_packs.pack_register import lost_in, moment_in
from mulligan.rows.database import RowGuard

if TYPE_CHECKING:
    from mulligan.adapters.object_packs.pack_register import Moment, PackRegister
    from mulligan.rows.sql_connection import SqlConnection

_SHOWN = 3
# Systems without the first one count a suspension in the second.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class CommitCheck(RowGuard):
    """The packs that the present work relies on; used by one thread at a time."""

    def __init__(self, register: PackRegister, grace: float) -> None:
        self._register = register
        self._half = grace / 2
        self._depth = 0
        self._begun = 0.0
        self._noted: Moment | None = None
        self._standing: frozenset[str] = frozenset()  # listed since it was noted, and not about to go
        self._leaving: frozenset[str] = frozenset()
        self.own: set[str] = set()  # packs that this work stored; no row names them before it commits

    @property
    def is_alone(self) -> bool:
        return self._register.is_alone

    @contextmanager
    def hold(self) -> Generator[None]:
        """Do work whose rows rely on packs, commit included."""
        self._depth += 1
        if self._depth == 1:
            self._begun = time.clock_gettime(_CLOCK)
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                self._forget()

    def note(self) -> None:
        """Note which packs there are. What was found at any time since the first may be relied on."""
        if not self._depth:
            return
        register = self._register
        if self._noted is None:
            self._noted, self._leaving = register.seen, register.doomed
        self._standing |= register.sizes.keys() - register.doomed

    def before_rows(self, connection: SqlConnection) -> None:
        """Check, at the beginning of a transaction that writes rows; StoreMoved where bytes may be missing."""
        if not self._depth or (self._noted is None and not self.own):
            self._refuse_old()
            return
        now, noted = moment_in(connection), self._noted
        if noted is not None and now.removals == noted.removals:
            return
        relied = self._standing | self.own
        if noted is not None and now.at - noted.at > self._half:
            relied |= self._leaving  # of rows that were read then, and that are gone since
        lost = lost_in(connection, relied)
        if lost:
            shown = ", ".join(sorted(lost)[:_SHOWN])
            raise errors.StoreMoved(packs=len(lost), reason=f"{len(lost)} packs are gone ({shown})")

    def _refuse_old(self) -> None:
        """Refuse rows of work that looked at no pack, and went on for so long that what it names may be gone."""
        if self._depth and time.clock_gettime(_CLOCK) - self._begun > self._half > 0:
            raise errors.StoreMoved(packs=0, reason="it began longer ago than unneeded packs are kept")

    def _forget(self) -> None:
        self._noted = None
        self._standing = self._leaving = frozenset()
        self.own = set()
