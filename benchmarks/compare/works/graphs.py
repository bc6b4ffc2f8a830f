"""LangGraph with mulligan's saver: states beside `SqliteSaver`, steps with files beside that and shadow git."""

import json
import os
import sys
from pathlib import Path

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.processes import run, surroundings
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally
from benchmarks.trees import make_repository

_DRIVERS = Path(__file__).parent.parent / "drivers"


def graph_states(bench: Bench) -> Work:
    """Put and get of small and large states."""
    tally = Tally()
    with tally.part("states"):
        _drive(bench, tally, "graph_states", str(max(20, 10 * bench.repeats)))
    return Work(
        key="graph-states",
        title="a state of LangGraph put and read",
        files=None,
        sides=tally.sides(),
        how="put and get_tuple of checkpoints with a text of 200 characters and of 1 MB, another one each time, in"
        " turns; langgraph-checkpoint-sqlite in WAL mode with synchronous=FULL, as mulligan's database",
        failures=tally.failures,
    )


def graph_steps(bench: Bench) -> Work:
    """Steps of a graph that change five files each."""
    tally = Tally()
    with tally.part("steps"):
        tree = bench.place / "project"
        tree.mkdir()
        sources = [os.fspath(path) for path in make_repository(tree, bench.files).sources]
        (bench.place / "sources.json").write_text(json.dumps(sources))
        copy_tree(tree, bench.place / "other", bench.budget)
        _drive(bench, tally, "graph_steps", str(bench.repeats))
    return Work(
        key="graph-steps",
        title="a step of LangGraph that changes 5 files",
        files=bench.files,
        sides=tally.sides(),
        how="from the start of a node to the start of the next, durability sync, in turns: MulliganSaver with the"
        " files of a session; SqliteSaver (WAL, synchronous=FULL), with git add -A -f and git commit in a private git"
        " directory at the end of the node",
        failures=tally.failures,
    )


def _drive(bench: Bench, tally: Tally, driver: str, rounds: str) -> None:
    bench.disk.settle()
    env = {name: value for name, value in surroundings().items() if not name.startswith("MULLIGAN_")}
    env["MULLIGAN_HOME"] = str(bench.homes)
    command = [sys.executable, str(_DRIVERS / f"{driver}.py"), str(bench.place), rounds]
    done = run(command, bench.budget, cwd=bench.place, env=env)
    for side, seconds in json.loads(done.output.splitlines()[-1]).items():
        for each in seconds:
            tally.add(side, each)
