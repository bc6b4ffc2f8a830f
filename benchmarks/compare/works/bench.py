"""The bench that work is done on: a folder, a tree, the program under test, and how often."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.compare.contest import Disk, copy_tree
from benchmarks.compare.processes import Budget, CommandFailed, Finished, run, surroundings
from benchmarks.compare.results import Failure, Runs
from benchmarks.trees import Repository

_STEP = Path(__file__).parent.parent / "drivers" / "plan_step.py"
_PROGRAM = Path(sys.executable).with_name("mulligan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The folder, the programs and the repetitions of a measurement."""

    place: Path  # emptied afterwards
    installed: Path  # for what is installed once and used by several
    budget: Budget
    repeats: int
    disk: Disk
    files: int
    repository: Repository | None  # the tree of this size, where there is one; never changed
    committed: Path  # that tree as a git checkout, where a piece of work has asked for it
    group_wanted: Callable[[str], bool]

    def make_checkout(self, folder: Path) -> list[str]:
        """Make a git checkout of the tree, with the step that edits it, committed; return the paths of its sources.

        To commit a large tree takes minutes: all pieces of work have copies of one.
        """
        assert self.repository is not None
        sources = [os.fspath(path) for path in self.repository.sources]
        if not self.committed.exists():
            draft = self.committed.with_name("draft")
            shutil.rmtree(draft, ignore_errors=True)
            copy_tree(self.repository.folder, draft, self.budget)
            shutil.copy(_STEP, draft / "bench_step.py")
            (draft / "bench_sources.json").write_text(json.dumps(sources))
            commit_all(self, draft)
            draft.rename(self.committed)
        copy_tree(self.committed, folder, self.budget)
        run(["git", "status", "--porcelain"], self.budget, cwd=folder)  # its index knows the copies
        return sources

    @property
    def homes(self) -> Path:
        """The homes of projects: on the disk of the projects, and not inside of one."""
        return Path(f"{self.place}-homes")

    def clear_homes(self) -> None:
        """Forget all projects: one that is made again at the same path is another."""
        shutil.rmtree(self.homes, ignore_errors=True)

    def mulligan(self, project: Path, *arguments: str, **environ: str) -> Finished:
        """Run the program in a project; `environ` are further variables."""
        program = [str(_PROGRAM)] if _PROGRAM.exists() else [sys.executable, "-m", "mulligan"]
        # Only what the bench names: the user's own projects and settings must not interfere.
        env = {name: value for name, value in surroundings().items() if not name.startswith("MULLIGAN_")}
        env |= {"MULLIGAN_HOME": str(self.homes), **environ}
        return run([*program, *arguments], self.budget, cwd=project, env=env)

    def mulligan_data(self, project: Path, *arguments: str) -> Any:
        """Run the program and take its answer apart."""
        return json.loads(self.mulligan(project, *arguments, "--format", "json").output)["data"]


class Tally:
    """Collects runs of several sides, and what went wrong."""

    def __init__(self) -> None:
        self._seconds: dict[str, list[float]] = {}
        self.failures: list[Failure] = []

    def add(self, side: str, seconds: float) -> None:
        """Note one run."""
        self._seconds.setdefault(side, []).append(seconds)

    @contextmanager
    def part(self, measure: str, *, of_peer: bool = False) -> Generator[None]:
        """A part that may fail without failing the others."""
        try:
            yield
        except CommandFailed as exc:
            self.failures.append(replace(Failure.of(measure, exc), excused=of_peer))

    def sides(self) -> dict[str, Runs]:
        """The runs by side."""
        return {side: Runs(seconds=tuple(seconds)) for side, seconds in self._seconds.items()}


@contextmanager
def serving(bench: Bench, project: Path) -> Generator[None]:
    """Have the local server of a project running."""
    bench.mulligan(project, "serve", "--detach")
    try:
        yield
    finally:
        bench.mulligan(project, "serve", "--stop")


def make_project(folder: Path, steps: Sequence[dict[str, Any]], *, name: str = "bench") -> None:
    """Put a plan file into a folder that is to be a project; it is JSON, which is YAML too."""
    (folder / "plan.yaml").write_text(json.dumps({"name": name, "steps": list(steps)}))


ONE_STEP = [{"name": "start", "tool": "write_file", "args": {"path": "started", "content": "yes"}}]
GIT = [
    "git",
    "-c",
    "user.name=nobody",
    "-c",
    "user.email=nobody@localhost",
    "-c",
    "advice.addEmbeddedRepo=false",
    "-c",
    "gc.autoDetach=false",  # nothing goes on in the background while others are measured
]


def commit_all(bench: Bench, folder: Path) -> None:
    """Make a folder a git checkout with everything committed, in which anyone may commit."""
    for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "start"]):
        run([*GIT, *command], bench.budget, cwd=folder)
    for name in ("user.name", "user.email"):
        run(["git", "config", name, "nobody@localhost"], bench.budget, cwd=folder)
