"""The representation of values in columns: times as ISO 8601 text in UTC, documents as JSON text."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from mulligan.domain.text.json_value import Json, JsonObject

ALL = 2**62  # a LIMIT that leaves nothing out, in SQLite and PostgreSQL alike


def is_text(word: str) -> bool:
    """Return whether a column can hold this; bytes that are not UTF-8 come as surrogates, which none can."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def time_text(moment: datetime) -> str:
    """A time for a column; microseconds always written, so that text sorts as time."""
    return moment.isoformat(timespec="microseconds")


def time_value(text: str) -> datetime:
    """A time from a column."""
    return datetime.fromisoformat(text)


def json_text(value: Json) -> str:
    """A document for a column: pure ASCII, so that names that are not UTF-8 pass as escaped surrogates."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def json_as_given(value: Json) -> str:
    """The same of what people look at in the order in which it came: the columns of a query."""
    return json.dumps(value, separators=(",", ":"))


def json_object(text: str) -> JsonObject:
    """A document that is an object, from a column."""
    return cast("JsonObject", json.loads(text))


def json_value(text: str) -> Json:
    """Any document from a column."""
    return cast("Json", json.loads(text))


def json_texts(text: str) -> tuple[str, ...]:
    """A list of texts from a column."""
    return tuple(cast("list[str]", json.loads(text)))


def texts_json(texts: Sequence[str]) -> str:
    """A list of texts for a column."""
    return json_text(list(texts))
