"""Processes are killed, and acts fail, while a checkpoint is taken inside a step: at most that one is lost."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_program import run_program
from tests.support.usher import until, ushered

CONFIG = {
    "sandbox.checkpoint.auto-create-on": ["before_step", "on_interval"],
    "sandbox.checkpoint.interval-seconds": "100ms",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    (made / "a").write_text("old\n")
    lines = ("echo half > a", until(made, 1), "echo done > a")
    steps = [{"name": "work", "run": "\n".join(lines), "timeout": 120}, {"name": "next", "run": "cat a > b"}]
    (made / "plan.yaml").write_text(json.dumps({"name": "p", "config": CONFIG, "steps": steps}))
    return made


def mulligan(folder: Path, *words: str, **environment: str) -> tuple[int, dict[str, Any]]:
    environment = {**os.environ, **environment}
    with ushered(folder):
        done = run_program([*words, "--format", "json"], folder=folder, environment=environment)
    return done.returncode, json.loads(done.stdout or "{}")


def acts_at_work(folder: Path, log: Path) -> list[tuple[str, int]]:
    """Each boundary that an undisturbed run passes while it takes the group inside the step, with its count."""
    code, _ = mulligan(folder, "plan", "execute", "plan.yaml", MULLIGAN_FAULT_LOG=str(log))
    assert code == 0
    passed = [line.split()[1] for line in log.read_text().splitlines() if line.startswith("after ")]
    begun = passed.index("call.start")  # of the first step
    records = [place for place, act in enumerate(passed) if act == "group.record" and place > begun]
    found = range(begun + 1, records[0] + 1)
    return [(passed[place], passed[: place + 1].count(passed[place])) for place in found]


def check(folder: Path) -> None:
    """The plan is complete, as if nothing had happened; what is recorded can be read."""
    code, answer = mulligan(folder, "status", "p")
    assert (code, answer["data"]["state"]) == (0, "complete")
    top = Path(answer["data"]["sandboxes"][0]["path"])
    assert [(top / name).read_text() for name in ("a", "b")] == ["done\n", "done\n"]
    code, answer = mulligan(folder, "checkpoint", "verify")
    assert (code, answer["data"]["damaged"]) == (0, [])
    code, answer = mulligan(folder, "checkpoint", "list", "p", "--all")
    assert [each["number"] for each in answer["data"]["checkpoints"]] == sorted(
        each["number"] for each in answer["data"]["checkpoints"]
    )
    code, answer = mulligan(folder, "doctor")
    assert code == 0, answer


def again(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Begin with a new project in the same folder."""
    (folder / ".mulligan").rename(tmp_path / f"link-{name}")
    monkeypatch.setenv("MULLIGAN_HOME", str(tmp_path / f"homes-{name}"))


def test_kills_while_a_group_is_taken_inside_a_step_are_survived(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = acts_at_work(folder, tmp_path / "log")
    names = {act for act, _ in passed}
    assert {"pack.sync", "pack.name", "rows.commit", "group.record"} <= names
    chosen = [(act, number) for act, number in passed if act in ("pack.name", "rows.commit", "group.record")]
    for number, (act, count) in enumerate(chosen):
        for when in ("before", "after"):
            again(folder, tmp_path, monkeypatch, f"{number}{when}")
            fault = f"{when}:{act}:{count}:SIGKILL"
            code, _ = mulligan(folder, "plan", "execute", "plan.yaml", MULLIGAN_FAULT=fault)
            assert code == -9, fault
            code, answer = mulligan(folder, "resume", "p")
            assert code == 0, (fault, answer)
            assert answer["data"]["resumed_from"]["step_index"] == 0, "the step is not done"
            check(folder)


def test_a_group_that_cannot_be_taken_is_named_and_ends_no_program(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (count,) = (count for act, count in acts_at_work(folder, tmp_path / "log") if act == "pack.sync")
    again(folder, tmp_path, monkeypatch, "failed")
    fault = f"before:pack.sync:{count}:ENOSPC"
    code, answer = mulligan(folder, "plan", "execute", "plan.yaml", MULLIGAN_FAULT=fault)
    assert code == 0, answer
    (said,) = (text for text in answer["messages"] if "on_interval" in text)
    assert "no checkpoint could be taken meanwhile" in said
    assert "No space left" in said
    check(folder)
