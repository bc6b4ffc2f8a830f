"""The JSON document of an answer, the same for every front door: its envelope, and its data as plain values.

Field names are the names in the documents.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.domain.text.inert_text import harmless, harmless_lines, spell
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import MulliganError

__all__ = ["Reply", "document", "encode", "harmless", "harmless_lines", "text_with_times"]


class Reply(Struct, frozen=True, kw_only=True):
    """The answer to an operation, before a front door words it."""

    data: object
    messages: Sequence[str] = ()
    error: MulliganError | None = None
    warn: bool = False
    exit_code: int | None = None  # None: that of the error, or 0

    @property
    def code(self) -> int:
        """The exit code."""
        if self.exit_code is not None:
            return self.exit_code
        return self.error.exit_code if self.error else 0

    @property
    def status(self) -> str:
        """The word of the envelope."""
        if self.error is not None:
            return "error"
        return "warn" if self.warn else "ok"


def document(
    reply: Reply, command: str, started: datetime, took: timedelta, words: Callable[[str], str] = str
) -> JsonObject:
    """Return the document of an answer; `words` puts next steps into the words of a front door."""
    envelope: JsonObject = {
        "command": command,
        "status": reply.status,
        "exit_code": reply.code,
        "data": encode(reply.data, words),
        "timing": {"started": encode(started), "duration_ms": round(took.total_seconds() * 1000)},
        "messages": [encode(message, words) for message in reply.messages],
    }
    if (error := reply.error) is not None:
        envelope["error"] = {
            **{name: encode(value) for name, value in error.facts.items()},
            "kind": error.kind,
            "message": encode(text_with_times(error, lambda moment: str(encode(moment)))),
            "hint": encode(error.next_step, words),
        }
    return envelope


def text_with_times(error: MulliganError, told: Callable[[datetime], str]) -> str:
    """Return the message of an error with its times spelled as its reader expects them."""
    text = error.text
    for fact in error.facts.values():
        for moment in cast("list[object]", fact) if isinstance(fact, list) else [fact]:
            if isinstance(moment, datetime):
                text = text.replace(str(moment), told(moment))
    return text


def encode(value: object, words: Callable[[str], str] = str) -> Json:
    """Any answer as a JSON value: times in UTC, bytes of names and patches that are not UTF-8 spelled in hex.

    `words` puts next steps into the words of a front door.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return encode(value.value, words)
        case str():
            return spell(words(value))
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Path():
            return spell(str(value))
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {spell(key): encode(item, words) for key, item in items}
        case Sequence():
            return [encode(item, words) for item in cast("Sequence[object]", value)]
        case _:
            return {
                name: encode(getattr(value, name), words) for name in cast("Struct", value).__struct_fields__
            }
