"""Answers as plain JSON values: field names are the names in the documents."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.domain.text.inert_text import harmless, harmless_lines, spell
from mulligan.domain.text.json_value import Json

__all__ = ["encode", "harmless", "harmless_lines", "spell"]


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
