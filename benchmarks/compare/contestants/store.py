"""mulligan's snapshot store: in a process that stays, as while a plan runs, and in a new process each time."""

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.processes import Budget, Driver, run
from mulligan.adapters.snapshots.scan import c_walk as walking

_DRIVER = [sys.executable, str(Path(__file__).parent.parent / "drivers" / "store.py")]


class RunningStore:
    """One process that stays."""

    key = "mulligan-watch"
    group = "mulligan"
    title = "mulligan, process running (watch)"
    how = "SnapshotStore.capture and restore inside SnapshotStore.watch; durable when they return"

    def install(self, place: Path, budget: Budget) -> str:
        return f"mulligan {version('mulligan')}, {_watches()}"

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["RunningSession"]:
        with Driver([*_DRIVER, "serve", str(tree), str(store / "home")], budget, log=store / "log") as driver:
            yield RunningSession(store / "home", driver)


class StoreProcess:
    """A new process each time, from the start of the interpreter to its end."""

    key = "mulligan-scan"
    group = "mulligan"
    title = "mulligan, a new process each time (scan)"
    how = "as above, each call in a process of its own, its start included; durable when it ends"

    def install(self, place: Path, budget: Budget) -> str:
        return f"mulligan {version('mulligan')}, {_walking()}"

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["ProcessSession"]:
        yield ProcessSession(tree, store / "home", budget)


def _watches() -> str:
    """Return how many folders one user may watch; a tree with more is scanned instead."""
    allowed = Path("/proc/sys/fs/inotify/max_user_watches")
    return (
        f"inotify, {allowed.read_text().strip()} watches allowed" if allowed.exists() else "no inotify: scan"
    )


def _walking() -> str:
    """Describe how trees are walked: without the extension a scan takes several times as long."""
    return f"trees walked in Python: {walking.why_not}" if walking.walk is None else "trees walked in C"


class RunningSession:
    """Asks the process that stays."""

    own_names = frozenset[str]()

    def __init__(self, home: Path, driver: Driver) -> None:
        self._home = home
        self._driver = driver

    def snapshot(self) -> Taken:
        """Capture."""
        answer = self._driver.ask(verb="snapshot")
        return Taken(answer["seconds"], answer["name"])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Restore; the store finds out what differs."""
        return self._driver.ask(verb="restore", name=name)["seconds"]

    def stored(self) -> Sequence[Path]:
        """The store's home."""
        return [self._home]


class ProcessSession:
    """Starts a process for each call."""

    own_names = frozenset[str]()

    def __init__(self, tree: Path, home: Path, budget: Budget) -> None:
        self._tree = tree
        self._home = home
        self._budget = budget

    def snapshot(self) -> Taken:
        """Capture."""
        done = run([*_DRIVER, "snapshot", str(self._tree), str(self._home)], self._budget)
        return Taken(done.seconds, json.loads(done.output)["name"])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Restore; the store finds out what differs."""
        return run([*_DRIVER, "restore", str(self._tree), str(self._home), name], self._budget).seconds

    def stored(self) -> Sequence[Path]:
        """The store's home."""
        return [self._home]
