"""The answers of a local server: each request calls one operation of the API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import json

from mulligan.domain.server.words import Request, Word

if TYPE_CHECKING:
    from mulligan.api.local_server.server_operations import ServerWork
    from mulligan.server.hook_requests import HookRequests


class RequestAnswers:
    """The requests that a server knows."""

    def __init__(self, work: ServerWork, hooks: HookRequests) -> None:
        self._work = work
        self._hooks = hooks

    def answer(self, fields: list[bytes], is_awaited: Callable[[], bool]) -> Sequence[bytes]:
        """Answer one request; one that this version does not know is the client's own to do."""
        match fields:
            case [Request.STATUS]:
                return [Word.DONE, json.encode(self._work.status())]
            case [Request.STOP]:
                self._work.stop()
                return [Word.DONE]
            case [Request.HOOK, folder, settings, payload, *words] if b"hook" in words:
                words = words[words.index(b"hook") + 1 :]
                return self._hooks.answer(folder, settings, payload, words, is_awaited)
            case [Request.CHANGES, question]:
                return self._work.questions.answer(question)
            case _:
                return [Word.ELSEWHERE, b"this version has no such request"]
