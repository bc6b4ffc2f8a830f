"""The command: what to compare and in which folder; tables, a JSON file, and an exit code."""

import argparse
import json
import signal
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from benchmarks.compare.comparison import Comparison
from benchmarks.compare.contestants import contestants
from benchmarks.compare.results import Findings
from benchmarks.compare.table import show
from benchmarks.compare.targets import Judgement, Target, Verdict, judge
from benchmarks.compare.works import WORKS, WORKS_ON_TREES

_INTERRUPTED = 130


def main(arguments: Sequence[str], targets: Sequence[Target]) -> int:
    """Compare, print, write; return the exit code. When interrupted, print the results so far."""
    options = _options(arguments)
    with _own_folder(options.folder) as folder:
        comparison = Comparison(options, folder)
        if options.works:
            targets = [target for target in targets if target.ours.partition(".")[0] in options.works]
        try:
            comparison.run()
        except KeyboardInterrupt:
            _report(options, comparison.findings(), targets)
            return _INTERRUPTED
        except BaseException:
            _report(options, comparison.findings(), targets)  # hours of work are not thrown away
            raise
    findings = comparison.findings()
    return exit_code(_report(options, findings, targets), findings, warn_only=options.warn_only)


def _report(options: argparse.Namespace, findings: Findings, targets: Sequence[Target]) -> list[Judgement]:
    judgements = judge(targets, findings.figures())
    show(findings, judgements)
    if options.json:
        _write(options.json, findings, judgements)
    return judgements


def exit_code(judgements: Sequence[Judgement], findings: Findings, *, warn_only: bool) -> int:
    """1 where a target was missed, or mulligan or git, which all else is held against, was not measured."""
    missed = any(judgement.verdict is Verdict.MISSED for judgement in judgements)
    broken = any(not failure.excused for owner, failure in findings.failures() if _is_needed(owner))
    return 0 if warn_only else int(missed or broken)


def _is_needed(owner: str) -> bool:
    return owner.startswith(("mulligan", "git")) or owner in WORKS or owner in WORKS_ON_TREES


def _write(file: Path, findings: Findings, judgements: Sequence[Judgement]) -> None:
    document = {
        "machine": dict(findings.machine),
        "contestants": [row.to_json() for row in findings.rows],
        "works": [work.to_json() for work in findings.works],
        "targets": [judgement.to_json() for judgement in judgements],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2) + "\n")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    add = parser.add_argument
    add("--sizes", type=_numbers, default=[1_000, 10_000, 100_000], help="files of the trees: 1000,10000")
    add("--only", type=_groups, default=[], help="mulligan,stepback,…; git is never left out")
    add("--json", type=Path, metavar="FILE", help="write everything that was found there")
    add("--warn-only", action="store_true", help="end with 0 even if a target was missed")
    add("--no-works", action="store_true", help="compare snapshots only")
    add("--works", type=_works, default=[], help="only these pieces of work, with git: status,rollback,…")
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
    known = sorted({contestant.group for contestant in contestants()} | {"dbos", "langgraph"})
    unknown = sorted(set(text.split(",")) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return text.split(",")


def _works(text: str) -> list[str]:
    known = [*WORKS, *WORKS_ON_TREES]
    unknown = sorted(set(text.split(",")) - set(known))
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return text.split(",")


@contextmanager
def _own_folder(parent: Path | None) -> Generator[Path]:
    """A folder that is gone afterwards, also when this process is asked to stop."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        with tempfile.TemporaryDirectory(prefix="compare-", dir=parent, ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o711)  # root's PostgreSQL runs as another user, in a folder of its own inside
            yield Path(folder).resolve()
    finally:
        signal.signal(signal.SIGTERM, before)
