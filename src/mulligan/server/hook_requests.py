"""Hooks of agents, as requests to a local server: the event is recorded, and the reply is what the hook prints."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.api.agents.agent_hook import HookCall, answer_in, hook_event, is_of_project
from mulligan.domain.agents.agent_event import AgentEvent, EventKind, HookAnswer
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.hook_reply import HookReply, reply_of
from mulligan.domain.server.words import Word
from mulligan.errors import HookPayloadUnusable
from mulligan.server.call_ends import CallEnds

if TYPE_CHECKING:
    from mulligan.api.local_server.server_operations import ServerWork
    from mulligan.api.results import Surroundings

_FLAGS = {b"--strict", b"--everywhere"}
_SETTINGS = "MULLIGAN_"
# Agents end hooks of these after a second or three: nobody else records what they report.
_LAST = (EventKind.SESSION_END, EventKind.INTERRUPT)


class HookRequests:
    """The events that hooks hand over to the server of one project.

    An event before a call is answered when the files of that moment are durable. One after a call is answered at once,
    and recorded before the next event: whatever is lost with a killed server, the next event finds.
    """

    def __init__(self, work: ServerWork, around: Surroundings) -> None:
        self._work = work
        self._around = around
        self._settings = _settings_in(around.environ)
        self._lock = Lock()
        self._unsaid: dict[tuple[str, str], str] = {}  # messages of events that were answered already
        self._ends = CallEnds(work)
        work.at_end(self._ends.close)

    def answer(
        self,
        folder: bytes,
        settings: bytes,
        payload: bytes,
        words: Sequence[bytes],
        is_awaited: Callable[[], bool],
    ) -> Sequence[bytes]:
        """Answer a hook, or leave it to the hook itself, with the reason.

        A hook that gave up while its event waited for its turn records it itself: it is not recorded twice.
        """
        call = _call_of(words)
        if call is None:
            return [Word.ELSEWHERE, b"these words are unknown"]
        if settings.split(b"\0")[:-1] != self._settings:
            return [Word.ELSEWHERE, b"the settings in the environment are others"]
        around = replace(self._around, folder=Path(os.fsdecode(folder)))
        try:
            event = hook_event(around, call, payload)
        except HookPayloadUnusable:
            return [Word.ELSEWHERE, b"the payload is not that of an event"]
        if event is None:
            return _reply(HookReply())
        if not is_of_project(self._work.project.home, around, event):
            return [Word.ELSEWHERE, b"the event is not of this project"]
        if event.kind is EventKind.AFTER_CALL and not event.strict and is_awaited():
            self._work.later(lambda: self._say_later(event, self._recorded(around, call, event)))
            return _reply(HookReply())
        answer = self._work.now(
            lambda: self._recorded(around, call, event) if event.kind in _LAST or is_awaited() else None
        )
        if answer is None:
            return [Word.ELSEWHERE, b"nobody waits for the answer"]
        if event.kind is EventKind.BEFORE_CALL:
            self._ends.begun(event)
        return _reply(reply_of(call.agent, event.kind, self._with_unsaid(event, answer)))

    def _recorded(self, around: Surroundings, call: HookCall, event: AgentEvent) -> HookAnswer:
        if event.kind is EventKind.PROMPT:
            self._work.project.watches.distrust()  # a file may have been written under a name outside of the tree
        return answer_in(self._work.project, around, call, event)

    def _say_later(self, event: AgentEvent, answer: HookAnswer) -> None:
        if answer.message is not None:
            with self._lock:
                self._unsaid[event.agent, event.session] = answer.message

    def _with_unsaid(self, event: AgentEvent, answer: HookAnswer) -> HookAnswer:
        with self._lock:
            unsaid = self._unsaid.pop((event.agent, event.session), None)
        if unsaid is None:
            return answer
        return HookAnswer(
            message="\n".join(filter(None, (unsaid, answer.message))),
            context=answer.context,
            block=answer.block,
        )


def _settings_in(environ: Mapping[str, str]) -> list[bytes]:
    return sorted(
        os.fsencode(f"{name}={value}") for name, value in environ.items() if name.startswith(_SETTINGS)
    )


def _call_of(words: Sequence[bytes]) -> HookCall | None:
    """Return the call of a hook that these words spell, as the command `hook` reads them."""
    flags = {word for word in words if word.startswith(b"-")}
    named = [word.decode("ascii", "replace") for word in words if word not in flags]
    if not flags <= _FLAGS or not 1 <= len(named) <= 2 or named[0] not in AGENTS:
        return None
    return HookCall(
        agent=AGENTS[named[0]],
        event=named[1] if len(named) == 2 else None,
        strict=b"--strict" in flags,
        everywhere=b"--everywhere" in flags,
    )


def _reply(reply: HookReply) -> Sequence[bytes]:
    return [Word.DONE, str(reply.exit_code).encode(), reply.stdout, reply.stderr]
