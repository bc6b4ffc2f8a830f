"""Hooks that are killed at every boundary of an event: the next event goes on, and an undo brings everything back."""

import signal
from pathlib import Path

import pytest

from tests.commands.program import data_of
from tests.support.fake_agent import FakeAgent
from tests.support.forked_program import run_program

# Acts of events, with the event in which each is struck.
ACTS = {
    "lock.sign": "before",
    "plan.create": "start",
    "sandbox.intend": "start",
    "sandbox.record": "start",
    "plan.claim": "after",
    "plan.record": "before",
    "pack.name": "after",
    "group.record": "after",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    place.mkdir()
    (place / "a.txt").write_text("one\n")
    data_of(place, "init")
    return place


def files(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_event_that_is_cut_off_loses_nothing(folder: Path, tmp_path: Path, when: str) -> None:
    log = tmp_path / "passed"
    for act, event in ACTS.items():
        agent = FakeAgent(folder, f"session-{act}")
        agent.log = log
        before = files(folder)
        faults = dict.fromkeys(("start", "before", "after"), "") | {event: f"{when}:{act}:1:SIGKILL"}
        agent.hook("SessionStart", source="startup", fault=faults["start"])
        agent.prompt("write")
        call = agent.before("one", fault=faults["before"])
        agent.run(f"echo {act} > a.txt; echo {act} > new.txt")
        agent.after(call, "one", fault=faults["after"])
        agent.stop()
        assert f"fault {act}" in log.read_text().splitlines(), "the fault never fired"
        data_of(folder, "undo", "--yes")
        assert files(folder) == before, (when, act)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("act", ["apply.intend", "apply.ready", "restore.remove", "undo.settle"])
def test_an_undo_of_a_call_that_is_killed_is_done_or_leaves_all_as_it_was(
    folder: Path, tmp_path: Path, act: str, when: str
) -> None:
    agent = FakeAgent(folder)
    agent.start()
    agent.prompt("write")
    agent.shell("echo two > a.txt; echo new > new.txt")
    agent.shell("echo more > more.txt")
    agent.stop()
    there = files(folder)
    agent.log = tmp_path / "passed"
    words = ("undo", "--only", "1.1", "--yes")
    environment = agent.environment(f"{when}:{act}:1:SIGKILL")
    killed = run_program(words, folder=folder, environment=environment)
    assert killed.returncode == -signal.SIGKILL, "the fault never fired"
    done = data_of(folder, "log", "1")["calls"][0]["undone"]
    data_of(folder, "redo" if done else "undo", *(() if done else words[1:3]), "--yes")
    if not done:
        assert files(folder) == {"a.txt": "one\n", "more.txt": "more\n"}
        data_of(folder, "redo", "--yes")
    assert files(folder) == there
