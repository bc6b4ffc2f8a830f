"""Looking at hooks: which are installed, whether they work, and when they were last called."""

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mulligan.adapters.agents.event_notes import EventNote, EventNotes
from mulligan.api.agents.agent_places import own_program
from mulligan.cli.main import run
from mulligan.domain.agents.agent_table import AGENTS
from tests.commands.program import ask, data_of
from tests.support.homes import home_of

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "opencode": ".config/opencode/plugin/mulligan.js",
    "copilot-cli": ".copilot/hooks/mulligan.json",
    "cursor": ".cursor/hooks.json",
    "goose": ".agents/plugins/mulligan/hooks/hooks.json",
}


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "you"
    (home / "work").mkdir(parents=True)
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "MULLIGAN_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return home


def stand_in(user: Path, agent: str, script: str) -> None:
    """Install hooks, and let them call a script in the place of mulligan."""
    data_of(user / "work", "agent", "install", agent, "--yes")
    program = user.parent / "mulligan"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    file = user / FILES[agent]
    words = own_program()
    spelled = ", ".join(f'"{word}"' for word in words) if agent == "opencode" else shlex.join(words)
    ours = f'"{program}"' if agent == "opencode" else str(program)
    assert spelled in file.read_text()
    file.write_text(file.read_text().replace(spelled, ours))


@pytest.mark.parametrize("agent", FILES)
def test_a_test_event_goes_the_way_of_real_ones(user, agent):
    stand_in(user, agent, f'echo "$@" > {user}/called; cat > {user}/payload; pwd > {user}/folder')
    (test,) = data_of(user / "work", "agent", "doctor", agent)["tests"]
    assert (test["works"], test["said"], test["scope"]) == (True, "", "user")
    event = {"copilot-cli": " sessionStart", "opencode": " session.created"}.get(agent, "")
    assert (user / "called").read_text() == f"hook {agent}{event}\n"
    from mulligan.domain.agents.hook_payload import read_event

    named = event.strip() or None
    read = read_event(AGENTS[agent], (user / "payload").read_bytes(), event=named, folder="/w", strict=False)
    assert read is not None
    assert (read.kind, read.session) == ("session_start", "mulligan-doctor")
    assert read.folder == (user / "folder").read_text().strip()
    assert not Path(read.folder).exists()


@pytest.mark.parametrize(
    ("script", "works", "said"),
    [
        ('echo \'{"systemMessage": "off"}\'', True, '{"systemMessage": "off"}'),
        ("echo noise", False, "exit code 0: noise"),
        ("echo broken >&2; exit 3", False, "exit code 3: broken"),
        ("echo careful >&2", True, "careful"),
    ],
)
def test_what_the_hook_answers_is_shown(user, script, works, said):
    stand_in(user, "claude-code", script)
    answer = ask(user / "work", "agent", "doctor")
    (test,) = answer["data"]["tests"]
    assert (test["works"], test["said"]) == (works, said)
    assert answer["exit_code"] == (0 if works else 1)
    if not works:
        assert answer["error"]["kind"] == "hooks_unwell"
        assert any("mulligan agent install claude-code" in text for text in answer["messages"])


def test_a_hook_whose_program_is_gone_does_not_work(user):
    stand_in(user, "codex", "exit 0")
    (user.parent / "mulligan").unlink()
    answer = ask(user / "work", "agent", "doctor")
    (test,) = answer["data"]["tests"]
    assert (test["works"], test["trusted"]) == (False, False)
    assert "exit code 127" in test["said"]
    assert any("/hooks" in text for text in answer["messages"])


def test_a_hook_that_hangs_does_not_work(user, monkeypatch):
    monkeypatch.setattr("mulligan.api.agents.agent_overview._TEST_SECONDS", 0.2)
    stand_in(user, "claude-code", "exec sleep 60")
    (test,) = ask(user / "work", "agent", "doctor")["data"]["tests"]
    assert not test["works"]
    assert "timed out" in test["said"]


