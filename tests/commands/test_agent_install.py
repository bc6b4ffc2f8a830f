"""Hooks in the configuration of agents: written beside what is there, and taken out again without a trace."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mulligan.domain.agents.agent_table import AGENTS
from tests.commands.program import ask, data_of

SETTINGS = b"""\
{
    // the fast one
    "model": "x",
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}
        ]
    },
}
"""
CLAUDE = ".claude/settings.json"


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder in which nothing is installed; the folder `work` is where the user is."""
    home = tmp_path / "you"
    (home / "work").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "MULLIGAN_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    return home


def agent(user: Path, *words: str) -> dict[str, Any]:
    return ask(user / "work", "agent", *words)


def put(file: Path, data: bytes) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def program(folder: Path, name: str, script: str) -> None:
    file = put(folder.parent / "programs" / name, f"#!/bin/sh\n{script}\n".encode())
    file.chmod(0o755)


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("scope", ["user", "project"])
def test_install_and_uninstall_leave_no_trace(user, name, scope):
    before = tree(user)
    done = data_of(user / "work", "agent", "install", name, "--scope", scope, "--yes")
    (changed,) = done["agents"]
    assert {file["action"] for file in changed["files"]} == {"created"}
    assert changed["from_documentation"] is (name in ("cursor", "goose"))
    root = user if scope == "user" else user / "work"
    for file in changed["files"]:
        assert Path(file["path"]).is_relative_to(root)
        text = Path(file["path"]).read_text()
        assert f"hook {name}" in text or '"mcp"' in text or "plugin" in file["path"]
    listed = {each["agent"]: each for each in data_of(user / "work", "agent", "list")["agents"]}
    assert [each["scope"] for each in listed[name]["installed"]] == [scope]
    assert not listed[name]["found"]
    again = data_of(user / "work", "agent", "install", name, "--scope", scope, "--yes")
    assert {file["action"] for file in again["agents"][0]["files"]} == {"unchanged"}
    data_of(user / "work", "agent", "uninstall", name, "--scope", scope, "--yes")
    assert tree(user) == before


@pytest.mark.parametrize(
    "text",
    [
        SETTINGS,
        SETTINGS.replace(b"\n", b"\r\n"),
        b"{}",
        b'{"hooks": {}, "model": "x"}',
        b'\xef\xbb\xbf{\n\t"hooks": {"PreToolUse": []}\n}',
        b"",
    ],
)
def test_a_file_of_the_user_comes_back_byte_for_byte(user, text):
    file = put(user / CLAUDE, text)
    file.chmod(0o640)
    (changed,) = data_of(user / "work", "agent", "install", "claude-code", "--yes")["agents"]
    assert changed["files"][0]["action"] == "changed"
    assert Path(changed["files"][0]["copy"]).read_bytes() == text
    assert file.read_bytes() != text
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    data_of(user / "work", "agent", "install", "claude-code", "--everywhere", "--yes")
    assert b"hook --everywhere claude-code" in file.read_bytes()
    assert file.read_bytes().count(b"hook claude-code") == 0
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    assert file.read_bytes() == text


def test_what_others_wrote_since_stays(user):
    file = put(user / CLAUDE, SETTINGS)
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    file.write_bytes(file.read_bytes().replace(b'"model": "x"', b'"model": "y"'))
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    assert file.read_bytes() == SETTINGS.replace(b'"model": "x"', b'"model": "y"')
    assert agent(user, "uninstall", "claude-code", "--yes")["data"]["agents"][0]["files"] == []


def test_hooks_that_others_put_beside_ours_stay(user):
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    file = user / CLAUDE
    settings = json.loads(file.read_bytes())
    settings["hooks"]["PreToolUse"][0]["hooks"].append({"type": "command", "command": "lint"})
    file.write_text(json.dumps(settings))
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    (left,) = json.loads(file.read_bytes())["hooks"]["PreToolUse"]
    assert left["hooks"] == [{"type": "command", "command": "lint"}]
    assert list(json.loads(file.read_bytes())["hooks"]) == ["PreToolUse"]


def test_a_file_that_install_made_goes_although_it_was_written_again(user):
    data_of(user / "work", "agent", "install", "copilot-cli", "--yes")
    file = user / ".copilot/hooks/mulligan.json"
    file.write_text(json.dumps(json.loads(file.read_bytes())))
    data_of(user / "work", "agent", "uninstall", "copilot-cli", "--yes")
    assert tree(user) == {"work": None}


def test_hooks_can_go_without_a_record_of_them(user, tmp_path):
    file = put(user / CLAUDE, SETTINGS)
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    for record in (tmp_path / "state" / "mulligan" / "agents").glob("settings.json-*"):
        record.unlink()
    assert (
        agent(user, "install", "claude-code", "--yes")["data"]["agents"][0]["files"][0]["action"]
        == "unchanged"
    )
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    assert file.read_bytes() == SETTINGS


