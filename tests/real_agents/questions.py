"""Questions of `mulligan mcp` in the windows of the agents that pass them on: real files wait for the answer."""

from contextlib import suppress

import pytest

from tests.real_agents.claude_terminal import claude
from tests.real_agents.conftest import Opened
from tests.real_agents.measured import Measured
from tests.real_agents.model_protocols import SEARCH, Call
from tests.real_agents.terminals import codex
from tests.real_agents.workplace import Workplace

BREAKS = "echo broken > a.txt; rm -r ignored .env"
ATTEMPTS = 5
ASKS = 'server to run tool "rewind"?'
QUESTION = "Undo 1, break it? It changes real files:"


def check(place: Workplace, before: object, broken: object, measured: Measured, *, agreed: bool) -> None:
    """Check what the answer of the user led to."""
    assert place.seen() == (before if agreed else broken)
    heard = "".join(place.model.requests)
    assert ("declined: " in heard) is not agreed
    assert [entry["counts"] for entry in place.log() if entry["title"] == "break it"] == [not agreed]
    if agreed:
        place.mulligan("redo", "--yes")
        assert place.seen() == broken
        measured.keep(f"{place.agent.name} asks", True)


@pytest.mark.parametrize("agreed", [True, False], ids=["accepted", "declined"])
def test_claude_code_asks_its_user(agreed: bool, at_work: Opened, measured: Measured) -> None:
    with at_work("claude-code") as place, claude(place) as agent:
        before = place.seen()
        agent.say("break it", place.agent.shell(BREAKS))
        broken = place.seen()
        place.model.requests.clear()
        agent.type("take it back", place.agent.ours("rewind", {}))
        agent.until(lambda: QUESTION in agent.words, "the question")
        assert place.seen() == broken, "nothing changes before the answer"
        if not agreed:
            agent.press("Right")
            agent.until(lambda: "❯ Decline" in agent.screen, "the other answer")
        for _ in range(ATTEMPTS):  # a key that comes while it draws may get lost
            agent.press("Enter")
            with suppress(AssertionError):
                agent.until(lambda: QUESTION not in agent.words, "the question is answered", 10)
                break
        agent.until(lambda: "That was: take it back." in agent.screen, "the answer reached the agent")
        agent.rest()
        check(place, before, broken, measured, agreed=agreed)


@pytest.mark.parametrize("agreed", [True, False], ids=["accepted", "declined"])
def test_codex_asks_its_user(agreed: bool, at_work: Opened, measured: Measured) -> None:
    with at_work("codex") as place:
        before = place.seen()
        place.prompt("break it", place.agent.shell(BREAKS))
        broken = place.seen()
        place.model.requests.clear()
        search = Call(SEARCH, {"query": "mulligan rewind"})
        with codex(place) as agent:
            for number in range(
                ATTEMPTS
            ):  # it does not wait for the server of tools, and finds none at first
                prompt, end = f"take it back, {number}", f"That was {number}."
                place.plays(prompt, search, place.agent.ours("rewind", {}), ends=end)
                agent.submit(prompt)
                agent.until(lambda end=end: ASKS in agent.words or end in agent.words, "its own question")
                if ASKS in agent.words:
                    break
            agent.press("1")
            agent.press("Enter")
            agent.until(lambda: QUESTION in agent.words, "the question")
            assert place.seen() == broken, "nothing changes before the answer"
            if not agreed:
                agent.press("Down")
                agent.until(lambda: "› 2. Deny" in agent.words, "the other answer")
            agent.press("Enter")
            agent.until(lambda: end in agent.words, "the answer reached the agent")
            check(place, before, broken, measured, agreed=agreed)
