"""Printed results: one table per question, then the verdicts."""

from collections.abc import Sequence

from benchmarks.compare.results import Findings, Row, Work
from benchmarks.compare.targets import Judgement

_MEASURES = {
    "first": "first",
    "five-changes": "5 changes",
    "no-change": "no change",
    "restore": "restore 15",
}
_WIDEST = 52


def show(findings: Findings, judgements: Sequence[Judgement]) -> None:
    """Print everything that was found."""
    machine = findings.machine
    print(
        f"{machine['cpus']} CPUs, {machine['filesystem']}, Linux {machine['kernel']}, "
        f"Python {machine['python']}, load {machine['load']:.1f} at the start\n"
    )
    _print(
        ["contestant", "files", *_MEASURES.values(), "disk first", "disk after all", ""], _snapshots(findings)
    )
    _print(["contestant", "loses"], [[row.title, _lost(row)] for row in findings.rows if not row.failure])
    _print(["work", "files", "by", "median"], [line for work in findings.works for line in _work(work)])
    failures = findings.failures()
    if failures:
        print("Not measured:")
        for owner, failure in failures:
            print(f"  {owner}, {failure.measure}: {failure.command}")
            print("".join(f"    {line}\n" for line in failure.output.splitlines()), end="")
        print()
    _print(
        ["target", "against", "to reach", "measured", ""],
        [[j.target.work, j.target.against, j.wanted, _ratio(j), _verdict(j)] for j in judgements],
    )


def _verdict(judgement: Judgement) -> str:
    lacks = f": no {', no '.join(judgement.missing)}" if judgement.missing else ""
    return f"{judgement.verdict.value}{lacks}"


def seconds(value: float) -> str:
    """A time that can be read at a glance."""
    if value >= 100:
        return f"{value:.0f} s"
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1000:.0f} ms" if value >= 0.01 else f"{value * 1000:.2f} ms"


def size(value: float) -> str:
    """Format a size."""
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.1f} MB"


def _snapshots(findings: Findings) -> list[list[str]]:
    lines: list[list[str]] = []
    sizes = sorted({tree.files for row in findings.rows for tree in row.trees})
    for files in sizes:
        for row in findings.rows:
            for tree in row.trees:
                if tree.files != files:
                    continue
                times = [seconds(tree.runs[m].median) if m in tree.runs else "-" for m in _MEASURES]
                after = next((size(used) for name, used in tree.disk.items() if name != "first"), "-")
                disk = [size(tree.disk["first"]) if "first" in tree.disk else "-", after]
                note = f"stopped at {tree.failure.measure}" if tree.failure else ""
                note += "restore not exact" if tree.inexact else ""
                lines.append([row.title, f"{files:,}", *times, *disk, note])
    lines += [
        [row.title, "", *["-"] * (len(_MEASURES) + 2), "could not be measured"]
        for row in findings.rows
        if row.failure
    ]
    return lines


def _lost(row: Row) -> str:
    """Return the lost properties, a word each; the details are in the JSON."""
    return ", ".join(row.lost) or "nothing of the list"


def _work(work: Work) -> list[list[str]]:
    files = "" if work.files is None else f"{work.files:,}"
    return [[work.title, files, side, seconds(runs.median)] for side, runs in work.sides.items()]


def _ratio(judgement: Judgement) -> str:
    return "-" if judgement.ratio is None else f"{judgement.ratio:.2f}×"


def _print(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    if not lines:
        return
    widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
    widths[-1] = min(_WIDEST, widths[-1])  # the last one may run over
    rule = ["─" * width for width in widths]
    for line in [head, rule, *lines]:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print()
