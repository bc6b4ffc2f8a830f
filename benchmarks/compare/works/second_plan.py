"""The time until the first step of a second plan on the same checkout is done: its sandbox was parked by the first."""

import shutil

from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import ONE_STEP, Bench, Tally, commit_all, make_project


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
        " the checkout",
        failures=tally.failures,
    )


def _run(bench: Bench, tally: Tally) -> None:
    project, copy = bench.place / "project", bench.place / "copy"
    bench.make_checkout(project)
    make_project(project, ONE_STEP)
    commit_all(bench, project)
    for number in range(min(3, bench.repeats) + 1):
        bench.disk.settle()
        executed = bench.mulligan(project, "plan", "execute", "plan.yaml")
        bench.mulligan(project, "plan", "apply", "--yes")
        if number == 0:
            tally.add("mulligan, first plan", executed.seconds)
            continue
        tally.add("mulligan", executed.seconds)
        bench.disk.settle()
        tally.add("cp -a", run(["cp", "-a", "--reflink=auto", str(project), str(copy)], bench.budget).seconds)
        shutil.rmtree(copy)
