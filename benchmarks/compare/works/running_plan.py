"""Whole checkpoints, bytes and rows: inside a step of a running plan, and by command as a process of its own."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.compare.contest import CHANGED_FILES, copy_tree
from benchmarks.compare.processes import run
from benchmarks.compare.results import Failure, Work
from benchmarks.compare.works.bench import GIT, ONE_STEP, Bench, Tally, make_project, serving
from benchmarks.trees import edit

_STEP = Path(__file__).parent.parent / "drivers" / "plan_step.py"


def running_plan(bench: Bench) -> Work:
    """Checkpoints of a folder."""
    return _measure(bench, "running-plan", "checkpoint of a folder, rows included", checkout=False)


def running_plan_git(bench: Bench) -> Work:
    """Checkpoints of a git checkout, each with its commit."""
    return _measure(bench, "running-plan-git", "checkpoint of a git checkout, rows and commit", checkout=True)


def _measure(bench: Bench, key: str, title: str, *, checkout: bool) -> Work:
    tally = Tally()
    with tally.part("checkpoints"):
        _run(bench, tally, checkout=checkout)
    return Work(
        key=key,
        title=title,
        files=bench.files,
        sides=tally.sides(),
        how="StepContext.checkpoint in a Python step of a running plan, seen from the step; mulligan checkpoint"
        " create as a process, with the local server and without it; the figure of git is that of its row",
        failures=[_known(failure) for failure in tally.failures],
    )


def _run(bench: Bench, tally: Tally, *, checkout: bool) -> None:
    assert bench.repository is not None
    project = bench.place / "project"
    if checkout:
        _try_checkout(bench)
    if checkout:
        bench.make_checkout(project)
    else:
        copy_tree(bench.repository.folder, project, bench.budget)
        shutil.copy(_STEP, project / "bench_step.py")
        sources = [os.fspath(path) for path in bench.repository.sources]
        (project / "bench_sources.json").write_text(json.dumps(sources))
    arguments = {"function": "bench_step:checkpoints", "kwargs": {"repeats": bench.repeats}}
    make_project(project, [{"name": "measure", "tool": "python", "args": arguments}])
    bench.disk.settle()
    bench.mulligan(project, "plan", "execute", "plan.yaml")
    events = bench.mulligan_data(project, "plan", "log")["events"]
    tally.add("sandbox and first checkpoint", _until_first_checkpoint(events))
    for event in events:
        if event["type"] == "log":
            for side, seconds in json.loads(event["data"]["message"]):
                tally.add(side, seconds)
    found = bench.mulligan_data(project, "plan", "status")
    sandbox = Path(found["sandboxes"][0]["path"])
    for number in range(bench.repeats):
        edit(sandbox, bench.repository.sources, CHANGED_FILES, 1_000 + number)
        bench.disk.settle()
        done = bench.mulligan(project, "checkpoint", "create", found["plan_id"], "--label", f"c{number}")
        tally.add("checkpoint create as a process, 5 changes", done.seconds)
    with tally.part("server running"), serving(bench, project):
        for number in range(bench.repeats + 1):
            edit(sandbox, bench.repository.sources, CHANGED_FILES, 2_000 + number)
            bench.disk.settle()
            done = bench.mulligan(project, "checkpoint", "create", found["plan_id"], "--label", f"s{number}")
            if number:  # the server begins to watch with the first
                tally.add("checkpoint create as a process, 5 changes, server running", done.seconds)
    for number in range(bench.repeats):
        bench.disk.settle()
        done = bench.mulligan(project, "checkpoint", "create", found["plan_id"], "--label", f"n{number}")
        tally.add("checkpoint create as a process, no change", done.seconds)


def _try_checkout(bench: Bench) -> None:
    """Find out on a small one whether this version can: to commit a large one takes minutes."""
    small = bench.place / "small"
    small.mkdir()
    make_project(small, ONE_STEP)
    _make_checkout(small, bench)
    bench.mulligan(small, "plan", "execute", "plan.yaml")


def _make_checkout(folder: Path, bench: Bench) -> None:
    for command in (["init", "--quiet"], ["add", "-A"], ["commit", "--quiet", "-m", "start"]):
        run([*GIT, *command], bench.budget, cwd=folder)


def _until_first_checkpoint(events: Sequence[dict[str, Any]]) -> float:
    """From the moment when it is known what will be copied; more than the first snapshot, never less."""
    begun = next(event for event in events if event["type"] == "message")
    ended = next(event for event in events if event["type"] == "checkpoint")
    times = [datetime.fromisoformat(event["created_at"]) for event in (begun, ended)]
    return (times[1] - times[0]).total_seconds()


def _known(failure: Failure) -> Failure:
    """A refusal by this version as not built yet is not a failure of the comparison."""
    return replace(failure, excused="not built yet" in failure.output)
