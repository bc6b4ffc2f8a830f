"""stepback, from PyPI: its engine in a process that stays, as under `stepback run`."""

import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.compare.contest import FifteenPaths, Taken
from benchmarks.compare.contestants.packages import python_environment, version_of
from benchmarks.compare.processes import Budget, Driver

_PROGRAM = Path(__file__).parent.parent / "drivers" / "stepback_engine.py"
_HOME = ".stepback"


class Stepback:
    """Git objects in the tree's own git directory, or in a shadow of it."""

    key = "stepback"
    group = "stepback"
    title = "stepback"
    how = (
        "pip install into a virtual environment of its own; Engine.checkpoint and Engine.rewind, which its"
        " watcher and `stepback rewind` call, in a process that stays; ignored files are left out"
    )

    def install(self, place: Path, budget: Budget) -> str:
        self._python = python_environment(place / "stepback", budget, "stepback")
        return f"stepback {version_of(self._python, 'stepback', budget)}"

    @contextmanager
    def open(self, tree: Path, store: Path, budget: Budget) -> Generator["StepbackSession"]:
        with Driver([str(self._python), str(_PROGRAM), str(tree)], budget, log=store / "log") as driver:
            yield StepbackSession(tree, driver)
        shutil.rmtree(tree / _HOME, ignore_errors=True)


class StepbackSession:
    """Asks the engine."""

    own_names = frozenset({_HOME})

    def __init__(self, tree: Path, driver: Driver) -> None:
        self._tree = tree
        self._driver = driver

    def snapshot(self) -> Taken:
        """Take a checkpoint."""
        answer = self._driver.ask(verb="snapshot")
        return Taken(answer["seconds"], answer["name"])

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Rewind."""
        return self._driver.ask(verb="restore", name=name)["seconds"]

    def stored(self) -> Sequence[Path]:
        """Its folder inside the tree."""
        return [self._tree / _HOME]
