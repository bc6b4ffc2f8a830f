"""Answers to agents, in the words of each one's protocol."""

import json

import pytest

from mulligan.domain.agents.agent_event import EventKind, HookAnswer
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_reply import HookReply, reply_of, takes_context

LIKE_CLAUDE = ("claude-code", "codex", "qwen-code")


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
@pytest.mark.parametrize("kind", EventKind)
def test_an_answer_that_says_nothing_is_silent(agent, kind):
    assert reply_of(agent, kind, HookAnswer()) == HookReply(stdout=b"", stderr=b"", exit_code=0)


@pytest.mark.parametrize("agent", AGENTS.values(), ids=lambda agent: agent.name)
@pytest.mark.parametrize("kind", EventKind)
def test_only_what_asks_for_permission_is_blocked(agent, kind):
    reply = reply_of(agent, kind, HookAnswer(block="no checkpoint"))
    asks = agent.name not in ("opencode", "copilot-cli", "goose")  # for prompts, too
    blocks = kind is EventKind.BEFORE_CALL or (kind is EventKind.PROMPT and asks)
    assert reply.exit_code == (2 if blocks else 0)
    assert b"no checkpoint" in reply.stdout + reply.stderr
    if blocks:
        assert reply.stdout == b""


@pytest.mark.parametrize("agent", LIKE_CLAUDE)
def test_message_and_context_as_claude_code_has_them(agent):
    reply = reply_of(AGENTS[agent], EventKind.PROMPT, HookAnswer(message="m", context="c"))
    assert json.loads(reply.stdout) == {
        "systemMessage": "m",
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"},
    }
    assert (reply.stderr, reply.exit_code) == (b"", 0)


def test_context_for_gemini_and_cursor():
    gemini = reply_of(AGENTS["gemini-cli"], EventKind.PROMPT, HookAnswer(context="c"))
    assert json.loads(gemini.stdout) == {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "c"}
    }
    cursor = reply_of(AGENTS["cursor"], EventKind.SESSION_START, HookAnswer(context="c"))
    assert json.loads(cursor.stdout) == {"additional_context": "c"}


def test_context_is_left_out_where_the_agent_takes_none():
    for name in ("opencode", "copilot-cli", "goose"):
        assert not takes_context(AGENTS[name], EventKind.PROMPT)
        assert reply_of(AGENTS[name], EventKind.PROMPT, HookAnswer(context="c")) == HookReply()
    assert not takes_context(AGENTS["claude-code"], EventKind.STOP)


@pytest.mark.parametrize("agent", ["copilot-cli", "cursor", "goose"])
def test_messages_to_agents_without_a_channel_are_logged(agent):
    reply = reply_of(AGENTS[agent], EventKind.BEFORE_CALL, HookAnswer(message="careful\x1b[2J"))
    assert reply == HookReply(stdout=b"", stderr=rb"careful\x1b[2J" + b"\n", exit_code=0)


def test_the_plugin_of_opencode_gets_the_message():
    reply = reply_of(AGENTS["opencode"], EventKind.BEFORE_CALL, HookAnswer(message="m"))
    assert json.loads(reply.stdout) == {"message": "m"}