def test_without_hooks_there_is_nothing_to_test(user, capsys):
    assert data_of(user / "work", "agent", "doctor") == {"tests": []}
    answer = ask(user / "work", "agent", "doctor", "goose")
    assert (answer["exit_code"], answer["data"]["tests"][0]["said"]) == (1, "no hook is installed")
    run(["agent", "doctor"])
    assert "mulligan agent install NAME" in capsys.readouterr().out


def test_the_newest_event_is_listed(user, tmp_path, capsys):
    now = datetime.now(UTC)
    notes = EventNotes(tmp_path / "state" / "mulligan" / "agents")
    note = EventNote(
        agent="codex", kind="stop", session="s", folder="/w", at=now, took_ms=7, problem="the disk is full"
    )
    notes.leave(note)
    listed = {each["agent"]: each["last_event"] for each in data_of(user / "work", "agent", "list")["agents"]}
    assert listed["codex"]["took_ms"] == 7
    assert listed["claude-code"] is None
    run(["agent", "list"])
    shown = capsys.readouterr().out
    assert "7 ms, the disk is full" in shown
    EventNotes(Path("/proc/none")).leave(note)  # which may be lost


def test_a_folder_that_is_no_project_has_no_project_hooks(user):
    assert ask(user, "agent", "list")["exit_code"] == 0


def test_texts_that_cannot_be_read_are_named(user):
    file = user / ".claude/settings.json"
    file.parent.mkdir()
    for data in (b"{", b"\xff"):
        file.write_bytes(data)
        listed = data_of(user / "work", "agent", "list")["agents"]
        assert str(file) in listed[0]["problem"]
        assert ask(user / "work", "agent", "doctor")["error"]["kind"] == "agent_file_unusable"


def test_hooks_are_paused_in_a_project(user):
    assert ask(user / "work", "pause")["error"]["kind"] == "project_not_found"
    data_of(user / "work", "init")
    assert data_of(user / "work", "pause") == {"project": str(user / "work"), "paused": True}
    assert data_of(user / "work", "agent", "unpause")["paused"] is False
    (home_of(user / "work") / "paused").mkdir()
    assert ask(user / "work", "unpause")["error"]["kind"] == "system_failed"


def test_a_command_that_came_with_a_repository_is_not_run(user):
    file = user / "work" / ".claude" / "settings.local.json"
    file.parent.mkdir()
    hook = {"type": "command", "command": f"touch {user}/ran; mulligan hook claude-code"}
    file.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}))
    data_of(user / "work", "init")
    (test,) = ask(user / "work", "agent", "doctor", "claude-code")["data"]["tests"]
    assert (test["works"], test["scope"], (user / "ran").exists()) == (False, "project", False)
    file.unlink()
    data_of(user / "work", "agent", "install", "claude-code", "--scope", "project", "--yes")
    (test,) = data_of(user / "work", "agent", "doctor", "claude-code")["tests"]
    assert test["works"]


def test_configurations_of_another_shape_are_no_reason_to_fail(user):
    data_of(user / "work", "agent", "install", "codex", "copilot-cli", "--yes")
    hooks = user / FILES["copilot-cli"]
    kept = json.loads(hooks.read_text())
    del kept["hooks"]["sessionStart"]  # with which it is tested
    hooks.write_text(json.dumps(kept))
    for text in ("hooks = 1", "hooks = []", "[hooks]\nstate = 1", "[" * 5000):
        (user / ".codex" / "config.toml").write_text(text)
        (codex,) = [
            each for each in data_of(user / "work", "agent", "list")["agents"] if each["agent"] == "codex"
        ]
        assert [each["trusted"] for each in codex["installed"]] == [False], text
    (tested,) = ask(user / "work", "agent", "doctor", "copilot-cli")["data"]["tests"]
    assert not tested["works"] or tested["said"] == ""
