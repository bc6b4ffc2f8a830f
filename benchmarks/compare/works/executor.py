"""The cost of a step beyond its own work: checkpoint, decision and rows, durable."""

from datetime import datetime
from itertools import pairwise

from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally, make_project
from benchmarks.compare.works.peers import dbos, langgraph, versions
from benchmarks.trees import make_repository

_STEPS = 200
_LEFT_OUT = 5  # at the start: what is loaded and opened once


def executor(bench: Bench) -> Work:
    """A plan of many steps that write one small file each, beside the same in DBOS and LangGraph."""
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
            how += f"; {versions(bench, 'dbos', 'dbos')}, SQLite with synchronous=FULL, as it comes and in WAL mode"
            for mode, side in (("delete", "DBOS step"), ("wal", "DBOS step, WAL")):
                for seconds in dbos(bench, bench.place / mode, mode, "FULL", _STEPS)["seconds"][_LEFT_OUT:]:
                    tally.add(side, seconds)
    if bench.group_wanted("langgraph"):
        with tally.part("LangGraph step", of_peer=True):
            saver = versions(bench, "langgraph", "langgraph", "langgraph-checkpoint-sqlite")
            how += f"; {saver}, in WAL mode with synchronous=FULL and durability sync"
            for seconds in langgraph(bench, bench.place / "langgraph", "FULL", _STEPS)["seconds"][_LEFT_OUT:]:
                tally.add("LangGraph step, WAL", seconds)
    return Work(
        key="executor",
        title="executor overhead per step",
        files=bench.files,
        sides=tally.sides(),
        how=how,
        failures=tally.failures,
    )
