"""What a step costs beyond its own work: checkpoint, decision and rows, durable."""

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from benchmarks.compare.contestants.packages import python_environment, version_of
from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally, make_project
from benchmarks.trees import make_repository

_PROGRAM = Path(__file__).parent.parent / "drivers" / "dbos_steps.py"
_STEPS = 200
_LEFT_OUT = 5  # at the start: what is loaded and opened once


def executor(bench: Bench) -> Work:
    """A plan of many steps that write one small file each, beside a DBOS workflow of the same."""
    tally = Tally()
    project = bench.place / "project"
    how = f"{_STEPS} steps that write a small file each, from the start of one to the start of the next"
    with tally.part("mulligan step"):
        project.mkdir()
        make_repository(project, bench.files)
        make_project(
            project,
            [
                {"name": f"s{n}", "tool": "write_file", "args": {"path": f"out/{n % 20}", "content": f"{n}"}}
                for n in range(_STEPS)
            ],
        )
        bench.disk.settle()
        bench.mulligan(project, "plan", "execute", "plan.yaml")
        events = bench.mulligan_data(project, "plan", "log")["events"]
        begun = [datetime.fromisoformat(e["created_at"]) for e in events if e["type"] == "step_started"]
        for one, next_one in list(pairwise(begun))[_LEFT_OUT:]:
            tally.add("mulligan step", (next_one - one).total_seconds())
    if bench.group_wanted("dbos"):
        with tally.part("DBOS step", of_peer=True):
            python = python_environment(bench.installed / "dbos", bench.budget, "dbos")
            how += f"; dbos {version_of(python, 'dbos', bench.budget)}, SQLite with synchronous=FULL, as it"
            how += " comes and in WAL mode"
            for mode, side in (("delete", "DBOS step"), ("wal", "DBOS step, WAL")):
                folder = bench.place / mode
                folder.mkdir()
                bench.disk.settle()
                done = run(
                    [str(python), str(_PROGRAM), str(folder), mode, str(_STEPS)], bench.budget, cwd=folder
                )
                for seconds in json.loads(done.output.splitlines()[-1])["seconds"][_LEFT_OUT:]:
                    tally.add(side, seconds)
    return Work(
        key="executor",
        title="executor overhead per step",
        files=bench.files,
        sides=tally.sides(),
        how=how,
        failures=tally.failures,
    )
