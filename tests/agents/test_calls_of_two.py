"""Calls of two agents in one folder: the events of one are no end of what the other does."""

from pathlib import Path

from tests.agents.test_hook import entries, plain, seen
from tests.agents.test_left_processes import MARK, SESSION, Programs, programs
from tests.commands.program import data_of
from tests.support.fake_agent import FakeAgent

__all__ = ["plain", "programs"]  # fixtures


def pair(folder: Path) -> tuple[FakeAgent, FakeAgent]:
    agents = FakeAgent(folder, SESSION), FakeAgent(folder, "s2")
    for agent in agents:
        agent.start()
    return agents


def test_a_call_that_the_next_prompt_cuts_off_lasted_until_then(plain: Path) -> None:
    one, other = pair(plain)
    before = seen(plain)
    one.prompt("work")
    one.before("make")
    other.prompt("look")
    one.run("echo late > late; rm a.txt")
    one.prompt("go on")
    one.stop()
    other.stop()
    assert [entry["title"] for entry in entries(plain) if entry["counts"]] == ["work"]
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before


def test_what_a_call_did_until_another_one_of_its_prompt_began_is_its_work(plain: Path) -> None:
    one, other = pair(plain)
    before = seen(plain)
    one.prompt("work")
    first = one.before("make")
    other.prompt("look")
    one.run("rm a.txt")
    second = one.before("make more")
    one.run("echo 2 > second.txt")
    one.after(second, "make more")
    one.after(first, "make")
    one.stop()
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before


def test_a_command_that_runs_is_not_cut_off_by_an_event_of_another_agent(
    plain: Path, programs: Programs
) -> None:
    one, other = pair(plain)
    before = seen(plain)
    one.prompt("work")
    one.before("make")
    programs.start(plain, MARK)
    other.prompt("look")
    other.stop()
    one.run("rm a.txt")  # and then the user interrupts it, which no hook reports
    data_of(plain, "undo", "--yes")
    assert seen(plain) == before
