"""The time until the first step of a second plan on the same checkout is done: its sandbox was parked by the first."""

import shutil
from contextlib import nullcontext

from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import ONE_STEP, Bench, Tally, commit_all, make_project, serving


def second_plan(bench: Bench) -> Work:
    """`plan execute` of one small step, after a plan that was applied, beside a copy of the tree."""
    tally = Tally()
    with tally.part("second plan"):
        _run(bench, tally)
    return Work(
        key="second-plan",
        title="a second plan on a git checkout: time to the end of its first step",
        files=bench.files,
        sides=tally.sides(),
        how="plan execute of one write_file step, after a plan on the same checkout was applied, in turns with cp -a of"
        " the checkout; with the local server and without it",
        failures=tally.failures,
    )


def _run(bench: Bench, tally: Tally) -> None:
    project, copy = bench.place / "project", bench.place / "copy"
    bench.make_checkout(project)
    make_project(project, ONE_STEP)
    commit_all(bench, project)
    for side in ("mulligan", "mulligan, server running"):
        with serving(bench, project) if side != "mulligan" else nullcontext():
            for number in range(min(3, bench.repeats) + 1):
                bench.disk.settle()
                executed = bench.mulligan(project, "plan", "execute", "plan.yaml")
                bench.mulligan(project, "plan", "apply", "--yes")
                if number == 0:  # it makes the copy, and with the apply the server begins to watch it
                    tally.add(f"{side}, first plan", executed.seconds)
                    continue
                tally.add(side, executed.seconds)
                bench.disk.settle()
                copied = run(["cp", "-a", "--reflink=auto", str(project), str(copy)], bench.budget)
                tally.add("cp -a", copied.seconds)
                shutil.rmtree(copy)
