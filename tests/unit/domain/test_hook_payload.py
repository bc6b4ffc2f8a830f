"""Payloads of agents' hooks, recorded with the real agents, and hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.agents.agent_event import AgentEvent, EventKind
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_payload import read_event
from mulligan.errors import HookPayloadUnusable

RECORDED: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("recorded_payloads.json").read_text("utf-8")
)
PROJECT = "/home/you/proj"
NOT_OURS = {"MessageDisplay", "PreCompress", "permissionRequest:bash", "event.session.diff"}
NAMED_BY_ARGUMENT = ("opencode", "copilot-cli")  # on the command line of their hooks


def read(agent: str, payload: object, *, event: str | None = None, strict: bool = False) -> AgentEvent | None:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return read_event(AGENTS[agent], data, event=event, folder="/elsewhere", strict=strict)


def recorded(agent: str, name: str, **changed: object) -> AgentEvent | None:
    event = name.removeprefix("event.").partition(":")[0] if agent in NAMED_BY_ARGUMENT else None
    return read(agent, {**RECORDED[agent][name], **changed}, event=event)


@pytest.mark.parametrize(("agent", "name"), [(a, n) for a, payloads in RECORDED.items() for n in payloads])
def test_every_recorded_payload_is_read(agent, name):
    event = recorded(agent, name)
    if name in NOT_OURS or name == "UserPromptSubmit:model-turn":
        assert event is None
        return
    assert event is not None
    assert event.agent == agent
    assert len(event.session) > 8
    assert event.folder == ("/elsewhere" if agent == "opencode" and name != "event.session.created" else
                            "/home/you/proj2" if "mulligan" in name else PROJECT)  # fmt: skip
    called = event.kind in (EventKind.BEFORE_CALL, EventKind.AFTER_CALL)
    assert (event.tool is not None) is called
    if called:
        assert event.may_write is (event.tool not in ("Read", "read"))
        without_ids = agent in ("gemini-cli", "copilot-cli")
        assert (event.call is None) is without_ids
    assert (event.text is not None) is (event.kind is EventKind.PROMPT)


def test_a_session_of_claude_code():
    start = recorded("claude-code", "SessionStart")
    assert start is not None
    assert (start.kind, start.source) == (EventKind.SESSION_START, "startup")
    assert start.transcript is not None
    assert start.transcript.endswith(".jsonl")
    prompt = recorded("claude-code", "UserPromptSubmit")
    assert prompt is not None
    assert (prompt.text, prompt.prompt) == (
        "basic: make b.txt please",
        RECORDED["claude-code"]["UserPromptSubmit"]["prompt_id"],
    )
    before, after = recorded("claude-code", "PreToolUse:Bash"), recorded("claude-code", "PostToolUse:Bash")
    assert before is not None
    assert after is not None
    assert (before.tool, before.summary, before.paths) == ("Bash", "echo made by bash > b.txt; ls", ())
    assert before.call == after.call == "toolu_0000_0"
    assert before.prompt == prompt.prompt
    edit = recorded("claude-code", "PreToolUse:Edit")
    assert edit is not None
    assert (edit.summary, edit.paths) == (f"{PROJECT}/a.txt", (f"{PROJECT}/a.txt",))
    failed, stop = recorded("claude-code", "PostToolUseFailure:Bash"), recorded("claude-code", "Stop")
    assert failed is not None
    assert failed.failed
    assert not after.failed
    assert stop is not None
    assert stop.background
    launched = recorded("claude-code", "PostToolUse:Agent:background")
    assert launched is not None
    assert launched.background
    over = recorded("claude-code", "SubagentStop")
    assert over is not None
    assert (over.subagent, over.background) == ("a28dfa665426c7dfe", False)


@pytest.mark.parametrize(
    ("agent", "name", "kind", "source"),
    [
        ("codex", "Interrupt", EventKind.INTERRUPT, None),
        ("gemini-cli", "AfterAgent", EventKind.STOP, None),
        ("gemini-cli", "BeforeAgent", EventKind.PROMPT, None),
        ("opencode", "event.session.idle", EventKind.STOP, None),
        ("opencode", "event.session.created", EventKind.SESSION_START, "startup"),
        ("copilot-cli", "sessionStart", EventKind.SESSION_START, "startup"),  # which it calls "new"
        ("copilot-cli", "agentStop", EventKind.STOP, None),
    ],
)
def test_events_under_the_names_of_each_agent(agent, name, kind, source):
    event = recorded(agent, name)
    assert event is not None
    assert (event.kind, event.source) == (kind, source)


def test_a_prompt_has_no_quotes_that_the_command_line_of_opencode_put_around_it():
    event = recorded("opencode", "chat.message")
    assert event is not None
    assert event.text == "make b.txt please"
    said = {"message": {"id": "m1"}, "parts": [{"text": '"a" and "b"'}]}
    typed = recorded("opencode", "chat.message", output=said)
    assert typed is not None
    assert typed.text == '"a" and "b"'


def test_the_paths_of_a_patch_are_in_its_headers():
    event = recorded("codex", "PreToolUse:apply_patch")
    assert event is not None
    assert (event.paths, event.summary) == (("c.txt", "a.txt"), "c.txt, a.txt")


def test_a_patch_with_thousands_of_headers_names_a_hundred_paths():
    patch = "".join(f"*** Add File: f{i}\n+x\n" for i in range(5000))
    event = recorded("codex", "PreToolUse:apply_patch", tool_input={"command": patch})
    assert event is not None
    assert len(event.paths) == 100


@pytest.mark.parametrize(
    ("agent", "name", "changed"),
    [
        ("claude-code", "PostToolUse:Bash", {"tool_response": {"interrupted": True}}),
        ("gemini-cli", "AfterTool:run_shell_command", {"tool_response": {"error": {"message": "no"}}}),
        ("copilot-cli", "postToolUse:bash", {"toolResult": {"resultType": "failure"}}),
        ("opencode", "tool.execute.after:bash", {"output": {"metadata": {"exit": 3}}}),
    ],
)
def test_failures_in_the_words_of_each_agent(agent, name, changed):
    whole, failed = recorded(agent, name), recorded(agent, name, **changed)
    assert whole is not None
    assert failed is not None
    assert (whole.failed, failed.failed) == (False, True)


@pytest.mark.parametrize(
    ("agent", "name", "changed"),
    [
        ("claude-code", "PostToolUse:Bash", {"tool_response": {"backgroundTaskId": "b1"}}),
        (
            "qwen-code",
            "PostToolUse:run_shell_command",
            {"tool_input": {"command": "x", "is_background": True}},
        ),
        ("claude-code", "SubagentStop", {"background_tasks": [{"id": "x"}]}),
    ],
)
def test_what_continues_in_the_background(agent, name, changed):
    event = recorded(agent, name, **changed)
    assert event is not None
    assert event.background


@pytest.mark.parametrize("prompt", ["", "  \n", "<task-notification>\n<task-id>b1", 7, None])
def test_what_the_user_did_not_type_is_not_a_prompt(prompt):
    assert recorded("claude-code", "UserPromptSubmit", prompt=prompt) is None


def test_a_subagent_of_opencode_is_a_session_of_its_own():
    own = {"session": "ses_root", "child": "ses_child", "directory": PROJECT}
    assert recorded("opencode", "chat.message", **own) is None
    call, idle = recorded("opencode", "tool.execute.before:bash", **own), recorded(
        "opencode", "event.session.idle", **own
    )  # fmt: skip
    assert call is not None
    assert idle is not None
    assert (call.session, call.subagent, call.folder) == ("ses_root", "ses_child", PROJECT)
    assert idle.kind is EventKind.SUBAGENT_STOP
    created = RECORDED["opencode"]["event.session.created"]
    properties = created["properties"]
    child = {**properties, "info": {**properties["info"], "parentID": "ses_root"}}
    assert recorded("opencode", "event.session.created", properties=child) is None


def test_documented_payloads_of_cursor_and_goose():
    call = read(
        "cursor",
        {
            "hook_event_name": "preToolUse",
            "conversation_id": "c",
            "generation_id": "g",
            "workspace_roots": ["/work"],
            "tool_name": "Shell",
            "tool_input": {"command": "make\nmake install"},
        },
    )
    assert call is not None
    assert (call.session, call.prompt, call.folder, call.summary) == ("c", "g", "/work", "make")
    prompt = read("goose", {"event": "UserPromptSubmit", "session_id": "s", "message": "go on"})
    assert prompt is not None
    assert (prompt.text, prompt.folder) == ("go on", "/elsewhere")
    write = read(
        "goose",
        {
            "event": "PreToolUse",
            "session_id": "s",
            "tool_name": "developer__write",
            "tool_input": {"path": "a.txt"},
            "tool_call_id": "t1",
            "working_dir": "/work",
        },
        strict=True,
    )
    assert write is not None
    assert (write.call, write.paths, write.folder, write.strict) == ("t1", ("a.txt",), "/work", True)


def test_a_command_in_words_and_an_odd_one():
    event = recorded("codex", "PreToolUse:Bash", tool_input={"command": ["bash", "-c", "ls"]})
    assert event is not None
    assert event.summary == "bash -c ls"
    event = recorded("codex", "PreToolUse:Bash", tool_input={"command": "\x1b]0;x\x07ls"})
    assert event is not None
    assert event.summary == r"\x1b]0;x\x07ls"
    event = recorded("codex", "PreToolUse:Bash", tool_input=None)
    assert event is not None
    assert event.summary is None


@pytest.mark.parametrize("folder", ["relative", "/with\0nul", "", None, 5, "/" + "x" * 5000])
def test_a_working_directory_that_is_none_is_that_of_the_hook(folder):
    event = recorded("claude-code", "Stop", cwd=folder)
    assert event is not None
    assert event.folder == "/elsewhere"


def test_half_a_character_that_the_agent_cut_is_spelled():
    payload = b'{"hook_event_name":"UserPromptSubmit","session_id":"s","cwd":"/w","prompt":"smile \\ud83d"}'
    event = read("claude-code", payload)
    assert event is not None
    assert event.text == r"smile \ud83d"


@pytest.mark.parametrize(
    "payload",
    [b"", b"no", b"[]", b"5", b"\xff\xfe", b"[" * 500_000, b'{"a":' * 300_000, b'{"session_id":"x"', b"\0"],
)
def test_what_is_no_payload_is_refused(payload):
    with pytest.raises(HookPayloadUnusable):
        read("claude-code", payload)


def test_a_payload_without_a_session_is_refused():
    with pytest.raises(HookPayloadUnusable, match="names no session"):
        read("claude-code", {"hook_event_name": "Stop", "session_id": 5})


def test_a_payload_beyond_all_bounds_is_refused(monkeypatch):
    monkeypatch.setattr("mulligan.domain.agents.hook_payload.LARGEST", 10)
    with pytest.raises(HookPayloadUnusable, match="more than 10 bytes"):
        read("claude-code", b" " * 11)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    "session_id", "sessionId", "conversation_id", "cwd", "workspace_roots", "prompt", "submitted_prompt", "prompt_id",
    "tool_name", "toolName", "tool_input", "toolArgs", "tool_response", "toolResult", "tool_use_id", "agent_id",
    "background_tasks", "source", "transcript_path", "input", "output", "properties", "session", "child", "message",
)  # fmt: skip


@given(st.data())
def test_no_payload_does_harm(data):
    agent = AGENTS[data.draw(st.sampled_from(sorted(AGENTS)))]
    fields = data.draw(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=len(KEYS)))
    event = data.draw(st.sampled_from([*agent.events, "Other", ""]))
    payload = json.dumps(fields | {"hook_event_name": event}).encode()
    try:
        found = read_event(agent, payload, event=event, folder="/w", strict=False)
    except HookPayloadUnusable:
        return
    if found is None:
        return
    assert found.folder.startswith("/")
    assert "\0" not in found.folder
    for word in (found.session, found.prompt, found.call, found.tool, found.summary, found.subagent):
        assert word is None or (word.isprintable() and len(word) <= 12 * 200)
    assert found.text is None or found.text.strip()
    found.summary and found.summary.encode()
    assert all(path.encode() and "\0" not in path for path in found.paths)
