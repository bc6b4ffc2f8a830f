"""The entry that makes an agent start `mulligan mcp`, in the place and form of each agent."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct

from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.agents.hook_entries import Place, Scope
from mulligan.domain.text.json_edit import (
    JsonTextInvalid,
    json_value,
    with_member,
    without_empty,
    without_member,
)
from mulligan.domain.text.json_value import Json, JsonObject

_NAME = "mulligan"
_TABLE = re.compile(r"\s*\[mcp_servers\.mulligan[.\]]")  # with the tables below it


class ServerPlace(Struct, frozen=True, kw_only=True):
    """A file that names servers of tools."""

    place: Place
    keys: tuple[str, ...]  # that lead to the servers; none: a table in a TOML file


_MCP_SERVERS = ("mcpServers",)
_TOML = ServerPlace(place=Place(base=".codex", name="config.toml"), keys=())
_PLACES: Mapping[tuple[str, Scope], ServerPlace] = {
    ("claude-code", Scope.USER): ServerPlace(
        place=Place(variable="CLAUDE_CONFIG_DIR", name=".claude.json"), keys=_MCP_SERVERS
    ),
    ("claude-code", Scope.PROJECT): ServerPlace(place=Place(name=".mcp.json"), keys=_MCP_SERVERS),
    ("codex", Scope.USER): ServerPlace(
        place=Place(variable="CODEX_HOME", base=".codex", name="config.toml"), keys=()
    ),
    ("codex", Scope.PROJECT): _TOML,
    ("opencode", Scope.USER): ServerPlace(
        place=Place(variable="XDG_CONFIG_HOME", base=".config", name="opencode/opencode.json"), keys=("mcp",)
    ),
    ("opencode", Scope.PROJECT): ServerPlace(place=Place(name="opencode.json"), keys=("mcp",)),
    ("copilot-cli", Scope.USER): ServerPlace(
        place=Place(variable="COPILOT_HOME", base=".copilot", name="mcp-config.json"), keys=_MCP_SERVERS
    ),
    **{
        (agent, scope): ServerPlace(place=Place(base=f".{folder}", name=name), keys=_MCP_SERVERS)
        for scope in Scope
        for agent, folder, name in (
            ("gemini-cli", "gemini", "settings.json"),  # beside the hooks
            ("qwen-code", "qwen", "settings.json"),
            ("cursor", "cursor", "mcp.json"),
        )
    },
}


def server_place_of(agent: Agent, scope: Scope) -> ServerPlace | None:
    """Return the file of an agent that names servers; None where it has none that is known."""
    return _PLACES.get((agent.name, scope))


def server_entry(agent: Agent, words: Sequence[str]) -> JsonObject:
    """Return the entry that starts a server with these words."""
    command, *arguments = words
    match agent.name:
        case "opencode":
            return {"type": "local", "command": [*words], "enabled": True}
        case "copilot-cli":
            return {"type": "local", "command": command, "args": [*arguments], "tools": ["*"]}
        case "claude-code":
            return {"type": "stdio", "command": command, "args": [*arguments]}
        case _:
            return {"command": command, "args": [*arguments]}


def with_server(text: str, agent: Agent, place: ServerPlace, words: Sequence[str]) -> str:
    """Return a file that names the server with these words, or without words one that does not.

    A server of that name that is not ours stays.
    """
    present = _server(text, place)
    wanted = server_entry(agent, words) if words else None
    if present == wanted or (present is not None and not _is_ours(present)):
        return text
    text = without_server(text, place, None)
    if wanted is None:
        return text
    if place.keys:
        return with_member(text, [*place.keys, _NAME], wanted)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    lines = [f"[mcp_servers.{_NAME}]", *(f"{key} = {_toml(value)}" for key, value in wanted.items()), ""]
    return _checked(text + gap + newline.join(lines), text, wanted)


def without_server(text: str, place: ServerPlace, original: str | None) -> str:
    """Return a file without our server, and without the object that only it needed, unless the original has that."""
    if not _is_ours(_server(text, place)):
        return text
    if not place.keys:
        return _checked(_without_table(text), text, None)
    text = without_member(text, [*place.keys, _NAME])
    had = json_value(original or "")
    keeps = isinstance(had, dict) and place.keys[0] in had
    return text if keeps else without_empty(text, place.keys)


def _without_table(text: str) -> str:
    """Return a file in TOML without our table, and without the empty line before it."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        begins = _TABLE.match(line) is not None
        if begins and not inside and kept and not kept[-1].strip():
            kept.pop()
        inside = begins or (inside and not line.lstrip().startswith("["))
        if not inside:
            kept.append(line)
    return "".join(kept)


def _checked(result: str, text: str, server: Json) -> str:
    """Return a file in TOML whose text was changed, if our server is all that differs in what it says."""
    servers = next((n for n, each in enumerate(text.splitlines(), 1) if "mcp_servers" in each), 1)
    problem = JsonTextInvalid(servers, "the servers are not written as tables, such as [mcp_servers.other]")
    wanted = _toml_value(text)
    try:
        found = _toml_value(result)
    except JsonTextInvalid:
        raise problem from None
    if _server(result, _TOML) != server or _others(found) != _others(wanted):
        raise problem
    return result


def _others(value: Json) -> Json:
    """Return what a file in TOML says without our server."""
    assert isinstance(value, dict), "a file in TOML is a table"
    servers = value.get("mcp_servers")
    rest = {key: each for key, each in servers.items() if key != _NAME} if isinstance(servers, dict) else None
    return {key: each for key, each in value.items() if key != "mcp_servers"} | {"servers": rest or None}


def _server(text: str, place: ServerPlace) -> Json:
    """Return the server of our name, if there is one."""
    found: Json = json_value(text) if place.keys else _toml_value(text)
    for key in (*(place.keys or ("mcp_servers",)), _NAME):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _is_ours(server: Json) -> bool:
    """Return whether an entry starts `mulligan mcp`."""
    if not isinstance(server, dict):
        return False
    command, arguments = server.get("command"), server.get("args")
    words = [
        word for part in (command, arguments) for word in (part if isinstance(part, list) else [part]) if word
    ]
    return bool(words) and words[-1] == "mcp" and any(_NAME in str(word) for word in words[:-1])


def _toml_value(text: str) -> Json:
    try:
        return cast("Json", tomllib.loads(text.removeprefix("\ufeff")))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise JsonTextInvalid(int(line[1]) if line else 1, "is not TOML") from None


def _toml(value: Json) -> str:
    """Return a text, or a list of texts, as TOML, whose strings are those of JSON."""
    return json.dumps(value, ensure_ascii=True)
