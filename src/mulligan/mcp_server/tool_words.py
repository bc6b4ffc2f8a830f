"""The words of next steps for agents: the call of a tool where one does it, else the command for the user."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from mulligan.errors import Advice

if TYPE_CHECKING:
    from mulligan.errors import NextStep

# The tool of each operation, with its name of each parameter.
_TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "again": ("", {"delete": "delete", "dry_run": "dry_run", "onto_branch": "onto_branch"}),
    "apply": (
        "apply",
        {"plan": "plan", "commit": "commit", "message": "message", "onto_branch": "onto_branch"},
    ),
    "checkpoints.diff": ("show_changes", {"old": "from_checkpoint", "new": "to_checkpoint"}),
    "checkpoints.list": ("list_checkpoints", {"plan": "plan", "superseded": "superseded"}),
    "diff": ("show_changes", {"plan": "plan", "old": "from_checkpoint", "new": "to_checkpoint"}),
    "restore_paths": ("restore_files", {"checkpoint": "checkpoint", "paths": "paths", "delete": "delete"}),
    "rollback": ("rewind", {"plan": "plan", "checkpoint": "checkpoint"}),
    "run_command": ("run_in_sandbox", {"words": "command", "on": "plan", "name": "name"}),
    "timeline": ("list_checkpoints", {}),
}


class ToolWords:
    """The words of next steps; `command_line` is how the command line words one."""

    def __init__(self, command_line: Callable[[NextStep], str]) -> None:
        self._command_line = command_line

    def text(self, text: str) -> str:
        """Return a text with every operation that it names as the call of a tool, or as a command."""
        return text.worded(self._call) if isinstance(text, Advice) else text

    def commands(self, text: str) -> str:
        """Return a text with every operation that it names as a command: for what only the user can do."""
        return text.worded(self._command_line) if isinstance(text, Advice) else text

    def _call(self, step: NextStep) -> str:
        tool, names = _TOOLS.get(step.verb, ("", {}))
        if not names.keys() >= step.facts.keys() or not (tool or step.facts):
            return self._command_line(step)
        given = ", ".join(f"{names[name]}={_shown(value)}" for name, value in step.facts.items())
        return f"{tool}({given})" if tool else given


def _shown(value: object) -> str:
    return "..." if value is ... else json.dumps(value, default=str, ensure_ascii=False)
