"""A plan taken from a process that hangs: that one is ended, and one that cannot be can write nothing any more."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.adapters import plan_locks as locks
from mulligan.adapters.tools.process import survivors
from mulligan.domain.plans.plan import State
from mulligan.errors import NextStep, PlanBusy
from tests.faults.projects import go_of, project_in, waiting
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until
from tests.support.snapshot_world import picture

PLAN = """name: p
config: {sandbox.at: own-path}  # steps wait for a file of the real folder
steps:
  - {name: one, tool: shell, args: {command: "echo 1 >> one"}}
  - name: two
    tool: shell
    args: {command: "echo 2 >> two; touch held; until [ -e $MULLIGAN_VAR_GO ]; do sleep 0.02; done"}
  - {name: three, tool: shell, args: {command: "echo 3 >> three"}}
"""


@pytest.fixture
def hung(tmp_path: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """A process that was stopped in the middle of a step."""
    (tmp_path / "plan.yaml").write_text(waiting(PLAN, tmp_path))
    command = [sys.executable, "-m", "mulligan", "--format", "json", "plan", "execute", "plan.yaml"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: list(home_of(tmp_path).glob("sandboxes/*/workspace/held")), "the step waits")
    process.send_signal(signal.SIGSTOP)
    go_of(tmp_path).touch()
    yield process
    process.kill()
    process.communicate()


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lives on is waited for a moment only; the launcher of one that hangs does not end by itself."""
    monkeypatch.setattr(locks, "_DEATH_PATIENCE", 0.2)
    monkeypatch.setattr(survivors, "PATIENCE", 1.0)


def test_it_is_refused_without_being_asked_for(hung: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    with pytest.raises(PlanBusy) as busy:
        project_in(tmp_path).resume("p")
    assert busy.value.facts["pid"] == hung.pid
    taking = NextStep("resume", plan=busy.value.facts["plan_id"], take_over=True)
    assert taking in busy.value.next_step.steps


def test_the_process_is_ended(hung: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert status.state is State.COMPLETE
    hung.communicate(timeout=PATIENCE)
    assert hung.returncode == -signal.SIGKILL


def test_one_that_lives_on_and_wakes_can_do_nothing(
    hung: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared: list[int] = []
    kill = os.kill

    def spare(pid: int, number: int) -> None:
        if pid == hung.pid and number == signal.SIGKILL:
            spared.append(pid)  # as one would be that waits for a disk which never answers
        else:
            kill(pid, number)

    monkeypatch.setattr(locks.os, "kill", spare)
    impatient(monkeypatch)
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert spared == [hung.pid]
    assert status.state is State.COMPLETE
    sandbox = Path(status.sandboxes[0].path)
    before = {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in sandbox.iterdir()}
    log = list(project_in(tmp_path).log("p"))
    hung.send_signal(signal.SIGCONT)
    out, _ = hung.communicate(timeout=PATIENCE)
    assert json.loads(out)["error"]["kind"] == "plan_taken_over"
    assert hung.returncode == 3
    after = {path.name: (path.read_text(), path.stat().st_mtime_ns) for path in sandbox.iterdir()}
    assert after == before
    assert list(project_in(tmp_path).log("p")) == log
    assert project_in(tmp_path).status("p").state is State.COMPLETE


def test_a_number_that_is_another_process_here_is_not_ended(
    hung: "subprocess.Popen[bytes]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "300"]) as bystander:
        (lock,) = (home_of(tmp_path) / "locks").glob("*.lock")
        word = json.loads(lock.read_text())
        lock.write_text(json.dumps({**word, "pid": bystander.pid}))  # as from another container
        impatient(monkeypatch)
        status, _ = project_in(tmp_path).resume("p", take_over=True)
        assert status.state is State.COMPLETE
        assert bystander.poll() is None
        bystander.kill()


def test_where_nobody_works_on_it_there_is_nothing_to_take(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(waiting(PLAN, tmp_path))
    project_in(tmp_path).create(tmp_path / "plan.yaml")
    go_of(tmp_path).touch()
    status, _ = project_in(tmp_path).resume("p", take_over=True)
    assert status.state is State.COMPLETE


ROLLED_BACK = """name: p
resources: {code: {type: fs-directory, location: code}, rows: {type: sqlite, location: code/app.db}}
steps:
  - {name: change, tool: shell, args: {command: "rm gone; echo new > kept; mkdir made; echo 1 > made/file"}}
  - {name: rows, tool: sql, resource: rows, args: {statements: [INSERT INTO t VALUES (2)]}}
"""
# The program, stopped right after it looked whether it may: the call that comes next is under way.
LATE = """\
from mulligan import boundaries
from mulligan.__main__ import main


def enter(self):
    for check in boundaries.guards():
        check()
    self._watcher("before", self._name)


boundaries._Watched.__enter__ = enter
main()
"""
WAYS = {"before it looks": ["-m", "mulligan"], "after it looked": ["-c", LATE]}


@pytest.mark.parametrize(
    ("moment", "way"),
    [
        ("before:restore.stage", "before it looks"),
        ("after:restore.place", "before it looks"),
        ("before:restore.remove", "after it looked"),
        ("before:restore.place", "after it looked"),
        ("before:database.place", "after it looked"),
    ],
)
def test_one_stopped_inside_of_a_restore_restores_nothing_when_it_wakes(
    moment: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_plan_with_a_database(tmp_path)
    words = ["plan", "rollback", "--yes", "p", "first", "--format", "json"]
    process = subprocess.Popen(
        [sys.executable, *WAYS[way], *words],
        cwd=tmp_path,
        env={**os.environ, "MULLIGAN_FAULT": f"{moment}:1:SIGSTOP"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        monkeypatch.setattr(locks.FilePlanLocks, "_is_ours_to_end", lambda *_: False)
        status, _ = project_in(tmp_path).resume("p", take_over=True)
        assert status.state is State.COMPLETE
        top = (home_of(tmp_path) / "sandboxes" / status.plan_id).resolve()
        before, log = picture(top), list(project_in(tmp_path).log("p"))
        assert (top / "code" / "made" / "file").read_text() == "1\n"
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert json.loads(out)["error"]["kind"] == "plan_taken_over"
    assert process.returncode == 3
    assert without_workshops(before)
    assert without_workshops(picture(top)) == without_workshops(before)
    assert list(project_in(tmp_path).log("p")) == log
    assert project_in(tmp_path).checkpoints.verify().damaged == ()


def a_plan_with_a_database(folder: Path) -> None:
    (folder / "code").mkdir()
    for name in ("gone", "kept"):
        (folder / "code" / name).write_text(name)
    with closing(sqlite3.connect(folder / "code" / "app.db")) as database:
        database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    (folder / "plan.yaml").write_text(ROLLED_BACK)
    project_in(folder).execute(folder / "plan.yaml")


def without_workshops(found: dict[bytes, tuple[object, ...]]) -> dict[bytes, tuple[object, ...]]:
    """Sandboxes alone: the folders beside them are for work in progress, and their own folder's time tells of that."""
    return {name: what for name, what in found.items() if name.startswith(b"./code")}
