"""Child plans at once beside one after the other, and what it costs to fork their sandboxes."""

from datetime import datetime
from typing import Any

from benchmarks.compare.contest import copy_tree
from benchmarks.compare.processes import run
from benchmarks.compare.results import Work
from benchmarks.compare.works.bench import GIT, Bench, Tally, make_project
from benchmarks.trees import make_repository

_CHILDREN = 8
_WORK = "sleep 1; for n in 1 2 3 4 5; do echo made > made-{child}-$n; done"


def children(bench: Bench) -> Work:
    """Eight children that each wait a second and write five files."""
    tally = Tally()
    tree = bench.place / "tree"
    with tally.part("children"):
        tree.mkdir()
        make_repository(tree, bench.files, ignored=False)
        for mode, side in (("parallel", "8 children at once"), ("sequential", "one after the other")):
            for number in range(min(3, bench.repeats)):
                project = bench.place / f"{mode}{number}"
                copy_tree(tree, project, bench.budget)
                make_project(project, [_step(mode)])
                bench.disk.settle()
                bench.mulligan(project, "plan", "execute", "plan.yaml")
                tally.add(side, _seconds_of_step(bench.mulligan_data(project, "plan", "log")["events"]))
                if mode == "parallel":
                    tally.add("mulligan fork", _fork(bench, project))
    with tally.part("forks"):
        _others(bench, tally)
    return Work(
        key="children",
        title=f"{_CHILDREN} child plans, and forking a sandbox",
        files=bench.files,
        sides=tally.sides(),
        how="the step with the children, forks and merges included; a fork: from the start of that step to the first"
        " checkpoint of a child, divided by the children that were forked until then; git worktree add and cp -a of the"
        " same tree",
        failures=tally.failures,
    )


def _step(mode: str) -> dict[str, Any]:
    plans = [
        {"name": f"child{n}", "steps": [{"tool": "shell", "args": {"command": _WORK.format(child=n)}}]}
        for n in range(_CHILDREN)
    ]
    return {"name": "parts", "subplans": {"mode": mode, "max_parallel": _CHILDREN, "plans": plans}}


def _seconds_of_step(events: list[dict[str, Any]]) -> float:
    begun, ended = (
        next(datetime.fromisoformat(e["created_at"]) for e in events if e["type"] == type)
        for type in ("step_started", "step_done")
    )
    return (ended - begun).total_seconds()


def _fork(bench: Bench, project: Any) -> float:
    """Return the time per child sandbox: from the start of the step until the last one was made."""
    plans = bench.mulligan_data(project, "plan", "list")["plans"]
    parent = next(p["plan_id"] for p in plans if p["name"] == "bench")
    events = bench.mulligan_data(project, "plan", "log", parent)["events"]
    begun = next(datetime.fromisoformat(e["created_at"]) for e in events if e["type"] == "step_started")
    firsts: list[datetime] = []
    for plan in plans:
        if plan["plan_id"] != parent:
            logged = bench.mulligan_data(project, "plan", "log", plan["plan_id"])["events"]
            firsts.append(
                next(datetime.fromisoformat(e["created_at"]) for e in logged if e["type"] == "checkpoint")
            )
    return (max(firsts) - begun).total_seconds() / len(firsts)


def _others(bench: Bench, tally: Tally) -> None:
    checkout = bench.place / "checkout"
    copy_tree(bench.place / "tree", checkout, bench.budget)
    for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "start"]):
        run([*GIT, *command], bench.budget, cwd=checkout)
    for number in range(bench.repeats):
        bench.disk.settle()
        command = ["git", "worktree", "add", "--quiet", "--detach", str(bench.place / f"worktree{number}")]
        tally.add("git worktree add", run(command, bench.budget, cwd=checkout).seconds)
        bench.disk.settle()
        command = ["cp", "-a", str(bench.place / "tree"), str(bench.place / f"copy{number}")]
        tally.add("cp -a", run(command, bench.budget).seconds)
