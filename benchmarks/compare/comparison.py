"""One comparison from beginning to end; what was found so far can be had at any moment."""

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.compare.contest import Contestant, Disk, Effort, compete
from benchmarks.compare.contestants import contestants
from benchmarks.compare.fidelity import lost_by
from benchmarks.compare.processes import Budget, CommandFailed
from benchmarks.compare.results import Failure, Findings, OnTree, Row, Work
from benchmarks.compare.targets import TARGETS
from benchmarks.compare.works import WORKS, WORKS_ON_TREES
from benchmarks.compare.works.bench import Bench
from benchmarks.trees import Repository, make_repository

_WORK_FILES = {
    "status": 0,
    "rollback": 10_000,
    "first-step": 10_000,
    "verify": 10_000,
    "executor": 1_000,
    "history": 10_000,  # groups
    "children": 10_000,
    "forks": 10_000,
    "variants": 10_000,
    "real-path": 0,
    "queues": 1_000,  # plans
    "shared-steps": 0,
    "graph-states": 0,
    "graph-steps": 10_000,
}
_ALWAYS = "git"  # the measure of all others
_CHECKOUT = "checkout"  # the tree of a size, committed: made by the first piece of work that asks for it
_FIRST_RUNS = 3
_LARGE = 20_000  # files: from here on a first snapshot is taken once


class Comparison:
    """Measures every contestant in one folder, small things first, so that an early stop loses little."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._machine = _machine(folder)
        self._trees: dict[str, list[OnTree]] = {}
        self._rows: list[Row] = []
        self._works: list[Work] = []

    def findings(self) -> Findings:
        """All that was found so far."""
        return Findings(machine=self._machine, rows=tuple(self._rows), works=tuple(self._works))

    def run(self) -> None:
        """Measure everything."""
        (self._folder / "installed").mkdir()
        everyone = contestants()
        taking_part = [contestant for contestant in everyone if self._prepare(contestant)]
        self._work(WORKS, self._files_of, None)
        for files in sorted(self._options.sizes) if self._needs_trees() else ():
            original = self._folder / "original"
            original.mkdir()
            repository = make_repository(original, files)
            for contestant in taking_part:
                _say(f"{files:,} files: {contestant.title}")
                found = compete(contestant, repository, self._folder / "place", self._effort(files))
                self._trees[contestant.key].append(found)
            self._work(WORKS_ON_TREES, lambda _, files=files: files, repository)
            for tree in (original, self._folder / _CHECKOUT):
                shutil.rmtree(tree, ignore_errors=tree is not original)

    def _needs_trees(self) -> bool:
        return not self._options.works or bool(WORKS_ON_TREES.keys() & self._options.works)

    def _wanted(self, group: str) -> bool:
        return group == _ALWAYS or not self._options.only or group in self._options.only

    def _takes_part(self, group: str) -> bool:
        """Return whether a contestant is measured; of single pieces of work only some are held against git's rows."""
        if self._options.works and group not in self._options.only:
            rows = f"{_ALWAYS}."
            needing = {t.ours.partition(".")[0] for t in TARGETS if t.theirs.startswith(rows)}
            return group == _ALWAYS and not needing.isdisjoint(self._options.works)
        return self._wanted(group)

    def _prepare(self, contestant: Contestant) -> bool:
        """Install a contestant and check what it keeps; return whether it can take part in the rest."""
        if not self._takes_part(contestant.group):
            return False
        _say(f"preparing {contestant.title}")
        version, failure = "", None
        kept: list[str] = []
        lost: dict[str, str] = {}
        try:
            version = contestant.install(self._folder / "installed", Budget(self._options.budget))
            kept, lost = lost_by(contestant, self._folder / "place", self._options.budget)
        except CommandFailed as exc:
            failure = Failure.of("install", exc)
        trees = self._trees[contestant.key] = []
        self._rows.append(
            Row(
                key=contestant.key,
                title=contestant.title,
                how=contestant.how,
                version=version,
                trees=trees,
                lost=lost,
                kept=kept,
                failure=failure,
            )
        )
        return failure is None

    def _work(
        self,
        table: Mapping[str, Callable[[Bench], Work]],
        files_of: Callable[[str], int],
        repository: Repository | None,
    ) -> None:
        if not self._wanted("mulligan") or self._options.no_works:
            return
        for name, measure in table.items():
            if self._options.works and name not in self._options.works:
                continue
            _say(f"work: {name}")
            place = self._folder / "place"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            bench = Bench(
                place=place,
                installed=self._folder / "installed",
                budget=Budget(self._options.budget),
                repeats=self._options.repeats,
                disk=self._disk(),
                files=files_of(name),
                repository=repository,
                committed=self._folder / _CHECKOUT,
                group_wanted=self._wanted,
            )
            self._works.append(_measured(name, measure, bench))
            shutil.rmtree(place, ignore_errors=True)
            bench.clear_homes()

    def _files_of(self, work: str) -> int:
        return min(_WORK_FILES[work], self._options.largest_work or _WORK_FILES[work])

    def _effort(self, files: int) -> Effort:
        return Effort(
            first=1 if files > _LARGE else min(_FIRST_RUNS, self._options.repeats),
            checkpoints=self._options.checkpoints,
            repeats=self._options.repeats,
            budget=self._options.budget,
            disk=self._disk(),
        )

    def _disk(self) -> Disk:
        return Disk(sync=not self._options.no_sync)


def _measured(name: str, measure: Callable[[Bench], Work], bench: Bench) -> Work:
    """Do a piece of work; what stops it stops no other: hours of measuring are not thrown away."""
    try:
        return measure(bench)
    except Exception as exc:  # noqa: BLE001  it is reported, and makes the comparison end with 1
        said = getattr(exc, "stderr", None)
        why = said.decode("utf-8", "replace") if isinstance(said, bytes) else ""
        failure = Failure(measure=name, command="", output=f"{exc!r}\n{why}".strip(), excused=False)
        return Work(key=name, title=name, files=bench.files, sides={}, how="", failures=[failure])


def _machine(folder: Path) -> dict[str, Any]:
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    mount = max((m for m in mounts if folder.is_relative_to(m[1])), key=lambda m: len(m[1]))
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "filesystem": mount[2],
        "python": platform.python_version(),
        "load": os.getloadavg()[0],
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
