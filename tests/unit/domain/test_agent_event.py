"""The value between the hooks of agents and what mulligan does with their events."""

import msgspec
import pytest

from mulligan.domain.agents.agent_event import AgentEvent, EventKind, HookAnswer


def test_an_event_needs_an_agent_a_kind_a_session_and_a_folder():
    event = AgentEvent(agent="codex", kind=EventKind.STOP, session="s", folder="/work")
    assert (event.may_write, event.failed, event.background, event.strict) == (True, False, False, False)
    with pytest.raises(TypeError):
        AgentEvent(agent="codex", kind=EventKind.STOP, session="s")  # pyright: ignore[reportCallIssue]  the point


def test_an_event_survives_the_way_through_json():
    event = AgentEvent(
        agent="claude-code",
        kind=EventKind.BEFORE_CALL,
        session="s",
        folder="/w",
        paths=("a", "b"),
        tool="Edit",
    )
    assert msgspec.json.decode(msgspec.json.encode(event), type=AgentEvent) == event
    assert b'"kind":"before_call"' in msgspec.json.encode(event)


def test_an_empty_answer_says_nothing():
    assert HookAnswer() == HookAnswer(message=None, context=None, block=None)
