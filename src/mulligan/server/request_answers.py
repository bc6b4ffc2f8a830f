"""The answers of a local server: each request calls one operation of the API."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import json

from mulligan.domain.server.words import Request, Word

if TYPE_CHECKING:
    from mulligan.api.operations.server_operations import ServerWork


def answer(work: "ServerWork", fields: list[bytes]) -> Sequence[bytes]:
    """Answer one request; one that this version does not know is the client's own to do."""
    match fields:
        case [Request.STATUS]:
            return [Word.DONE, json.encode(work.status())]
        case [Request.STOP]:
            work.stop()
            return [Word.DONE]
        case _:
            return [Word.ELSEWHERE, b"this version has no such request"]
