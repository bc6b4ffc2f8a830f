"""The events that hooks of coding agents report, in one form for all agents, and the answer to an event."""

from enum import StrEnum

from msgspec import Struct


class EventKind(StrEnum):
    """A moment in a conversation with an agent at which its hooks call mulligan."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    BEFORE_CALL = "before_call"
    AFTER_CALL = "after_call"
    STOP = "stop"
    SUBAGENT_STOP = "subagent_stop"
    INTERRUPT = "interrupt"
    SESSION_END = "session_end"
    WENT_BACK = "went_back"  # the user went back in the conversation, to before a prompt


class AgentEvent(Struct, frozen=True, kw_only=True):
    """An event of one session of an agent. Texts are bounded; an id that the agent does not send is None."""

    agent: str  # the name that `mulligan agent install` accepts, such as "claude-code"
    kind: EventKind
    session: str  # the agent's own id of the conversation
    folder: str  # absolute path of the agent's working directory
    source: str | None = None  # of a session start: startup, resume, fork, clear, compact
    parent_session: str | None = None  # the session that this one was forked from, where it is known
    prompt: str | None = None  # the agent's id of the prompt or turn
    text: str | None = None  # of a prompt: what the user wrote
    call: str | None = None  # the agent's id of the tool call
    tool: str | None = None
    summary: str | None = None  # of a call: the first line of its command or the path of its edit, made inert
    paths: tuple[str, ...] = ()  # that an edit tool names, as the agent spells them
    may_write: bool = True  # False for calls of tools that are known to only read
    failed: bool = False  # after a call: the call reports a failure
    background: bool = False  # after a call: it continues in the background; at a stop: something still runs
    subagent: str | None = None
    delegate: str | None = None  # after a call: the subagent that did its work
    transcript: str | None = None  # path of the agent's own record of the conversation
    strict: bool = False  # the installed hook blocks the agent where mulligan fails


class HookAnswer(Struct, frozen=True):
    """The answer to an event. The hook of each agent words it in that agent's own protocol."""

    message: str | None = None  # for the user
    context: str | None = None  # for the model, as additional context
    block: str | None = None  # the reason why the agent must not go on
