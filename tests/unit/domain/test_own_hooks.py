"""The hooks in an agent's configuration that are recognised as our own."""

import pytest

from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_entries import is_ours
from mulligan.domain.text.json_value import Json


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("/opt/venv/bin/mulligan hook claude-code", True),
        ("'/a b/mulligan-hook' '/a b/mulligan' hook --strict --everywhere claude-code", True),
        ("/lib/mulligan-hook /usr/bin/python3.12 -P -m mulligan hook claude-code PreToolUse || exit 2", True),
        ("mulligan hook codex", False),
        ("echo mulligan hook claude-code", False),
        ("my-log; mulligan hook claude-code", False),
        ("say 'mulligan hook claude-code'", False),
        ("hook claude-code", False),
        ("it's not closed: mulligan hook claude-code", False),
    ],
)
def test_a_hook_is_ours_if_its_command_line_begins_with_our_program(command: str, ours: bool) -> None:
    assert is_ours(AGENTS["claude-code"], {"type": "command", "command": command}) is ours
    assert is_ours(AGENTS["claude-code"], {"bash": command}) is ours


@pytest.mark.parametrize("value", [None, "mulligan hook claude-code", {"command": ["mulligan", "hook"]}, {}])
def test_what_has_no_command_is_not_ours(value: Json) -> None:
    assert not is_ours(AGENTS["claude-code"], value)
