"""The entry that makes agents start `mulligan mcp`: written where the extra is installed, taken out without a trace."""

import json
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import data_of
from tests.commands.test_agent_install import agent, put, tree, user

__all__ = ["user"]  # a fixture

# Of each agent: the file in user scope, the keys that lead to the entry, and the keys of its words.
PLACES = {
    "claude-code": (".claude.json", ("mcpServers",), ("command", "args")),
    "codex": (".codex/config.toml", ("mcp_servers",), ("command", "args")),
    "gemini-cli": (".gemini/settings.json", ("mcpServers",), ("command", "args")),
    "opencode": (".config/opencode/opencode.json", ("mcp",), ("command",)),
    "copilot-cli": (".copilot/mcp-config.json", ("mcpServers",), ("command", "args")),
    "qwen-code": (".qwen/settings.json", ("mcpServers",), ("command", "args")),
    "cursor": (".cursor/mcp.json", ("mcpServers",), ("command", "args")),
}
CODEX = """\
model = "x"  # mine

[mcp_servers.other]
command = "o"
args = ["[", "]"]
"""
CLAUDE = """{"numStartups": 7, "mcpServers": {"other": {"command": "o"}}, "projects": {}}"""


def entry_in(file: Path, keys: tuple[str, ...], name: str = "mulligan") -> Any:
    text = file.read_text()
    found = tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    for key in (*keys, name):
        found = found.get(key, {})
    return found


def words_of(entry: Any, keys: tuple[str, ...]) -> list[str]:
    return [word for key in keys for word in (entry[key] if isinstance(entry[key], list) else [entry[key]])]


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package of the extra is installed."""
    real = metadata.version

    def version(name: str) -> str:
        if name == "mcp":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)


@pytest.mark.parametrize("name", PLACES)
def test_each_agent_gets_the_tools_in_its_own_form(user, name):
    data_of(user / "work", "agent", "install", name, "--yes")
    file, keys, words = PLACES[name]
    started = words_of(entry_in(user / file, keys), words)
    assert started[-1] == "mcp"
    assert Path(started[0]).is_absolute()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claude-code", CLAUDE),
        ("claude-code", "{}"),
        ("codex", CODEX),
        ("codex", CODEX.replace("\n", "\r\n")),
        ("codex", "\n"),
        ("codex", 'model = "x"'),
        ("codex", 'mcp_servers.other.command = "o"\n'),
        ("codex", 'prompt = """\n[mcp_servers.mulligan]\n"""\n'),
        ("opencode", '{\n\t// mine\n\t"mcp": {},\n}\n'),
    ],
)
def test_a_file_with_other_servers_comes_back_byte_for_byte(user, name, text):
    file = put(user / PLACES[name][0], text.encode())
    before = tree(user)
    data_of(user / "work", "agent", "install", name, "--yes")
    assert tree(user) != before
    again = data_of(user / "work", "agent", "install", name, "--yes")
    assert {each["action"] for each in again["agents"][0]["files"]} == {"unchanged"}
    assert file.read_bytes() != text.encode()
    data_of(user / "work", "agent", "uninstall", name, "--yes")
    assert tree(user) == before


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_what_the_agent_wrote_since_stays(user, name):
    place, keys, _ = PLACES[name]
    file = put(user / place, (CLAUDE if name == "claude-code" else CODEX).encode())
    data_of(user / "work", "agent", "install", name, "--yes")
    if name == "claude-code":
        file.write_text(file.read_text().replace("7", "8"))
        wanted = CLAUDE.replace("7", "8")
    else:
        file.write_text(
            file.read_text() + '[mcp_servers.mulligan.tools.apply]\napproval = "x"\n\n[more]\na = 1\n'
        )
        wanted = CODEX + "[more]\na = 1\n"
    data_of(user / "work", "agent", "uninstall", name, "--yes")
    assert file.read_text() == wanted
    assert entry_in(file, keys, "other")["command"] == "o"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("codex", '[mcp_servers]\nmulligan = {command = "mine"}\n'),
        ("claude-code", '{"mcpServers": {"mulligan": {"command": "mine"}}}'),
        ("claude-code", '{"mcpServers": {"mulligan": 3}}'),
    ],
)
def test_a_server_of_that_name_that_is_not_ours_stays(user, name, text):
    file = put(user / PLACES[name][0], text.encode())
    data_of(user / "work", "agent", "install", name, "--yes")
    assert file.read_text() == text
    data_of(user / "work", "agent", "uninstall", name, "--yes")
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = \n", 2), ("a = 1\na = 2\n", 2), ('\nmcp_servers = {other = {command = "o"}}\n', 2)],
)
def test_a_file_in_toml_that_gets_no_server_is_refused_and_nothing_is_written(user, text, line):
    put(user / ".codex/config.toml", text.encode())
    before = tree(user)
    error = agent(user, "install", "codex", "--yes")["error"]
    assert (error["kind"], error["line"]) == ("agent_file_unusable", line)
    assert tree(user) == before


def test_our_server_that_someone_wrote_in_another_form_is_not_cut_out_of_it(user):
    file = put(user / ".codex/config.toml", b"")
    data_of(user / "work", "agent", "install", "codex", "--yes")
    entry = tomllib.loads(file.read_text())["mcp_servers"]["mulligan"]
    words = f"command = {json.dumps(entry['command'])}, args = {json.dumps(entry['args'])}"
    file.write_text(f"mcp_servers = {{mulligan = {{{words}}}}}\n")
    before = tree(user)
    assert agent(user, "uninstall", "codex", "--yes")["error"]["kind"] == "agent_file_unusable"
    assert tree(user) == before


@pytest.mark.usefixtures("without_the_extra")
@pytest.mark.parametrize("name", PLACES)
def test_without_the_extra_there_are_hooks_only_and_it_says_so(user, name):
    before = tree(user)
    answer = agent(user, "install", name, "--yes")
    assert any("mulligan[mcp]" in message and "pip install" in message for message in answer["messages"])
    file, keys, _ = PLACES[name]
    if (user / file).exists():
        assert entry_in(user / file, keys) == {}
    data_of(user / "work", "agent", "uninstall", name, "--yes")
    assert tree(user) == before


def test_tools_go_with_the_extra(user, request):
    file = put(user / ".claude.json", CLAUDE.encode())
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    request.getfixturevalue("without_the_extra")
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    assert file.read_text() == CLAUDE
    assert "hook claude-code" in (user / ".claude/settings.json").read_text()
