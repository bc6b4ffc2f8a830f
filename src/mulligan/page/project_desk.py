"""The project of the page, for all its requests: looks run in a few threads, each with a connection of its own."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from mulligan.api.entrance import Unobserved, open_project
from mulligan.page.lines.patch_windows import PatchWindows

if TYPE_CHECKING:
    from collections.abc import Callable

    from mulligan.api.project import Project
    from mulligan.api.results import Surroundings
    from mulligan.domain.trees.diff import Diff

_Result = TypeVar("_Result")
_Key = TypeVar("_Key")
_THREADS = 4
_KEPT_DIFFS, _KEPT_BYTES = 4, 256 << 20
_KEPT_WINDOWS, _WINDOW_BYTES = 32, 64 << 20


class DiffKey(Struct, frozen=True):
    """The name of a comparison that cannot change: the ids of two groups, and the parts of them that are shown."""

    old: str
    new: str
    paths: tuple[str, ...]
    hidden: bool


class ProjectDesk:
    """The project, opened once."""

    def __init__(self, around: Surroundings, named: str | None) -> None:
        self.project = open_project(around, named, Unobserved())
        self._pool = ThreadPoolExecutor(_THREADS, "look")
        self._alone = ThreadPoolExecutor(1, "watch")
        self._diffs: OrderedDict[DiffKey, Diff] = OrderedDict()
        self._windows: OrderedDict[tuple[DiffKey, int], PatchWindows] = OrderedDict()
        self._lock = Lock()

    async def look(self, look: Callable[[Project], _Result]) -> _Result:
        """Run a look in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, look, self.project)

    async def look_alone(self, look: Callable[[Project], _Result]) -> _Result:
        """Run a look in the thread that always has the same connection."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._alone, look, self.project)

    def kept_diff(self, key: DiffKey, make: Callable[[], Diff]) -> Diff:
        """Return a comparison that was made before, or make it: a page of a long one asks for its parts."""
        with self._lock:
            found = self._diffs.get(key)
            if found is not None:
                self._diffs.move_to_end(key)
                return found
        made = make()
        with self._lock:
            _keep(self._diffs, key, made, lambda diff: len(diff.patch), _KEPT_DIFFS, _KEPT_BYTES)
        return made

    def kept_windows(self, key: DiffKey, index: int, patch: Callable[[], bytes]) -> PatchWindows:
        """Return the windows of one file of a comparison, which are asked for one after the other."""
        name = key, index
        with self._lock:
            found = self._windows.get(name)
            if found is not None:
                self._windows.move_to_end(name)
                return found
        made = PatchWindows(patch())
        with self._lock:
            _keep(self._windows, name, made, lambda each: each.size, _KEPT_WINDOWS, _WINDOW_BYTES)
        return made

    def close(self) -> None:
        """End the threads, and give the project back."""
        for pool in (self._pool, self._alone):
            pool.shutdown(wait=True, cancel_futures=True)
        self.project.close()


def _keep(
    kept: OrderedDict[_Key, _Result],
    key: _Key,
    made: _Result,
    size: Callable[[_Result], int],
    most: int,
    most_bytes: int,
) -> None:
    """Keep one more, and let those go that were used longest ago; the newest stays, however large."""
    kept[key] = made
    kept.move_to_end(key)
    total = sum(map(size, kept.values()))
    while len(kept) > 1 and (len(kept) > most or total > most_bytes):
        total -= size(kept.popitem(last=False)[1])
