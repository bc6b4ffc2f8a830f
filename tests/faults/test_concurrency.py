"""Many processes in one project: they neither hurt nor wait for each other, and each plan has one at a time."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import answer_of, data_of, start
from tests.faults.projects import go_of, waiting
from tests.faults.trials import picture_without_times
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until

PROCESSES = 8
PLAN = """\
name: NAME
steps:
  - {name: one, tool: shell, args: {command: 'mkdir -p a/b; echo NAME > a/b/c; cp shared copy'}}
  - {name: pick, decision: {question: Which?, chosen: NAME}}
  - {name: two, tool: write_file, args: {path: NAME, content: 'NAME'}}
  - {name: three, tool: shell, retries: 1, args: {command: 'rm -r a; echo NAME >> copy'}, checkpoint: end}
"""
# Goes on when it is told to.
HELD = """\
name: held
config: {sandbox.at: own-path}  # steps wait for a file of the real folder
steps:
  - {name: one, tool: write_file, args: {path: one, content: "1"}}
  - {name: two, tool: shell, args: {command: 'touch $TMPDIR/held; until [ -e $MULLIGAN_VAR_GO ]; do sleep 0.02; done'}}
"""


def _wait_for(condition: str, folder: Path) -> None:
    wait_until(lambda: list(home_of(folder).glob(condition)), condition)


@pytest.fixture
def held(tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    """A process in the middle of a step."""
    (tmp_path / "held.yaml").write_text(waiting(HELD, tmp_path))
    process = start(tmp_path, "plan", "execute", "held.yaml")
    _wait_for("scratch/*/tmp/held", tmp_path)
    yield process
    go_of(tmp_path).touch()
    process.communicate(timeout=PATIENCE)


def _finish(folder: Path, process: "subprocess.Popen[str]") -> dict[str, Any]:
    go_of(folder).touch()
    return answer_of(process)


def test_eight_processes_work_on_plans_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "shared").write_bytes(os.urandom(200_000))
    names = [f"plan{number}" for number in range(PROCESSES)]
    for name in names:
        (tmp_path / f"{name}.yaml").write_text(PLAN.replace("NAME", name))
    data_of(tmp_path, "init")

    running = [start(tmp_path, "plan", "execute", f"{name}.yaml") for name in names]
    sweeping = start(tmp_path, "gc")
    answers = [answer_of(process) for process in running]
    assert answer_of(sweeping)["exit_code"] == 0

    assert [answer["data"]["state"] for answer in answers] == ["complete"] * PROCESSES, answers
    for name, answer in zip(names, answers, strict=True):
        sandbox = Path(answer["data"]["sandboxes"][0]["path"])
        assert (sandbox / name).read_text() == name
        assert (sandbox / "copy").read_bytes() == (tmp_path / "shared").read_bytes() + f"{name}\n".encode()
        assert not (sandbox / "a").exists()
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []
    back = [start(tmp_path, "plan", "rollback", "--yes", name, "first") for name in names]
    assert [answer_of(process)["exit_code"] for process in back] == [0] * PROCESSES
    first, *others = [
        picture_without_times(Path(answer["data"]["sandboxes"][0]["path"])) for answer in answers
    ]
    assert all(other == first for other in others)
    assert data_of(tmp_path, "gc")["packs_unreadable"] == 0
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "execute", "held"),
        ("plan", "resume", "held"),
        ("plan", "rollback", "--yes", "held", "first"),
        ("checkpoint", "create", "held", "--label", "x"),
        ("checkpoint", "prune", "held"),
    ],
    ids=" ".join,
)
def test_a_second_process_is_refused_with_who_is_first(
    held: "subprocess.Popen[str]", tmp_path: Path, words: tuple[str, ...]
) -> None:
    answer = answer_of(start(tmp_path, *words))

    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "plan_busy")
    assert answer["error"]["pid"] == held.pid
    since = datetime.fromisoformat(answer["error"]["since"])
    assert 0 <= (datetime.now(UTC) - since).total_seconds() < PATIENCE
    assert str(held.pid) in answer["error"]["message"]
    assert answer["error"]["since"] in answer["error"]["message"]
    assert _finish(tmp_path, held)["data"]["state"] == "complete"


def test_two_that_start_at_once_are_one_that_runs_and_one_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("NAME", "both"))
    (tmp_path / "shared").touch()
    data_of(tmp_path, "plan", "create", "plan.yaml")
    answers = [answer_of(p) for p in [start(tmp_path, "plan", "execute", "both") for _ in range(4)]]

    ended = sorted(answer["exit_code"] for answer in answers)
    assert ended == [0, 3, 3, 3], answers
    refused = {answer["error"]["kind"] for answer in answers if answer["exit_code"]}
    assert refused <= {"plan_busy", "plan_already_complete"}
    calls = [e for e in data_of(tmp_path, "plan", "log", "both")["events"] if e["type"] == "tool_called"]
    assert len(calls) == 3


def test_looking_never_waits_for_a_running_plan(held: "subprocess.Popen[str]", tmp_path: Path) -> None:
    for words in (
        ("plan", "status", "held"),
        ("plan", "list"),
        ("plan", "log", "held"),
        ("checkpoint", "list", "held"),
    ):
        assert data_of(tmp_path, *words), words
        assert held.poll() is None, "it has ended: the test shows nothing"
    held.send_signal(signal.SIGSTOP)  # not even for one that hangs
    try:
        assert data_of(tmp_path, "plan", "status", "held")["state"] == "processing"
        assert data_of(tmp_path, "plan", "list")["plans"][0]["state"] == "processing"
    finally:
        held.send_signal(signal.SIGCONT)


def test_the_lock_of_a_dead_process_holds_nobody(held: "subprocess.Popen[str]", tmp_path: Path) -> None:
    held.kill()
    held.wait()
    (lock,) = (home_of(tmp_path) / "locks").iterdir()
    assert json.loads(lock.read_text())["pid"] == held.pid

    assert data_of(tmp_path, "plan", "status", "held")["error"]["recoverable"] is True
    go_of(tmp_path).touch()
    assert data_of(tmp_path, "plan", "resume", "held")["state"] == "complete"


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1, "since": "2020-01-01T00:00:00+00:00"}', "\0" * 5000])
def test_whatever_a_lock_file_says_only_the_lock_itself_counts(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("NAME", "p"))
    (tmp_path / "shared").touch()
    plan_id = data_of(tmp_path, "plan", "create", "plan.yaml")["plan_id"]
    locks = home_of(tmp_path) / "locks"
    locks.mkdir(exist_ok=True)
    (locks / f"{plan_id}.lock").write_text(text)

    assert data_of(tmp_path, "plan", "status", "p")["state"] == "complete"
    assert data_of(tmp_path, "plan", "execute", "p")["state"] == "complete"
