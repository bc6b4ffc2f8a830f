"""The hooks that `mulligan agent install` writes into the configuration of each agent, and how they are recognised."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.agents.agent_event import EventKind
from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.agents.plugin_files import GOOSE_PLUGIN, opencode_plugin
from mulligan.domain.text.json_value import Json, JsonObject


class Scope(StrEnum):
    """The place of hooks: the configuration of the user, or that of one project."""

    USER = "user"
    PROJECT = "project"


class HookOptions(Struct, frozen=True, kw_only=True):
    """The hooks that a user asks for."""

    program: tuple[str, ...]  # the words that start mulligan
    strict: bool  # block the agent where mulligan fails
    everywhere: bool  # make a project in every git checkout
    version: tuple[int, ...] | None  # of the agent, where it is known
    server: tuple[str, ...] = ()  # the words that start the server of tools; none: it cannot run


class HookEntry(Struct, frozen=True):
    """One element of a list in a JSON file of an agent."""

    path: tuple[str, ...]  # the keys that lead to the list
    value: JsonObject


class Place(Struct, frozen=True, kw_only=True):
    """A file with hooks, relative to the folder of the user or of the project."""

    variable: str | None = None  # of the environment: the folder that the user chose in place of `base`
    base: str = ""
    name: str
    own: bool = False  # the whole file is ours; otherwise entries join what others wrote there


GOES_ON = " || exit 0"  # after a command whose failure must not stop the agent
_CALL_SECONDS = 60
_SECONDS = {EventKind.SESSION_START: 60, EventKind.SESSION_END: 5, EventKind.INTERRUPT: 3}
_CODEX_END = 3  # seconds that it allows at most
# The tools that may write. What is not named here is not reported, so that reading costs nothing.
_MATCHERS = {
    "claude-code": "Bash|Edit|MultiEdit|Write|NotebookEdit|Monitor|Agent|Task|Workflow|Skill|mcp__.*",
    "codex": "Bash|apply_patch|spawn_agent|mcp__.*",
    "gemini-cli": "run_shell_command|write_file|replace|invoke_agent|mcp_.*",
    "qwen-code": "run_shell_command|write_file|edit|replace|task|agent|skill|mcp__.*",
}
_PROGRAM = re.compile(r"mulligan\S*|python[0-9.]*|-P|-m")  # the words that may start mulligan
_BLOCKS_ON_FAILURE = (2, 1, 295)  # Claude Code: the first version that knows `onFailure`
_PLACES: Mapping[tuple[str, Scope], tuple[Place, ...]] = {
    ("claude-code", Scope.USER): (Place(variable="CLAUDE_CONFIG_DIR", base=".claude", name="settings.json"),),
    ("claude-code", Scope.PROJECT): (Place(base=".claude", name="settings.local.json"),),
    ("codex", Scope.USER): (Place(variable="CODEX_HOME", base=".codex", name="hooks.json"),),
    ("codex", Scope.PROJECT): (Place(base=".codex", name="hooks.json"),),
    ("gemini-cli", Scope.USER): (Place(base=".gemini", name="settings.json"),),
    ("gemini-cli", Scope.PROJECT): (Place(base=".gemini", name="settings.json"),),
    ("opencode", Scope.USER): (
        Place(variable="XDG_CONFIG_HOME", base=".config", name="opencode/plugin/mulligan.js", own=True),
    ),
    ("opencode", Scope.PROJECT): (Place(base=".opencode", name="plugin/mulligan.js", own=True),),
    ("copilot-cli", Scope.USER): (
        Place(variable="COPILOT_HOME", base=".copilot", name="hooks/mulligan.json"),
    ),
    ("copilot-cli", Scope.PROJECT): (Place(base=".github", name="hooks/mulligan.json"),),
    ("qwen-code", Scope.USER): (Place(base=".qwen", name="settings.json"),),
    ("qwen-code", Scope.PROJECT): (Place(base=".qwen", name="settings.json"),),
    ("cursor", Scope.USER): (Place(base=".cursor", name="hooks.json"),),
    ("cursor", Scope.PROJECT): (Place(base=".cursor", name="hooks.json"),),
    **{
        ("goose", scope): (
            Place(base=".agents/plugins/mulligan", name="plugin.json", own=True),
            Place(base=".agents/plugins/mulligan", name="hooks/hooks.json"),
        )
        for scope in Scope
    },
}


def places_of(agent: Agent, scope: Scope) -> tuple[Place, ...]:
    """Return the files of an agent that hooks are written to."""
    return _PLACES[agent.name, scope]


def hook_words(agent: Agent, options: HookOptions, event: str | None) -> list[str]:
    """Return the words of the command that a hook calls."""
    flags = [flag for flag, on in (("--strict", options.strict), ("--everywhere", options.everywhere)) if on]
    return [*options.program, "hook", *flags, agent.name, *([event] if event else [])]


def members_of(agent: Agent) -> JsonObject:
    """Return the members that the configuration needs beside the hooks."""
    return {"version": 1} if agent.name in ("copilot-cli", "cursor") else {}


def entries_of(agent: Agent, options: HookOptions) -> list[HookEntry]:
    """Return the entries that make an agent call mulligan."""
    return [
        HookEntry(("hooks", event), _entry(agent, event, kind, options))
        for event, kind in agent.events.items()
    ]


def is_ours(agent: Agent, value: Json) -> bool:
    """Return whether a hook in an agent's configuration calls mulligan for that agent."""
    if not isinstance(value, dict):
        return False
    called = (value.get(key) for key in ("command", "bash"))
    return any(isinstance(command, str) and _calls_us(agent, command) for command in called)


