"""Undos and runs in place while a call of an agent is open: they are entries of their own, and no work of the call."""

import os
from pathlib import Path

from tests.agents.test_hook import entries, plain, seen
from tests.commands.program import ask, data_of
from tests.support.fake_agent import FakeAgent

__all__ = ["plain"]  # a fixture


def names(folder: Path) -> list[str]:
    return sorted(set(os.listdir(folder)) - {".mulligan"})


def begun(folder: Path) -> FakeAgent:
    """An agent that answered a first prompt."""
    agent = FakeAgent(folder)
    agent.start()
    with agent.prompted("first"):
        agent.shell("echo one > first")
    return agent


def test_an_undo_during_a_call_is_no_work_of_that_call(plain: Path) -> None:
    agent = begun(plain)
    agent.prompt("second")
    call = agent.before("make")
    agent.run("echo second > second")
    data_of(plain, "undo", "1", "--yes")
    agent.run("echo third > third")
    agent.after(call, "make")
    agent.stop()
    after = seen(plain)
    data_of(plain, "undo", "--yes")
    assert names(plain) == ["a.txt"], "the undo of the first prompt still counts"
    data_of(plain, "redo", "--yes")
    assert seen(plain) == after
    assert [entry["counts"] for entry in entries(plain)] == [True, False]


def test_a_call_that_only_takes_back_changed_nothing_itself(plain: Path) -> None:
    agent = begun(plain)
    agent.prompt("second")
    call = agent.before("mulligan undo --yes")
    assert data_of(plain, "undo", "--yes")["entry"]["number"] == 1
    agent.after(call, "mulligan undo --yes")
    agent.stop()
    assert names(plain) == ["a.txt"]
    assert [entry["counts"] for entry in entries(plain)] == [False, False]
    assert ask(plain, "undo", "--yes")["error"]["kind"] == "nothing_to_undo"
    data_of(plain, "redo", "--yes")
    assert names(plain) == ["a.txt", "first"]


def test_what_a_call_does_after_the_undo_of_its_prompt_is_taken_back_by_another_undo(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    before = seen(plain)
    agent.prompt("work")
    call = agent.before("make")
    agent.run("echo one > one")
    data_of(plain, "undo", "--yes")
    agent.run("echo two > two")
    agent.after(call, "make")
    agent.stop()
    assert names(plain) == ["a.txt", "two"]
    assert [entry["title"] for entry in entries(plain)] == ["work", "work"]
    assert [call["name"] for call in data_of(plain, "log", "2")["calls"]] == ["2.1"]
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before


def test_a_run_in_place_after_a_call_was_cut_off_is_an_entry_of_its_own(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("work")
    agent.before("make")
    agent.run("echo one > one")
    data_of(plain, "run", "--in-place", "--", "sh", "-c", "echo mine > mine")
    (plain / "later").write_text("the user's\n")
    agent.prompt("second")
    data_of(plain, "undo", "1", "--yes")
    assert names(plain) == ["a.txt", "later", "mine"]
    data_of(plain, "undo", "2", "--yes")
    assert names(plain) == ["a.txt", "later"]


def test_a_run_in_place_during_a_call_stays_when_the_prompt_goes(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("work")
    call = agent.before("make")
    agent.run("echo one > one")
    data_of(plain, "run", "--in-place", "--", "sh", "-c", "echo mine > mine")
    agent.run("echo two > two")
    agent.after(call, "make")
    agent.stop()
    data_of(plain, "undo", "1", "--yes")
    assert names(plain) == ["a.txt", "mine"]
    data_of(plain, "redo", "--yes")
    assert names(plain) == ["a.txt", "mine", "one", "two"]


def test_an_undo_says_that_the_end_of_a_cut_off_call_is_not_known(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    agent.prompt("work")
    agent.before("make")
    agent.run("echo one > one")
    (plain / "mine").write_text("the user's\n")
    agent.prompt("second")
    (said,) = data_of(plain, "undo", "1", "--dry-run")["messages"]
    assert "1.1" in said
    (said,) = data_of(plain, "undo", "1", "--yes")["messages"]
    assert "mulligan redo" in said
    assert names(plain) == ["a.txt"]
    data_of(plain, "redo", "--yes")
    assert names(plain) == ["a.txt", "mine", "one"]
