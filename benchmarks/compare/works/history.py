"""Long histories: listing and pruning ten times as many checkpoint groups."""

import json
import shutil
from pathlib import Path

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import Bench, Tally, make_project
from benchmarks.compare.works.peers import dbos, langgraph

_STEP = Path(__file__).parent.parent / "drivers" / "many_checkpoints.py"
_PEERS = {"dbos": "DBOS", "langgraph": "LangGraph"}
_KEPT = 50
_AT_THE_LIMIT = 20  # checkpoints that each prune another


def history(bench: Bench) -> Work:
    """`checkpoint list` and `prune` of a plan with many groups beside one with a tenth of them.

    `bench.files` is the number of groups: the sizes of the trees play no part.
    """
    tally = Tally()
    many, few = bench.files, bench.files // 10
    removed = few - _KEPT
    for groups in (few, many):
        with tally.part(f"{groups:,} groups"):
            project = bench.place / str(groups)
            _take_checkpoints(bench, tally, project, groups)
            for _ in range(bench.repeats):
                bench.disk.settle()
                done = bench.mulligan(project, "checkpoint", "list", "history", "--all", "--format", "json")
                tally.add(f"list {groups:,}", done.seconds)
            _prune(bench, tally, project, groups, keep=_KEPT)
            if groups == many:
                _prune(bench, tally, project, groups, keep=many - removed)
        _peers(bench, tally, groups)
    return Work(
        key="history",
        title="long histories",
        files=None,
        sides=tally.sides(),
        how="a plan whose groups each hold one small change; checkpoints in its running step once the limit is"
        " reached; checkpoint list --all, and checkpoint prune with the freeing of bytes, as processes, the project"
        " home put back as it was before each prune; the answer of a prune lists what is kept, too; DBOS lists"
        " the steps of a workflow and LangGraph's SqliteSaver the checkpoints of a thread, in a process that runs;"
        " neither can thin out the history of one",
        failures=tally.failures,
    )


def _take_checkpoints(bench: Bench, tally: Tally, project: Path, groups: int) -> None:
    project.mkdir()
    shutil.copy(_STEP, project / "bench_step.py")
    counts = {"count": groups + _AT_THE_LIMIT, "timed": _AT_THE_LIMIT}
    arguments = {"function": "bench_step:checkpoints", "kwargs": counts}
    make_project(project, [{"name": "take", "tool": "python", "args": arguments}], name="history")
    bench.mulligan(project, "-c", f"max_checkpoints_per_plan={groups}", "plan", "execute", "plan.yaml")
    for event in bench.mulligan_data(project, "plan", "log")["events"]:
        if event["type"] == "log":
            for seconds in json.loads(event["data"]["message"]):
                tally.add(f"checkpoint, one pruned, {groups:,} kept", seconds)
    found = bench.mulligan_data(project, "plan", "status")["execution"]["checkpoints"]
    assert found == groups, f"{found} groups, not {groups}"


def _peers(bench: Bench, tally: Tally, steps: int) -> None:
    """Histories of others; how they came to be is not measured, so nothing is synced."""
    for name, listed in (
        ("dbos", lambda place: dbos(bench, place, "wal", "OFF", steps)),
        ("langgraph", lambda place: langgraph(bench, place, "OFF", steps)),
    ):
        if bench.group_wanted(name):
            side = f"{_PEERS[name]} list {steps:,}"
            with tally.part(side, of_peer=True):
                for seconds in listed(bench.place / f"{name}-{steps}")["listings"]:
                    tally.add(side, seconds)


def _prune(bench: Bench, tally: Tally, project: Path, groups: int, *, keep: int) -> None:
    home = Path(json.loads((project / ".mulligan" / "home.json").read_text())["home"])
    aside = home.with_name("aside")
    copy_tree(home, aside, bench.budget)
    for _ in range(bench.repeats):
        shutil.rmtree(home)
        copy_tree(aside, home, bench.budget)
        bench.disk.settle()
        command = ("checkpoint", "prune", "history", "--keep", str(keep), "--format", "json")
        tally.add(f"prune {groups:,} to {keep:,}", bench.mulligan(project, *command).seconds)
    shutil.rmtree(home)
    aside.rename(home)
