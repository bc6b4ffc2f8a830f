"""A worker that stops, or is killed, loses no plan, and no step that was recorded as done runs again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.program import data_of, start
from tests.support.patience import PATIENCE
from tests.support.queue_world import becomes, plan_file, rows_of, shared_project, state_of
from tests.support.shared_database import is_whole_run, new_address
from tests.support.worker_thread import wait_until, working


@pytest.fixture(scope="module")
def address() -> str:
    return new_address()


@pytest.fixture(scope="module")
def project(address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared project; its tests use it one after the other."""
    return shared_project(tmp_path_factory.mktemp("queues") / "project", address)


def test_a_worker_that_stops_finishes_its_step_and_hands_the_plan_back(
    tmp_path: Path, address: str, project: Path
) -> None:
    seen = tmp_path / "seen"
    file = plan_file(
        project, "handed-over", f"echo 1 >> {seen}; sleep 1", f"echo 2 >> {seen}", f"echo 3 >> {seen}"
    )
    with working(project, "other") as first:
        done = data_of(project, "submit", file, "-q", "other")
        wait_until(lambda: first.heard.events("step_started", done["plan_id"]), "it runs")
    (left,) = first.heard.events("plan left", done["plan_id"])
    assert left["outcome"] == "handed back"
    assert state_of(project, "handed-over") == "queued"
    with working(project, "other"):
        becomes(project, "handed-over", "complete")
    assert seen.read_text().split() == ["1", "2", "3"]
    assert data_of(project, "worker", "list")["workers"] == []


def test_a_killed_worker_loses_no_plan(project: Path, tmp_path: Path) -> None:
    """Two processes: the one that runs the plan is killed, the other goes on, and no step runs twice."""
    seen = tmp_path / "steps"
    file = plan_file(
        project, "survives", f"echo 1 >> {seen}", f"echo 2 >> {seen}; sleep 2", f"echo 3 >> {seen}"
    )
    with working(project, "kills"):
        pass  # makes the tables of the queue, so that the processes start at once
    workers = [_start_worker(project, tmp_path / f"log-{number}", "kills") for number in (1, 2)]
    try:
        done = data_of(project, "submit", file, "-q", "kills")
        wait_until(lambda: _said(tmp_path, "step_done", done["plan_id"]), "its first step is done")
        (line,) = [each for each in data_of(project, "worker", "list")["workers"] if each["plans"]]
        os.kill(line["pid"], signal.SIGKILL)
        becomes(project, "survives", "complete")
        assert _said(tmp_path, "taken", done["plan_id"])
        assert seen.read_text().split() in (["1", "2", "3"], ["1", "2", "2", "3"])
        wait_until(
            lambda: len(data_of(project, "worker", "list")["workers"]) == 1, "the dead one is forgotten"
        )
    finally:
        for each in workers:
            each.terminate()
        for each in workers:
            each.wait(PATIENCE)


def _start_worker(project: Path, log: Path, queue: str, **environ: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "mulligan", "worker", "-q", queue, "--format", "json"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            cwd=project,
            env={**os.environ, **environ},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    wait_until(lambda: '"ready"' in log.read_text() or process.poll() is not None, "the worker is ready")
    assert process.poll() is None, log.read_text()
    return process


def _said(folder: Path, event: str, plan_id: str) -> bool:
    lines = [line for log in folder.glob("log-*") for line in log.read_text().splitlines() if plan_id in line]
    return any(json.loads(line)["event"] == event for line in lines if line.startswith('{"time"'))


def test_the_command_prints_a_line_per_event_and_a_last_document(project: Path) -> None:
    process = start(project, "worker", "--queue", "quiet")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "ready"
    process.terminate()
    printed, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    events, _, document = printed.partition("\n{\n")
    assert [json.loads(line)["event"] for line in events.splitlines()] == ["stopping", "stopped"]
    assert json.loads("{" + document)["data"]["plans"] == 0


def test_a_project_with_workers_is_exported_without_them(project: Path, address: str, tmp_path: Path) -> None:
    """Workers and queues belong to the server; no worker of another one finds a plan waiting."""
    data_of(project, "submit", plan_file(project, "stays", "true"), "-q", "nobody")
    line = "'gone', 'build-7', 1, '[]', 4, '2026-01-01T00:00:00+00:00', 0"
    rows_of(address, f"INSERT INTO workers VALUES ({line})")
    assert data_of(project, "project", "export", str(tmp_path / "saved.mulligan"))["files"] > 0
    rows_of(address, "DELETE FROM workers WHERE worker = 'gone'")


# Where a process is killed, and which one: the command that submits, or a worker that hands a plan back.
STRIKES = [(when, of) for of in ("submit", "hand back", "children") for when in ("before", "after")]


@pytest.mark.parametrize(("when", "of"), STRIKES if is_whole_run() else STRIKES[:2])
def test_a_process_killed_at_an_entry_leaves_a_plan_that_is_run_once(
    project: Path, tmp_path: Path, when: str, of: str
) -> None:
    name, seen = f"cut-{when}-{of}".replace(" ", "-"), tmp_path / "seen"
    file = plan_file(project, name, f"echo 1 >> {seen}; sleep 1", f"echo 2 >> {seen}")
    if of == "children":
        child = {"name": "child", "steps": [{"name": "write", "run": f"echo child >> {seen}"}]}
        steps = [
            {"name": "kids", "subplans": {"plans": [child]}},
            {"name": "end", "run": f"echo 2 >> {seen}"},
        ]
        (project / file).write_text(json.dumps({"name": name, "steps": steps}))
    strike = {"MULLIGAN_FAULT": f"{when}:queue.enter:1:SIGKILL"}
    if of == "submit":
        command = [sys.executable, "-m", "mulligan", "submit", file, "-q", name]
        killed = subprocess.run(command, cwd=project, env={**os.environ, **strike}, check=False)
        assert killed.returncode == -signal.SIGKILL
        plans = data_of(project, "list")["plans"]
        assert any(each["handle"] == name for each in plans) == (when == "after")
        if when == "before":
            data_of(project, "submit", file, "-q", name)
    else:
        worker = _start_worker(project, tmp_path / "log-1", name, **strike)
        done = data_of(project, "submit", file, "-q", name)
        if of == "hand back":
            wait_until(lambda: _said(tmp_path, "step_started", done["plan_id"]), "it runs")
            worker.terminate()
        assert worker.wait(PATIENCE) == -signal.SIGKILL
    with working(project, name):
        becomes(project, name, "complete")
    assert seen.read_text().split() == (["child", "2"] if of == "children" else ["1", "2"])