def _calls_us(agent: Agent, command: str) -> bool:
    """Return whether a command line begins with mulligan's own program and its `hook` for that agent."""
    try:
        words = shlex.split(command)
        at = words.index("hook")
    except ValueError:  # it is not closed, or no word of it is `hook`
        return False
    program, rest = words[:at], [word for word in words[at + 1 :] if not word.startswith("--")]
    if not program or not all(_PROGRAM.fullmatch(posixpath.basename(word)) for word in program):
        return False
    return posixpath.basename(program[-1]).startswith("mulligan") and rest[:1] == [agent.name]


def own_text(agent: Agent, options: HookOptions) -> str:
    """Return the content of the file that is ours as a whole."""
    if agent.name == "goose":
        return GOOSE_PLUGIN
    return opencode_plugin(hook_words(agent, options, None), agent.readers, strict=options.strict)


def _entry(agent: Agent, event: str, kind: EventKind, options: HookOptions) -> JsonObject:
    command = _command(agent, event, kind, options)
    seconds = _SECONDS.get(kind, _CALL_SECONDS)
    fails_closed = options.strict and kind is EventKind.BEFORE_CALL
    match agent.name:
        case "copilot-cli":
            return {"type": "command", "bash": command, "timeoutSec": seconds}
        case "cursor":
            return {"command": command, **({"failClosed": True} if fails_closed else {})}
        case "gemini-cli":
            hook: JsonObject = {
                "name": "mulligan",
                "type": "command",
                "command": command,
                "timeout": seconds * 1000,
            }
        case "codex":
            ends = kind in (EventKind.SESSION_END, EventKind.INTERRUPT)
            hook = {"type": "command", "command": command, "timeout": _CODEX_END if ends else seconds}
        case _:
            hook = {"type": "command", "command": command, "timeout": seconds}
    if fails_closed and agent.name == "goose":
        hook["on_failure"] = "block"
    if fails_closed and agent.name == "claude-code" and knows_on_failure(options.version):
        hook["onFailure"] = "block"
    matched = kind in (EventKind.BEFORE_CALL, EventKind.AFTER_CALL) and agent.name in _MATCHERS
    return {**({"matcher": _MATCHERS[agent.name]} if matched else {}), "hooks": [hook]}


def knows_on_failure(version: Sequence[int] | None) -> bool:
    """Return whether this version of Claude Code can block where a hook fails."""
    return version is not None and tuple(version) >= _BLOCKS_ON_FAILURE


def _command(agent: Agent, event: str, kind: EventKind, options: HookOptions) -> str:
    """Return the command line for a shell. Where mulligan cannot even start, the agent goes on unless strict."""
    command = shlex.join(hook_words(agent, options, None if agent.names_events else event))
    if agent.name == "copilot-cli" and not options.strict:
        return f"{command}{GOES_ON}"  # it denies the call whatever the exit code is
    own_way = agent.name in ("claude-code", "copilot-cli", "cursor", "goose")
    if options.strict and kind is EventKind.BEFORE_CALL and not own_way:
        return f"{command} || exit 2"
    return command
