"""The speeds to reach, in one table, and the verdict on what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A ratio of two figures of one run; figures are named as in `Findings.figures`."""

    work: str
    against: str
    ours: str
    theirs: str
    faster: float | None = None  # theirs / ours is at least this
    at_most: float | None = None  # ours / theirs is at most this


class Verdict(StrEnum):
    """The verdict on a target."""

    REACHED = "reached"
    MISSED = "missed"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """A target beside what was measured."""

    target: Target
    ratio: float | None
    verdict: Verdict
    missing: tuple[str, ...] = ()  # figures that this run does not have

    @property
    def wanted(self) -> str:
        """The limit in words."""
        if self.target.faster is not None:
            return f"≥ {self.target.faster:g}× faster"
        return f"≤ {self.target.at_most:g}×"

    def to_json(self) -> dict[str, Any]:
        """As it is written down."""
        return {
            "work": self.target.work,
            "against": self.target.against,
            "ours": self.target.ours,
            "theirs": self.target.theirs,
            "wanted": self.wanted,
            "ratio": self.ratio,
            "verdict": self.verdict.value,
            "missing": list(self.missing),
        }


SHADOW_GIT = "shadow git, ignored files included"

TARGETS: tuple[Target, ...] = (
    Target(
        work="checkpoint after 5 changes, 100k files, plan running",
        against=SHADOW_GIT,
        ours="running-plan.checkpoint, 5 changes@100000",
        theirs="git.five-changes@100000",
        faster=100,
    ),
    Target(
        work="snapshot alone after 5 changes, 100k files, process running",
        against=SHADOW_GIT,
        ours="mulligan-watch.five-changes@100000",
        theirs="git.five-changes@100000",
        faster=50,
    ),
    Target(
        work="checkpoint after 5 changes, 100k files, first of a new process",
        against=SHADOW_GIT,
        ours="running-plan.checkpoint create as a process, 5 changes@100000",
        theirs="git.five-changes@100000",
        faster=2,
    ),
    Target(
        work="checkpoint after 5 changes, 100k files, new process, local server running",
        against=SHADOW_GIT,
        ours="running-plan.checkpoint create as a process, 5 changes, server running@100000",
        theirs="git.five-changes@100000",
        faster=5,
    ),
    Target(
        work="first snapshot of 100k files",
        against=SHADOW_GIT,
        ours="mulligan-scan.first@100000",
        theirs="git.first@100000",
        faster=5,
    ),
    Target(
        work="restore after 15 changed paths, 100k files, process running",
        against="git read-tree -u --reset, git clean",
        ours="mulligan-watch.restore@100000",
        theirs="git.restore@100000",
        faster=20,
    ),
    Target(
        work="rollback of 15 changed paths inside a session, 100k files",
        against="git read-tree -u --reset, git clean",
        ours="session-rollback.mulligan@100000",
        theirs="session-rollback.git@100000",
        faster=20,
    ),
    *(
        Target(
            work=f"disk after 50 checkpoints of 5 small changes, {files:,} files",
            against=SHADOW_GIT,
            ours=f"mulligan-scan.disk-after-50@{files}",
            theirs=f"git.disk-after-50@{files}",
            at_most=1,
        )
        for files in (1_000, 10_000, 100_000)
    ),
    Target(
        work="executor overhead per step, 1k files",
        against="DBOS step on SQLite, WAL and synchronous=FULL like ours",
        ours="executor.mulligan step@1000",
        theirs="executor.DBOS step, WAL@1000",
        at_most=2,
    ),
    Target(
        work="checkpoint of a git checkout after 5 changes, 100k files, plan running",
        against=SHADOW_GIT,
        ours="running-plan-git.checkpoint, 5 changes@100000",
        theirs="git.five-changes@100000",
        faster=30,
    ),
    Target(
        work="sandbox and first checkpoint of a git checkout, 100k files",
        against=SHADOW_GIT,
        ours="running-plan-git.sandbox and first checkpoint@100000",
        theirs="git.first@100000",
        faster=5,
    ),
    Target(
        work="time to the first step, 10k files, 200 MB",
        against="cp -a, git add -A, commit",
        ours="first-step.mulligan@10000",
        theirs="first-step.cp and git@10000",
        at_most=1,
    ),
    Target(
        work="second plan on a git checkout, 100k files: time to its first step",
        against="cp -a of the checkout",
        ours="second-plan.mulligan@100000",
        theirs="second-plan.cp -a@100000",
        faster=20,
    ),
    Target(
        work="the same, local server running",
        against="cp -a of the checkout",
        ours="second-plan.mulligan, server running@100000",
        theirs="second-plan.cp -a@100000",
        faster=20,
    ),
    Target(
        work="fork of a sandbox of 10k files, nothing parked",
        against="cp -a",
        ours="forks.cold fork@10000",
        theirs="forks.cp -a@10000",
        at_most=1,
    ),
    Target(
        work="fork of a sandbox of 10k files, of a parked copy",
        against="cp -a",
        ours="forks.warm fork@10000",
        theirs="forks.cp -a@10000",
        at_most=0.1,
    ),
    Target(
        work="eight child plans at once, 10k files, two cores",
        against="one after the other",
        ours="children.8 children at once@10000",
        theirs="children.one after the other@10000",
        at_most=0.6,
    ),
    Target(
        work="eight variants of a tree of 10k files, from parked copies",
        against="one variant",
        ours="variants.8 variants@10000",
        theirs="variants.1 variant@10000",
        at_most=2,
    ),
    Target(
        work="plan rollback of 15 paths as a process, 10k files",
        against="git reset --hard, git clean -fd",
        ours="rollback.mulligan@10000",
        theirs="rollback.git@10000",
        at_most=3,
    ),
    Target(
        work="plan rollback of 15 paths as a process, 10k files, local server running",
        against="git reset --hard, git clean -fd",
        ours="rollback.mulligan, server running@10000",
        theirs="rollback.git@10000",
        at_most=2,
    ),
    Target(
        work="plan apply of 100 files into a git checkout, 100k files",
        against="git merge of the same",
        ours="apply.mulligan@100000",
        theirs="apply.git merge@100000",
        at_most=3,
    ),
    Target(
        work="plan apply of 100 files into a git checkout, 100k files, local server running",
        against="git merge of the same",
        ours="apply.mulligan, server running@100000",
        theirs="apply.git merge@100000",
        at_most=3,
    ),
    Target(
        work="listing 10,000 checkpoint groups: linear in what is returned",
        against="listing 1,000",
        ours="history.list 10,000",
        theirs="history.list 1,000",
        at_most=10,
    ),
    Target(
        work="pruning 10,000 groups to 50: linear in what is removed",
        against="pruning 1,000 to 50",
        ours="history.prune 10,000 to 50",
        theirs="history.prune 1,000 to 50",
        at_most=10.5,  # 9,950 are removed, not 950
    ),
    Target(
        work="a checkpoint that prunes another, 10,000 groups kept: flat in what is kept",
        against="1,000 kept",
        ours="history.checkpoint, one pruned, 10,000 kept",
        theirs="history.checkpoint, one pruned, 1,000 kept",
        at_most=1.5,  # flat, but for what two runs may differ by
    ),
    Target(
        work="run of one shell step, sandbox at the real path",
        against="sandbox at its own path",
        ours="real-path.run of one step at the real path",
        theirs="real-path.run of one step at its own path",
        at_most=1.1,
    ),
    Target(
        work="one more shell step, sandbox at the real path",
        against="sandbox at its own path",
        ours="real-path.step at the real path",
        theirs="real-path.step at its own path",
        at_most=1.2,
    ),
    Target(
        work="a hook at a tool call, 5 changes, 100k files in place, server running",
        against="python -c pass",
        ours="hooks.hook, server running@100000",
        theirs="hooks.python@100000",
        at_most=3,
    ),
    Target(
        work="the same in a git checkout, server running",
        against="python -c pass",
        ours="hooks-git.hook, server running@100000",
        theirs="hooks-git.python@100000",
        at_most=3,
    ),
    Target(
        work="the same without the server",
        against=SHADOW_GIT,
        ours="hooks.hook, no server@100000",
        theirs="git.five-changes@100000",
        faster=2,
    ),
    Target(
        work="plan status --format json as a process",
        against="python -c pass",
        ours="status.mulligan",
        theirs="status.python",
        at_most=5,
    ),
    Target(
        work="plan status --format json, local server running",
        against="python -c pass",
        ours="status.mulligan, server running",
        theirs="status.python",
        at_most=5,
    ),
    Target(
        work="step in a shared project, PostgreSQL on the same machine",
        against="the same step, rows in SQLite",
        ours="shared-steps.step, PostgreSQL",
        theirs="shared-steps.step, SQLite",
        at_most=3,
    ),
    *(
        Target(
            work=f"{act} of a {size} state of LangGraph",
            against="langgraph-checkpoint-sqlite, WAL and synchronous=FULL like ours",
            ours=f"graph-states.{act}, {size}, mulligan",
            theirs=f"graph-states.{act}, {size}, SqliteSaver",
            at_most=1.2,
        )
        for act in ("put", "get")
        for size in ("small", "1 MB")
    ),
    Target(
        work="a step of LangGraph that changes 5 of 10k files",
        against="SqliteSaver and shadow git",
        ours="graph-steps.mulligan@10000",
        theirs="graph-steps.SqliteSaver and shadow git@10000",
        faster=10,
    ),
)


def judge(targets: Sequence[Target], figures: Mapping[str, float]) -> list[Judgement]:
    """Compare every target with the figures of one run."""
    return [_judge(target, figures) for target in targets]


def _judge(target: Target, figures: Mapping[str, float]) -> Judgement:
    ours, theirs = figures.get(target.ours), figures.get(target.theirs)
    if not ours or not theirs:
        missing = tuple(name for name in (target.ours, target.theirs) if not figures.get(name))
        return Judgement(target=target, ratio=None, verdict=Verdict.NOT_MEASURED, missing=missing)
    ratio = theirs / ours if target.faster is not None else ours / theirs
    reached = ratio >= target.faster if target.faster is not None else ratio <= (target.at_most or 0)
    return Judgement(target=target, ratio=ratio, verdict=Verdict.REACHED if reached else Verdict.MISSED)
