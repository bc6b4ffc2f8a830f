"""The cost of `plan status` for a script that calls it often."""

import sys
from contextlib import nullcontext

from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import ONE_STEP, Bench, Tally, make_project, serving


def status(bench: Bench) -> Work:
    """`plan status --format json` beside the interpreter that does nothing."""
    tally = Tally()
    with tally.part("status"):
        make_project(bench.place, ONE_STEP)
        bench.mulligan(bench.place, "plan", "execute", "plan.yaml")
        for side in ("mulligan", "mulligan, server running"):
            with serving(bench, bench.place) if side != "mulligan" else nullcontext():
                bench.mulligan(
                    bench.place, "plan", "status", "--format", "json"
                )  # the server loads what it uses
                for _ in range(3 * bench.repeats):
                    done = bench.mulligan(bench.place, "plan", "status", "--format", "json")
                    tally.add(side, done.seconds)
                    tally.add("python", run([sys.executable, "-c", "pass"], bench.budget).seconds)
    return Work(
        key="status",
        title="plan status --format json as a process",
        files=None,
        sides=tally.sides(),
        how="with the local server and without it, in turns with `python -c pass` of the same interpreter",
        failures=tally.failures,
    )
