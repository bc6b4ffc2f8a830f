"""The tools of `mulligan mcp` in real agents: they list them, and call them; real files change only with the user."""

import re

import pytest

from tests.real_agents.conftest import Opened
from tests.real_agents.model_protocols import Call
from tests.real_agents.workplace import Workplace

TOOLS = ("list_checkpoints", "show_changes", "restore_files")
pytestmark = pytest.mark.parametrize("name", ["claude-code", "gemini-cli"])


def offered(place: Workplace) -> dict[str, str]:
    """Ask the agent for its tools, and return the names that it gave to ours."""
    place.model.requests.clear()  # those of another agent: one model answers all
    place.prompt("Which tools are there?")
    whole = "".join(place.model.requests)
    found = {tool: re.search(rf"((?:mcp_+)?mulligan_+{tool})", whole) for tool in TOOLS}
    return {tool: name[1] for tool, name in found.items() if name is not None}


def test_the_agent_lists_and_calls_the_tools_and_cannot_restore_without_its_user(
    name: str, at_work: Opened
) -> None:
    with at_work(name) as place:
        tools = offered(place)
        assert set(tools) == set(TOOLS)
        place.prompt("Break it", place.agent.shell("echo broken > a.txt"))
        place.model.requests.clear()
        place.prompt(
            "Look at it",
            Call(tools["list_checkpoints"], {"limit": 5}),
            Call(tools["show_changes"], {"entry": place.log()[0]["number"]}),
            Call(tools["restore_files"], {"paths": ["a.txt"]}),
        )
        heard = "".join(place.model.requests).replace("\\", "")
        assert '"older_checkpoints":' in heard
        assert "+broken" in heard
        assert "confirmation_missing: " in heard or "declined: " in heard
        assert (place.folder / "a.txt").read_text() == "broken\n"
