"""Answers as plain JSON values: field names are the names in the documents."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.domain.json_value import Json


def encode(value: object) -> Json:
    """Any answer as a JSON value: times in UTC, bytes of names and patches that are not UTF-8 spelled in hex."""
    match value:
        case None | bool() | int() | float():
            return value
        case Enum():
            return encode(value.value)
        case str():
            return spell(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Path():
            return spell(str(value))
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {spell(key): encode(item) for key, item in items}
        case Sequence():
            return [encode(item) for item in cast("Sequence[object]", value)]
        case _:
            return {name: encode(getattr(value, name)) for name in cast("Struct", value).__struct_fields__}


def spell(text: str) -> str:
    r"""Text that JSON can hold in any encoding: a byte that is not UTF-8 is `\xNN`, half a character `\uNNNN`."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def harmless(text: str) -> str:
    """Text that can be shown on a terminal: control characters, and with them escape sequences, are spelled."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _spelled(c) for c in spell(text))


def harmless_lines(text: str) -> str:
    """The same for text of several lines."""
    return "\n".join(harmless(line) for line in text.split("\n"))


def _spelled(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
