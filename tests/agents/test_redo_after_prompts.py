"""What can be redone after an undo: prompts and calls that change nothing leave it, the first change clears it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.test_hook import checkout, entries, plain, seen
from tests.commands.program import ask, data_of
from tests.support.fake_agent import FakeAgent

__all__ = ["checkout", "plain"]  # fixtures


def undone(agent: FakeAgent, folder: Path, damage: str = "echo two > a.txt") -> dict[object, object]:
    """Let an agent answer a prompt, and take that back; return what was there before the undo."""
    agent.start()
    with agent.prompted("work"):
        agent.shell(damage)
    after = seen(folder)
    data_of(folder, "undo", "--yes")
    assert seen(folder) != after
    return after


def refused(folder: Path) -> bool:
    return bool(ask(folder, "redo", "--yes").get("error", {}).get("kind") == "nothing_to_redo")


def test_prompts_without_a_change_leave_what_can_be_redone(checkout: Path) -> None:
    agent = FakeAgent(checkout)
    before = seen(checkout)
    after = undone(
        agent, checkout, "echo more >> a.txt; git add -A; git commit -qm more; rm -rf ignored; chmod 600 .env"
    )
    with agent.prompted("explain it"):
        agent.shell("cat a.txt")
    agent.prompt("and that")
    assert [entry["redoable"] for entry in entries(checkout)] == [False, False, True]
    data_of(checkout, "redo", "--yes")
    assert seen(checkout) == after
    data_of(checkout, "undo", "--yes")
    assert seen(checkout) == before


CHANGES: dict[str, Callable[[FakeAgent], object]] = {
    "a call": lambda agent: agent.shell("echo new > new"),
    "a commit": lambda agent: agent.shell("git commit -q --allow-empty -m empty"),
    "a call that was cut off": lambda agent: (agent.before("make"), agent.run("echo new > new")),
    "a call that was cut off and undone": lambda agent: (
        agent.before("make"),
        agent.run("echo new > new"),
        data_of(agent.folder, "undo", "--yes"),
        data_of(agent.folder, "redo", "--yes"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_first_prompt_that_changes_something_clears_it(checkout: Path, name: str) -> None:
    agent = FakeAgent(checkout)
    undone(agent, checkout)
    with agent.prompted("explain it"):
        agent.shell("true")
    agent.prompt("more")
    CHANGES[name](agent)
    now = seen(checkout)
    assert refused(checkout)
    assert seen(checkout) == now
    assert not any(entry["redoable"] for entry in entries(checkout))


def test_what_the_user_changes_beside_a_prompt_clears_nothing(plain: Path) -> None:
    agent = FakeAgent(plain)
    undone(agent, plain)
    agent.prompt("explain it")
    (plain / "mine").write_text("mine\n")
    agent.shell("true")
    agent.stop()
    data_of(plain, "redo", "--yes")
    assert (plain / "a.txt").read_text() == "two\n"
    assert (plain / "mine").read_text() == "mine\n"


def test_what_mulligan_does_during_a_call_clears_nothing(plain: Path) -> None:
    agent = FakeAgent(plain)
    after = undone(agent, plain)
    agent.prompt("look")
    first = agent.before("mulligan redo --yes; mulligan undo --yes")
    data_of(plain, "redo", "--yes")
    assert seen(plain) == after
    second = agent.before("sleep 9")
    data_of(plain, "undo", "1", "--yes")
    agent.after(first, "mulligan redo --yes; mulligan undo --yes")
    data_of(plain, "redo", "--yes")
    agent.after(second, "sleep 9")
    agent.stop()
    assert seen(plain) == after


def test_an_undo_after_a_prompt_without_a_change_is_redone_first(plain: Path) -> None:
    agent = FakeAgent(plain)
    agent.start()
    for name in ("one", "two"):
        with agent.prompted(name):
            agent.shell(f"echo {name} > {name}")
    after = seen(plain)
    data_of(plain, "undo", "--yes")
    agent.prompt("hm")
    data_of(plain, "undo", "--yes")
    agent.prompt("hm again")
    assert not {"one", "two"} & {path.name for path in plain.iterdir()}
    data_of(plain, "redo", "--yes")
    data_of(plain, "redo", "--yes")
    assert seen(plain) == after
    assert refused(plain)
