"""The tools of `mulligan mcp` in real agents: they list and call them; real files change only if a user agrees."""

import re
import shlex

import pytest

from tests.real_agents.agent_programs import PROGRAMS
from tests.real_agents.conftest import Opened
from tests.real_agents.measured import Measured
from tests.real_agents.model_protocols import SEARCH, Call
from tests.real_agents.workplace import Workplace

TOOLS = ("list_checkpoints", "show_changes", "restore_files", "rewind")
NEXT_STEP = re.compile(r"`mulligan (undo [^`]*)`")
AGREES_ITSELF = {"codex"}  # where it was told to ask its user nothing
pytestmark = pytest.mark.parametrize("name", list(PROGRAMS))


def asked_for(place: Workplace) -> list[Call]:
    """Return what a model must do before the agent tells it of our tools."""
    if place.agent.name != "codex":
        return []
    # It does not wait for the server of tools, and a model finds only what has been started.
    return [
        place.agent.shell("sleep 20"),
        Call(SEARCH, {"query": "mulligan checkpoints changes restore rewind"}),
    ]


def test_the_agent_lists_and_calls_the_tools_and_what_was_done_is_taken_back(
    name: str, at_work: Opened, measured: Measured
) -> None:
    with at_work(name) as place:
        before = place.seen()
        place.prompt("Break it", place.agent.shell("echo broken > a.txt; rm -r ignored .env"))
        broken = place.seen()
        number = place.log()[0]["number"]
        place.model.requests.clear()
        ours = place.agent.ours
        printed = place.prompt(
            "Look at it",
            *asked_for(place),
            ours("list_checkpoints", {"limit": 5}),
            ours("show_changes", {"entry": number}),
            ours("restore_files", {"paths": ["a.txt"]}),
            ours("rewind", {"entry": number}),
        )
        heard = "".join(place.model.requests).replace("\\", "")
        for tool in TOOLS:
            named = ours(tool, {}).tool
            assert f'"name": "{named}"' in heard or f'"{named}"' in heard, (tool, printed)
        assert '"older_checkpoints":' in heard, printed
        assert "+broken" in heard
        if name in AGREES_ITSELF:
            answer = "agrees itself"
        else:
            answer = "declines itself" if "declined: " in heard else "cannot ask"
            assert answer == "declines itself" or "confirmation_missing: " in heard
            assert place.seen() == broken, "nobody agreed"
            (typed,) = set(NEXT_STEP.findall(heard))
            place.mulligan(*shlex.split(typed), "--yes")
        assert place.seen() == before
        measured.keep(f"{name} tools", answer)
        place.mulligan("redo", "--yes")
        assert place.seen() != before
