"""The reply of a hook to its agent: an answer, in the words of that agent's protocol."""

import msgspec

from mulligan.domain.agents.agent_event import EventKind, HookAnswer
from mulligan.domain.agents.agent_table import Agent
from mulligan.domain.text.inert_text import harmless_lines

_BLOCKS = 2  # the exit code with which a hook of every agent stops what it was called for


class HookReply(msgspec.Struct, frozen=True):
    """The output of a hook and its exit code."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


def takes_context(agent: Agent, kind: EventKind) -> bool:
    """Return whether an answer to this event can carry text to the model."""
    return kind in agent.context


def reply_of(agent: Agent, kind: EventKind, answer: HookAnswer) -> HookReply:
    """Return the reply that hands an agent this answer.

    A reason to block counts where the agent asks for permission: elsewhere it is a message. An agent without a channel
    for messages gets them on stderr, which is what it logs. Context is dropped where `takes_context` is False.
    """
    message = answer.message
    if answer.block is not None:
        if kind in agent.blocks:
            return HookReply(stderr=_line(_joined(answer.block, message)), exit_code=_BLOCKS)
        message = _joined(answer.block, message)
    context = answer.context if takes_context(agent, kind) else None
    said: dict[str, object] = {}
    if message is not None and agent.shows_messages:
        said["message" if agent.name == "opencode" else "systemMessage"] = harmless_lines(message)
    if context is not None:
        said |= _context(agent, kind, harmless_lines(context))
    return HookReply(
        stdout=msgspec.json.encode(said) + b"\n" if said else b"",
        stderr=b"" if message is None or agent.shows_messages else _line(message),
    )


def _context(agent: Agent, kind: EventKind, text: str) -> dict[str, object]:
    if agent.name == "cursor":
        return {"additional_context": text}
    name = next(name for name, known in agent.events.items() if known is kind)
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


def _joined(reason: str, message: str | None) -> str:
    return reason if message is None else f"{reason}\n{message}"


def _line(text: str) -> bytes:
    return f"{harmless_lines(text)}\n".encode()
