"""The watches over trees that a process which lives on keeps open between two operations, in each of its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.wiring.thread_services import ThreadServices


class KeptWatches(Struct, frozen=True, kw_only=True):
    """The watches of the thread that asks."""

    threads: ThreadServices

    def keep(self, most: int) -> None:
        """Keep so many of them open from now on."""
        self.threads.here.adapters.store.keep_watches(most)

    @property
    def count(self) -> int:
        """The number of those that are open now."""
        return self.threads.here.adapters.store.kept_watches

    def distrust(self) -> None:
        """Have each tree scanned at its next look."""
        self.threads.here.adapters.store.distrust_watches()

    def close(self) -> None:
        """Close them, and write down what they learned for the next process."""
        self.threads.here.adapters.store.close_watches()
