"""The cost of a sandbox that steps see in the place of the real folder."""

import time
from datetime import datetime
from itertools import pairwise

from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally, make_project

_STEPS = 100
_LEFT_OUT = 5  # at the start: what is loaded and opened once
_SIDES = {"auto": "at the real path", "own-path": "at its own path"}


def real_path(bench: Bench) -> Work:
    """Plans of shell steps, at the real path and at the sandbox's own, in turn."""
    tally = Tally()
    one, many = bench.place / "one", bench.place / "many"
    for project, count in ((one, 1), (many, _STEPS)):
        project.mkdir()
        steps = [{"name": f"s{n}", "tool": "shell", "args": {"command": "true"}} for n in range(count)]
        make_project(project, steps)
        bench.mulligan(project, "init")
    for number in range(bench.repeats):
        for at, side in _SIDES.items():
            with tally.part(f"run of one step {side}"):
                bench.disk.settle()
                began = time.perf_counter()
                bench.mulligan(one, "-c", f"sandbox.at={at}", "plan", "execute", "plan.yaml")
                if number:  # the first reads files that are in no cache yet
                    tally.add(f"run of one step {side}", time.perf_counter() - began)
    for at, side in _SIDES.items():
        with tally.part(f"step {side}"):
            bench.disk.settle()
            bench.mulligan(many, "-c", f"sandbox.at={at}", "plan", "execute", "plan.yaml")
            events = bench.mulligan_data(many, "plan", "log", "latest")["events"]
            begun = [datetime.fromisoformat(e["created_at"]) for e in events if e["type"] == "step_started"]
            for before, after in list(pairwise(begun))[_LEFT_OUT:]:
                tally.add(f"step {side}", (after - before).total_seconds())
    return Work(
        key="real-path",
        title="sandbox at the real path",
        files=None,
        sides=tally.sides(),
        how=f"`plan execute` of one shell step that runs `true`; and of {_STEPS}, from one to the next",
        failures=tally.failures,
    )
