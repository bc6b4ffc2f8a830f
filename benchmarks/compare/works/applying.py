"""Applying a plan to a git checkout, beside a merge of the same change by git."""

import shutil
from pathlib import Path

from benchmarks.compare.processes import CommandFailed, run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import GIT, Bench, Tally, commit_all, make_project, serving

_CHANGED = 100


def applying(bench: Bench) -> Work:
    """`plan apply --yes` of a hundred changed files beside `git merge` of them."""
    tally = Tally()
    with tally.part("apply"):
        _run(bench, tally)
    return Work(
        key="apply",
        title=f"apply of {_CHANGED} changed files into a git checkout",
        files=bench.files,
        sides=tally.sides(),
        how="a plan that changed them, applied with its commit; git merge --no-ff of a branch with the same change,"
        " in the same checkout, in turns; what git wrote is taken back by git reset --hard before the apply; with the"
        " local server, after a first round that is not counted, and without it",
        failures=tally.failures,
    )


def _run(bench: Bench, tally: Tally) -> None:
    project = bench.place / "project"
    sources = bench.make_checkout(project)
    steps = [
        {
            "name": "edit",
            "tool": "python",
            "args": {"function": "bench_step:edit", "kwargs": {"count": _CHANGED}},
        }
    ]
    make_project(project, steps)
    commit_all(bench, project)
    rounds = min(3, bench.repeats)
    for number in range(rounds):
        _turn(bench, tally, project, sources, f"theirs{number}", "mulligan")
    with serving(bench, project):
        for number in range(rounds, 2 * rounds + 1):
            side = "mulligan, server running" if number > rounds else "mulligan, first with a server"
            _turn(bench, tally, project, sources, f"theirs{number}", side)


def _turn(bench: Bench, tally: Tally, project: Path, sources: list[str], branch: str, side: str) -> None:
    bench.mulligan(project, "plan", "execute", "plan.yaml")
    found = bench.mulligan_data(project, "plan", "status")
    sandbox = Path(found["sandboxes"][0]["path"])
    _make_branch(bench, project, sandbox, sources, branch)
    bench.disk.settle()
    merged = run([*GIT, "merge", "--quiet", "--no-ff", "-m", "merge", branch], bench.budget, cwd=project)
    tally.add("git merge", merged.seconds)
    run(["git", "reset", "--quiet", "--hard", "HEAD^"], bench.budget, cwd=project)
    bench.disk.settle()
    tally.add(side, bench.mulligan(project, "plan", "apply", "--yes", found["plan_id"]).seconds)
    left = run(["git", "diff", "--stat", branch, "HEAD"], bench.budget, cwd=project).output
    if left.strip():
        raise CommandFailed("mulligan plan apply", f"not what git merged: {left}")


def _make_branch(bench: Bench, project: Path, sandbox: Path, sources: list[str], name: str) -> None:
    """A branch with what the plan made, and the checkout back where it was."""
    run(["git", "checkout", "--quiet", "-b", name], bench.budget, cwd=project)
    for path in sources:
        if (sandbox / path).read_bytes() != (project / path).read_bytes():
            shutil.copy(sandbox / path, project / path)
    run([*GIT, "commit", "--quiet", "-a", "-m", name], bench.budget, cwd=project)
    run(["git", "checkout", "--quiet", "-"], bench.budget, cwd=project)