def test_a_lost_copy_costs_no_file(user, tmp_path):
    file = put(user / CLAUDE, SETTINGS)
    (changed,) = data_of(user / "work", "agent", "install", "claude-code", "--yes")["agents"]
    Path(changed["files"][0]["copy"]).unlink()
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    assert file.read_bytes() == SETTINGS


def test_a_symlinked_file_stays_a_symlink(user):
    real = put(user / "dotfiles/claude.json", SETTINGS)
    link = user / CLAUDE
    link.parent.mkdir()
    link.symlink_to(real)
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    assert link.is_symlink()
    assert b"hook claude-code" in real.read_bytes()
    data_of(user / "work", "agent", "uninstall", "claude-code", "--yes")
    assert link.is_symlink()
    assert real.read_bytes() == SETTINGS


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (b"{\n oops", 2, "is not JSON"),
        (b'{"hooks": []}', 1, "hooks is not an object"),
        (b'{"hooks": {"Stop": {}}}', 1, "hooks.Stop is not a list"),
        (b"[1]", 1, "is not an object"),
        (b'{"a": "\xff"}', 1, "is not UTF-8"),
        (b'"' + b"x" * (4 << 20) + b'"', 1, "larger than 4 MiB"),
    ],
)
def test_an_odd_file_is_refused_by_name_and_nothing_is_written(user, text, line, reason):
    put(user / CLAUDE, text)
    before = tree(user)
    answer = agent(user, "install", "codex", "claude-code", "--yes")
    error = answer["error"]
    assert (answer["exit_code"], error["kind"]) == (3, "agent_file_unusable")
    assert error["file"] == str(user / CLAUDE)
    assert error["line"] == line
    assert reason in error["reason"]
    assert tree(user) == before


def test_what_is_not_a_file_is_refused(user):
    (user / CLAUDE).mkdir(parents=True)
    assert agent(user, "install", "claude-code", "--yes")["error"]["kind"] == "agent_file_unusable"
    (user / ".codex").mkdir()
    (user / ".codex/hooks.json").symlink_to("nowhere")
    assert agent(user, "install", "codex", "--yes")["error"]["reason"] == "is a symlink that leads nowhere"
    os.mkfifo(put(user / ".qwen/x", b"").with_name("settings.json"))
    listed = data_of(user / "work", "agent", "list")
    assert [each["agent"] for each in listed["agents"] if each["problem"]] == [
        "claude-code",
        "codex",
        "qwen-code",
    ]


def test_a_plugin_of_that_name_that_is_not_ours_stays(user):
    file = put(user / ".config/opencode/plugin/mulligan.js", b"export const Mine = 1\n")
    assert agent(user, "install", "opencode", "--yes")["error"]["reason"] == "is not ours"
    data_of(user / "work", "agent", "uninstall", "opencode", "--yes")
    assert file.read_bytes() == b"export const Mine = 1\n"


def test_folders_that_the_user_chose_are_used(user, monkeypatch, tmp_path):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "elsewhere"))
    data_of(user / "work", "agent", "install", "codex", "--yes")
    assert (tmp_path / "elsewhere/hooks.json").is_file()
    assert tree(user) == {"work": None}


def test_all_means_those_that_are_found(user):
    assert agent(user, "install", "--all", "--yes")["error"]["kind"] == "agent_missing"
    program(user, "codex", "exit 0")
    (user / ".gemini").mkdir()
    (user / ".config/opencode").mkdir(parents=True)
    done = data_of(user / "work", "agent", "install", "--all", "--yes")
    assert [each["agent"] for each in done["agents"]] == ["codex", "gemini-cli", "opencode"]
    gone = data_of(user / "work", "agent", "uninstall", "--all", "--yes")
    assert [each["agent"] for each in gone["agents"]] == ["codex", "gemini-cli", "opencode"]
    assert {name for name, data in tree(user).items() if data is not None} == set()


def test_a_dry_run_only_shows_the_change(user):
    put(user / CLAUDE, SETTINGS)
    before = tree(user)
    done = data_of(user / "work", "agent", "install", "claude-code", "--dry-run")
    assert done["dry_run"] is True
    patch = done["agents"][0]["files"][0]["patch"]
    assert '+        "SessionStart": [' in patch
    assert '-        "Stop"' not in patch
    assert tree(user) == before


def test_it_asks_and_without_a_terminal_refuses(user):
    answer = agent(user, "install", "claude-code")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "confirmation_missing")
    assert not (user / ".claude").exists()
    data_of(user / "work", "agent", "install", "claude-code", "--yes")
    assert agent(user, "uninstall", "claude-code")["error"]["kind"] == "confirmation_missing"
    assert agent(user, "install", "claude-code")["exit_code"] == 0  # nothing to ask for: it is installed


@pytest.mark.parametrize(
    "words", [("install",), ("install", "--all", "codex"), ("uninstall",), ("install", "vim")]
)
def test_agents_are_named_or_all(user, words):
    assert agent(user, *words)["exit_code"] == 2


def test_the_home_folder_is_not_a_project(user):
    answer = ask(user, "agent", "install", "codex", "--scope", "project", "--yes")
    assert answer["error"]["kind"] == "agent_place_unsuitable"


