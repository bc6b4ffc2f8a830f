"""The machine's clock, and new ids."""

import os
import time
from datetime import UTC, datetime
from threading import Lock

from mulligan.domain.text.ids import RANDOM_BITS, ulid_text


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        return datetime.now(UTC)


class UlidSource:
    """ULIDs that only grow within this process.

    Made here: the package for it imports 30 ms of others, a tenth of what a rollback costs, for one sum.
    """

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def new(self) -> str:
        """A ULID, greater than every one given before by this process."""
        now = time.time_ns() // 1_000_000
        drawn = now << RANDOM_BITS | int.from_bytes(os.urandom(RANDOM_BITS // 8))
        with self._lock:
            if drawn >> RANDOM_BITS <= self._last >> RANDOM_BITS:  # the same millisecond, or a clock set back
                drawn = self._last + 1
            self._last = drawn
        return ulid_text(drawn)
