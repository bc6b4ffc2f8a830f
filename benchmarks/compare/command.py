"""The command: what to compare, in which folder; a table, a JSON file, and an exit code."""

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks.compare.contest import Contestant, Disk, Effort, compete
from benchmarks.compare.contestants import contestants
from benchmarks.compare.fidelity import lost_by
from benchmarks.compare.processes import Budget, CommandFailed
from benchmarks.compare.results import Failure, Findings, OnTree, Row, Work
from benchmarks.compare.table import show
from benchmarks.compare.targets import Judgement, Target, Verdict, judge
from benchmarks.compare.works import WORKS, WORKS_ON_TREES
from benchmarks.compare.works.bench import Bench
from benchmarks.trees import Repository, make_repository

_WORK_FILES = {"status": 0, "rollback": 10_000, "first-step": 10_000, "verify": 10_000, "executor": 1_000}
_ALWAYS = "git"  # the measure of all others


def main(arguments: Sequence[str], targets: Sequence[Target]) -> int:
    """Compare, print, write; 1 where a target was missed or mulligan could not be measured."""
    options = _options(arguments)
    with _own_folder(options.folder) as folder:
        findings = Comparison(options).run(folder)
    judgements = judge(targets, findings.figures())
    show(findings, judgements)
    if options.json:
        document = {**_document(findings), "targets": [judgement.to_json() for judgement in judgements]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(document, indent=2) + "\n")
    return exit_code(judgements, findings, warn_only=options.warn_only)


def exit_code(judgements: Sequence[Judgement], findings: Findings, *, warn_only: bool) -> int:
    """1 where a target was missed, or something of mulligan broke that should have been measured."""
    missed = any(judgement.verdict is Verdict.MISSED for judgement in judgements)
    broken = any(not failure.excused for owner, failure in findings.failures() if _is_ours(owner))
    return 0 if warn_only else int(missed or broken)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison, as it was asked for."""

    options: argparse.Namespace

    def run(self, folder: Path) -> Findings:
        """Measure everyone on every tree, then the pieces of work."""
        machine = _machine(folder)
        taking_part = [c for c in contestants(install=self.options.install) if self._wanted(c.group)]
        ready = {c.key: self._prepare(c, folder / "installed") for c in taking_part}
        trees: dict[str, list[OnTree]] = {c.key: [] for c in taking_part}
        works: list[Work] = []
        for files in self.options.sizes:
            original = folder / "original"
            original.mkdir()
            repository = make_repository(original, files)
            for contestant in taking_part:
                if isinstance(ready[contestant.key], str):
                    _say(f"{files:,} files: {contestant.title}")
                    found = compete(contestant, repository, folder / "place", self._effort(files))
                    trees[contestant.key].append(found)
            works += self._works(WORKS_ON_TREES, folder, lambda _, files=files: files, repository)
            shutil.rmtree(original)
        works += self._works(WORKS, folder, self._files_of, None)
        rows = [self._row(c, ready[c.key], trees[c.key], folder) for c in taking_part]
        return Findings(machine=machine, rows=rows, works=works)

    def _wanted(self, group: str) -> bool:
        return group == _ALWAYS or not self.options.only or group in self.options.only

    def _prepare(self, contestant: Contestant, place: Path) -> str | Failure:
        _say(f"preparing {contestant.title}")
        place.mkdir(exist_ok=True)
        try:
            return contestant.install(place, Budget(self.options.budget))
        except CommandFailed as exc:
            return Failure.of("install", exc)

    def _row(
        self, contestant: Contestant, ready: str | Failure, trees: Sequence[OnTree], folder: Path
    ) -> Row:
        kept: list[str] = []
        lost: dict[str, str] = {}
        if isinstance(ready, str):
            _say(f"fidelity: {contestant.title}")
            kept, lost = lost_by(contestant, folder / "place", self.options.budget)
        return Row(
            key=contestant.key,
            title=contestant.title,
            how=contestant.how,
            version=ready if isinstance(ready, str) else "",
            trees=trees,
            lost=lost,
            kept=kept,
            failure=None if isinstance(ready, str) else ready,
        )

    def _works(
        self,
        table: Mapping[str, Callable[[Bench], Work]],
        folder: Path,
        files_of: Callable[[str], int],
        repository: Repository | None,
    ) -> list[Work]:
        done: list[Work] = []
        if not self._wanted("mulligan") or self.options.no_works:
            return done
        for name, measure in table.items():
            _say(f"work: {name}")
            place = folder / "place"
            place.mkdir()
            bench = Bench(
                place=place,
                installed=folder / "installed",
                budget=Budget(self.options.budget),
                repeats=self.options.repeats,
                disk=Disk(sync=not self.options.no_sync),
                files=files_of(name),
                repository=repository,
                install=self.options.install,
                group_wanted=self._wanted,
            )
            done.append(measure(bench))
            shutil.rmtree(place)
        return done

    def _files_of(self, work: str) -> int:
        return min(_WORK_FILES[work], self.options.largest_work or _WORK_FILES[work])

    def _effort(self, files: int) -> Effort:
        return Effort(
            first=1 if files > 20_000 else min(3, self.options.repeats),
            checkpoints=self.options.checkpoints,
            repeats=self.options.repeats,
            budget=self.options.budget,
            disk=Disk(sync=not self.options.no_sync),
        )


def _is_ours(owner: str) -> bool:
    return owner.startswith("mulligan") or owner in WORKS or owner in WORKS_ON_TREES


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="files of the trees: 1000,10000")
    add("--only", type=_groups, default=[], help="mulligan,stepback,…; git is never left out")
    add("--json", type=Path, metavar="FILE", help="write everything that was found there")
    add("--install", action="store_true", help="as root, install missing packages of the system")
    add("--warn-only", action="store_true", help="end with 0 even if a target was missed")
    add("--no-works", action="store_true", help="compare snapshots only")
    add("--largest-work", type=int, metavar="FILES", help="use smaller trees for the pieces of work")
    add(
        "--no-sync", action="store_true", help="write nothing out between measures: to try it, not to measure"
    )
    add("--repeats", type=int, default=5, help="runs per figure (default 5)")
    add("--checkpoints", type=int, default=50, help="checkpoints of 5 changes each (default 50)")
    add("--budget", type=float, default=900, help="seconds per contestant and tree (default 900)")
    add(
        "--folder", type=Path, help="where to work; everything is on its disk (default: the temporary folder)"
    )
    return parser.parse_args(arguments)


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _groups(text: str) -> list[str]:
    known = sorted({contestant.group for contestant in contestants(install=False)} | {"dbos"})
    unknown = sorted(set(text.split(",")) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return text.split(",")


@contextmanager
def _own_folder(parent: Path | None) -> Generator[Path]:
    """A folder that is gone afterwards, also when this process is asked to stop."""

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with tempfile.TemporaryDirectory(prefix="compare-", dir=parent, ignore_cleanup_errors=True) as folder:
            yield Path(folder).resolve()
    finally:
        signal.signal(signal.SIGTERM, before)


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


def _document(findings: Findings) -> dict[str, Any]:
    return {
        "machine": dict(findings.machine),
        "contestants": [row.to_json() for row in findings.rows],
        "works": [work.to_json() for work in findings.works],
    }


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
