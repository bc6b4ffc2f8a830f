"""Writes the plugin for Claude Code and the extension for Gemini CLI, from the tables that `agent install` uses.

    python -m tests.agent_plugins

writes the files below `plugins/`, and the marketplace that offers the plugin. A test fails while they are stale.
"""

import json
from collections.abc import Mapping
from typing import Any

from mulligan.cli.main import VERSION
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_entries import HookOptions, entries_of
from mulligan.domain.agents.server_entries import server_entry
from tests.support.page_examples import ROOT

_ABOUT = "Take back what the agent did: files, commands, commits, databases. Needs mulligan in PATH."
# Of each slash command: what it is for, and what it runs.
_COMMANDS = {
    "log": ("List what was done in this folder", "mulligan log"),
    "diff": ("Show what a prompt, a plan or a checkpoint changed", "mulligan diff"),
    "undo": ("Take back the last prompt, or the one of that number", "mulligan undo --yes"),
}
_THEN = "Show this output to the user as it is. Do nothing else."


def plugin_files() -> Mapping[str, str]:
    """Every file by its path in the repository."""
    claude, gemini = "plugins/claude-code", "plugins/gemini-cli"
    named = {"name": "mulligan", "version": VERSION, "description": _ABOUT}
    return {
        ".claude-plugin/marketplace.json": _json(
            {
                "name": "mulligan",
                "owner": {"name": "mulligan"},
                "plugins": [{"name": "mulligan", "source": f"./{claude}", "description": _ABOUT}],
            }
        ),
        f"{claude}/.claude-plugin/plugin.json": _json({**named, "author": {"name": "mulligan"}}),
        f"{claude}/hooks/hooks.json": _json(_hooks("claude-code")),
        f"{claude}/.mcp.json": _json({"mcpServers": _server("claude-code")}),
        **{f"{claude}/commands/{name}.md": _claude_command(*of) for name, of in _COMMANDS.items()},
        f"{gemini}/gemini-extension.json": _json({**named, "mcpServers": _server("gemini-cli")}),
        f"{gemini}/hooks/hooks.json": _json(_hooks("gemini-cli")),
        **{f"{gemini}/commands/mulligan/{name}.toml": _gemini_command(*of) for name, of in _COMMANDS.items()},
    }


def _hooks(agent: str) -> dict[str, Any]:
    options = HookOptions(program=("mulligan",), strict=False, everywhere=False, version=None)
    return {"hooks": {entry.path[-1]: [entry.value] for entry in entries_of(AGENTS[agent], options)}}


def _server(agent: str) -> dict[str, Any]:
    return {"mulligan": server_entry(AGENTS[agent], ("mulligan", "mcp"))}


def _claude_command(about: str, command: str) -> str:
    # The shell gets what the user typed behind the command.
    return (
        f"---\ndescription: {about}\nallowed-tools: Bash({command}:*)\n"
        f"disable-model-invocation: true\n---\n\n!`{command} $ARGUMENTS`\n\n{_THEN}\n"
    )


def _gemini_command(about: str, command: str) -> str:
    return f'description = "{about}"\nprompt = """\n!{{{command} {{{{args}}}}}}\n\n{_THEN}\n"""\n'


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def main() -> None:
    """Write the files."""
    for name, text in plugin_files().items():
        file = ROOT / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
