"""Results of a comparison: values that become JSON as they are."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.compare.processes import CommandFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed measurement: the command and the last lines it printed."""

    measure: str
    command: str
    output: str
    excused: bool  # no fault of mulligan: a feature to come, a peer that does not work here

    @staticmethod
    def of(measure: str, failed: CommandFailed) -> "Failure":
        """A failure that nothing excuses."""
        return Failure(measure=measure, command=failed.command, output=failed.output, excused=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Seconds of several runs of the same thing."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure that is shown and compared."""
        return statistics.median(self.seconds)

    def to_json(self) -> dict[str, Any]:
        """Both the figure and what it comes from."""
        return {"median": self.median, "runs": list(self.seconds)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTree:
    """One contestant on one tree."""

    files: int
    runs: Mapping[str, Runs]  # by measure
    disk: Mapping[str, int]  # bytes: of the first snapshot, and after-50 (or however many) checkpoints
    inexact: str | None  # what a restore of changed paths did not bring back
    failure: Failure | None  # where it stopped

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        return {
            "files": self.files,
            "seconds": {measure: runs.to_json() for measure, runs in self.runs.items()},
            "disk_bytes": dict(self.disk),
            "restore_inexact": self.inexact,
            "failure": _failure(self.failure),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All that was found about one contestant."""

    key: str
    title: str
    how: str
    version: str
    trees: Sequence[OnTree]
    lost: Mapping[str, str]  # of the fidelity list: what, and how it was lost
    kept: Sequence[str]
    failure: Failure | None  # it could not be installed or started at all

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        return {
            "key": self.key,
            "title": self.title,
            "how": self.how,
            "version": self.version,
            "trees": [tree.to_json() for tree in self.trees],
            "fidelity": {"kept": list(self.kept), "lost": dict(self.lost)},
            "failure": _failure(self.failure),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work of mulligan beside the same work done another way, run in turns."""

    key: str
    title: str
    files: int | None
    sides: Mapping[str, Runs]  # by what did it
    how: str
    failures: Sequence[Failure]

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        return {
            "key": self.key,
            "title": self.title,
            "files": self.files,
            "how": self.how,
            "seconds": {side: runs.to_json() for side, runs in self.sides.items()},
            "failures": [_failure(failure) for failure in self.failures],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Everything one comparison found."""

    machine: Mapping[str, Any]
    rows: Sequence[Row]
    works: Sequence[Work]

    def figures(self) -> dict[str, float]:
        """Every figure under one name: `row.measure@files`, or `work.side@files`, `work.side`."""
        found: dict[str, float] = {}
        for row in self.rows:
            for tree in row.trees:
                found |= {f"{row.key}.{name}@{tree.files}": runs.median for name, runs in tree.runs.items()}
                found |= {f"{row.key}.disk-{name}@{tree.files}": size for name, size in tree.disk.items()}
        for work in self.works:
            where = "" if work.files is None else f"@{work.files}"
            found |= {f"{work.key}.{side}{where}": runs.median for side, runs in work.sides.items()}
        return found

    def failures(self) -> list[tuple[str, Failure]]:
        """All that could not be measured, with whose measure it was."""
        found = [(row.key, row.failure) for row in self.rows if row.failure]
        found += [
            (f"{row.key}@{tree.files}", tree.failure)
            for row in self.rows
            for tree in row.trees
            if tree.failure
        ]
        found += [(work.key, failure) for work in self.works for failure in work.failures]
        return found


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    if failure is None:
        return None
    return {
        "measure": failure.measure,
        "command": failure.command,
        "output": failure.output,
        "excused": failure.excused,
    }
