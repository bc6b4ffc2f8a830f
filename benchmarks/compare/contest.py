"""A contestant and how it is measured: the same trees, changes and pauses for everyone."""

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Protocol

from benchmarks.compare.processes import Budget, CommandFailed, run
from benchmarks.compare.results import Failure, OnTree, Runs
from benchmarks.trees import Repository, edit

CHANGED_FILES = 5
_PATIENCE = 60  # seconds
_FOR_THE_REST = 0.3  # of the time, for what is measured after the checkpoints


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot that was taken: how long that took, and how to name it."""

    seconds: float
    name: str


class Disk:
    """The disk on which everyone is measured."""

    def __init__(self, *, sync: bool) -> None:
        """Without `sync` what one thing left to write is written in the time of the next."""
        self._sync = sync

    def settle(self) -> None:
        """Write out what came before, and let its timestamps become older than any grain."""
        if self._sync:
            os.sync()
        time.sleep(0.05)


class FifteenPaths:
    """Fifteen changes to undo: nine files edited, three deleted, three added."""

    def __init__(self, folder: Path, sources: Sequence[PurePath]) -> None:
        step = max(1, len(sources) // 12)
        chosen = list(sources[::step][:12])
        self.folder = folder
        self.edited, self.deleted = chosen[:9], chosen[9:]
        self.added = [chosen[n].parent / f"added{n}.ts" for n in range(3)]
        self.brought_back = chosen  # what a restore has to write
        self._before = {path: (folder / path).read_bytes() for path in chosen}

    def make(self) -> None:
        """Change the tree."""
        for path in self.edited:
            (self.folder / path).write_text("something else\n")
        for path in self.deleted:
            (self.folder / path).unlink()
        for path in self.added:
            (self.folder / path).write_text("added\n")

    def remove_added(self) -> None:
        """Do what tools that only extract leave to their users."""
        for path in self.added:
            (self.folder / path).unlink()

    def left_wrong(self) -> str | None:
        """Return the paths that a restore did not bring back; None if all is as before."""
        wrong = [
            str(path)
            for path, data in self._before.items()
            if not (self.folder / path).is_file() or (self.folder / path).read_bytes() != data
        ]
        wrong += [str(path) for path in self.added if (self.folder / path).exists()]
        return ", ".join(wrong) or None


class Session(Protocol):
    """A contestant at work on one tree."""

    own_names: frozenset[str]  # what it keeps at the top of the tree itself

    def snapshot(self) -> Taken:
        """Keep the tree as it is."""
        ...

    def restore(self, name: str, paths: FifteenPaths | None) -> float:
        """Bring the tree back to a snapshot; return the seconds. None: all of it is gone."""
        ...

    def stored(self) -> Sequence[Path]:
        """The folders in which it keeps things."""
        ...


class Contestant(Protocol):
    """Something that keeps checkpoints of a tree."""

    key: str
    group: str  # what `--only` names
    title: str
    how: str  # how it is driven, what it does not do, whether it is durable when it returns

    def install(self, place: Path, budget: Budget) -> str:
        """Install it in that folder if needed; return its version."""
        ...

    def open(self, tree: Path, store: Path, budget: Budget) -> AbstractContextManager[Session]:
        """Start it on a tree, with an empty folder for what it keeps outside."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The number of repetitions."""

    first: int
    checkpoints: int
    repeats: int
    budget: float  # seconds for one contestant on one tree
    disk: Disk


def compete(contestant: Contestant, repository: Repository, place: Path, effort: Effort) -> OnTree:
    """Measure one contestant on its own copy of a tree; a failure ends it and is reported."""
    budget = Budget(effort.budget)
    runs: dict[str, list[float]] = {}
    used: dict[str, int] = {}
    inexact: str | None = None
    failure: Failure | None = None
    tree = place / "tree"
    measure = "copy"
    try:
        copy_tree(repository.folder, tree, budget)
        for number in range(effort.first):
            measure = "first"
            store = place / f"store{number}"
            store.mkdir()
            with contestant.open(tree, store, budget) as session:
                effort.disk.settle()
                runs.setdefault("first", []).append(session.snapshot().seconds)
                if number < effort.first - 1:
                    continue
                used["first"] = size_on_disk(session.stored())
                measure = "five-changes"
                taken = _checkpoints(session, repository, tree, effort, budget, runs)
                if len(runs["five-changes"]) == effort.checkpoints:
                    used[f"after-{effort.checkpoints}"] = size_on_disk(session.stored())
                else:
                    failure = _cut_short(contestant, effort, len(runs["five-changes"]))
                measure = "no-change"
                for _ in range(effort.repeats):
                    effort.disk.settle()
                    runs.setdefault("no-change", []).append(session.snapshot().seconds)
                measure = "restore"
                for _ in range(effort.repeats):
                    paths = FifteenPaths(tree, repository.sources)
                    paths.make()
                    effort.disk.settle()
                    runs.setdefault("restore", []).append(session.restore(taken.name, paths))
                    inexact = inexact or paths.left_wrong()
            shutil.rmtree(store, ignore_errors=True)  # it may still tidy up in the background
    except CommandFailed as exc:
        failure = Failure.of(measure, exc)
    except OSError as exc:
        failure = Failure.of(measure, CommandFailed(contestant.title, str(exc)))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return OnTree(
        files=repository.files,
        runs={name: Runs(seconds=tuple(seconds)) for name, seconds in runs.items() if seconds},
        disk=used,
        inexact=inexact,
        failure=failure,
    )


def _checkpoints(
    session: Session,
    repository: Repository,
    tree: Path,
    effort: Effort,
    budget: Budget,
    runs: dict[str, list[float]],
) -> Taken:
    """Take all checkpoints, or as many as leave time for the measures that follow."""
    mark = 0
    while True:
        edit(tree, repository.sources, CHANGED_FILES, mark)
        effort.disk.settle()
        taken = session.snapshot()
        runs.setdefault("five-changes", []).append(taken.seconds)
        mark += 1
        if mark == effort.checkpoints or budget.left() < effort.budget * _FOR_THE_REST:
            return taken


def _cut_short(contestant: Contestant, effort: Effort, done: int) -> Failure:
    text = f"stopped after {done} of {effort.checkpoints} checkpoints: most of its {effort.budget:.0f} s are spent"
    return Failure.of("five-changes", CommandFailed(contestant.title, text))


def copy_tree(source: Path, target: Path, budget: Budget) -> None:
    """Copy everything there is to a tree; afterwards it is as warm as a tree can be."""
    target.parent.mkdir(parents=True, exist_ok=True)
    run(["cp", "--archive", "--reflink=never", str(source), str(target)], budget)


def size_on_disk(folders: Sequence[Path]) -> int:
    """Return the disk usage of folders once no process cleans up in them."""
    for _ in range(_PATIENCE):
        try:
            return _blocks(folders)
        except FileNotFoundError:  # git's gc, for one, goes on in the background
            time.sleep(1)
    raise CommandFailed(f"du {' '.join(map(str, folders))}", "files kept going away while they were counted")


def _blocks(folders: Sequence[Path]) -> int:
    """Whole blocks, folders included, hard links once."""
    seen: dict[tuple[int, int], int] = {}
    pending = [str(folder) for folder in folders]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                st = entry.stat(follow_symlinks=False)
                seen[st.st_dev, st.st_ino] = st.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
    return sum(seen.values())