@pytest.mark.parametrize(
    ("script", "knows"),
    [("echo '2.1.325 (Claude Code)'", True), ("echo 2.1.294", False), ("exit 1", False), (None, False)],
)
def test_strict_uses_what_that_version_of_claude_code_knows(user, script, knows):
    if script is not None:
        program(user, "claude", script)
    answer = agent(user, "install", "claude-code", "--strict", "--yes")
    text = (user / CLAUDE).read_text()
    assert ('"onFailure": "block"' in text) is knows
    assert text.count("onFailure") <= 1
    assert "hook --strict claude-code" in text
    assert bool(answer["messages"]) is not knows


@pytest.mark.parametrize(
    ("name", "file", "strict"),
    [
        ("codex", ".codex/hooks.json", "hook --strict codex || exit 2"),
        ("gemini-cli", ".gemini/settings.json", "hook --strict gemini-cli || exit 2"),
        ("qwen-code", ".qwen/settings.json", "hook --strict qwen-code || exit 2"),
        ("copilot-cli", ".copilot/hooks/mulligan.json", "hook --strict copilot-cli preToolUse"),
        ("cursor", ".cursor/hooks.json", '"failClosed": true'),
        ("goose", ".agents/plugins/mulligan/hooks/hooks.json", '"on_failure": "block"'),
        ("opencode", ".config/opencode/plugin/mulligan.js", "const STRICT = true"),
    ],
)
def test_strict_in_the_words_of_each_agent(user, name, file, strict):
    data_of(user / "work", "agent", "install", name, "--yes")
    assert strict not in (user / file).read_text()
    if name == "copilot-cli":
        assert "hook copilot-cli preToolUse || exit 0" in (user / file).read_text()
    data_of(user / "work", "agent", "install", name, "--strict", "--yes")
    assert (user / file).read_text().count(strict) == 1
    listed = data_of(user / "work", "agent", "list")["agents"]
    assert [each["installed"][0]["strict"] for each in listed if each["agent"] == name] == [True]


def test_codex_trusts_what_its_user_approved(user):
    data_of(user / "work", "agent", "install", "codex", "--yes")

    def trusted() -> bool:
        listed = data_of(user / "work", "agent", "list")["agents"]
        return next(each for each in listed if each["agent"] == "codex")["installed"][0]["trusted"]

    assert trusted() is False
    file = user / ".codex/hooks.json"
    events = ("session_start", "user_prompt_submit", "pre_tool_use", "post_tool_use", "stop", "subagent_stop",
              "session_end", "interrupt")  # fmt: skip
    lines = [f'[hooks.state."{file}:{event}:0:0"]\ntrusted_hash = "sha256:x"\n' for event in events]
    settings = put(user / ".codex/config.toml", "".join(lines).encode())
    assert trusted() is True
    settings.write_text(lines[0])
    assert trusted() is False


def test_a_file_that_changes_under_our_hands_is_left_alone(user, monkeypatch):
    from mulligan.adapters.agents import agent_files

    file = put(user / CLAUDE, SETTINGS)
    real = agent_files.AgentFile._draft  # noqa: SLF001 - to strike between reading and writing

    def struck(self: Any, draft: Path, target: Path, data: bytes) -> None:
        file.write_bytes(b'{"mine": 1}')
        real(self, draft, target, data)

    monkeypatch.setattr(agent_files.AgentFile, "_draft", struck)
    answer = agent(user, "install", "claude-code", "--yes")
    assert answer["error"]["reason"] == "was changed meanwhile"
    assert tree(user / ".claude") == {"settings.json": b'{"mine": 1}'}


def test_programs_call_the_same(user, monkeypatch):
    import mulligan

    monkeypatch.chdir(user / "work")
    assert mulligan.install_hooks("codex", dry_run=True).agents[0].files[0].action == "created"
    assert not mulligan.agents().agents[1].installed
    mulligan.install_hooks("codex", scope="project")
    assert mulligan.agents().agents[1].installed[0].scope == "project"
    assert [test.agent for test in mulligan.try_hooks().tests] == ["codex"]
    mulligan.uninstall_hooks("codex", scope="project")
    assert tree(user) == {"work": None}
    with pytest.raises(mulligan.errors.UsageWrong, match="no agent 'vim'"):
        mulligan.install_hooks("vim")
    with pytest.raises(mulligan.errors.UsageWrong, match="no scope 'world'"):
        mulligan.uninstall_hooks("codex", scope="world")


def test_the_configuration_of_a_project_is_not_written_through_a_symlink_that_leads_out(user):
    put(user / "dotfiles/settings.local.json", SETTINGS)
    (user / "work/.claude").symlink_to(user / "dotfiles")
    before = tree(user / "dotfiles")
    for word in ("install", "uninstall"):
        error = agent(user, word, "claude-code", "--scope", "project", "--yes")["error"]
        assert (error["kind"], error["file"]) == (
            "agent_file_unusable",
            str(user / "work/.claude/settings.local.json"),
        )
    assert tree(user / "dotfiles") == before
