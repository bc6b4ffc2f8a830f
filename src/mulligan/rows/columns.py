"""The representation of values in columns: times as ISO 8601 text in UTC, documents as JSON text.

A `Layout` says how the fields of a value are kept in the columns of a row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.text.json_value import Json, JsonObject, read_json

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row, Value

ALL = 2**62  # a LIMIT that leaves nothing out, in SQLite and PostgreSQL alike

_T = TypeVar("_T", bound=Struct)


def at_most(limit: int | None) -> int:
    """Return a LIMIT that a database can hold; None and what it cannot hold leave nothing out."""
    return ALL if limit is None else min(limit, ALL)


def is_text(word: str) -> bool:
    """Return whether a column can hold this; bytes that are not UTF-8 come as surrogates, which none can."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def time_text(moment: datetime) -> str:
    """Write a time; microseconds always, so that text sorts as time."""
    return moment.isoformat(timespec="microseconds")


def json_text(value: Json) -> str:
    """Write a document: pure ASCII, so that names that are not UTF-8 pass as escaped surrogates."""
    import json  # here: a look at what is recorded writes nothing

    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _json_as_given(value: Json) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))


def _object_text(mapping: Mapping[str, Json]) -> str:
    return json_text(dict(mapping))


def _texts_text(texts: Sequence[str]) -> str:
    return json_text(list(texts))


def _texts(text: str) -> tuple[str, ...]:
    return tuple(read_json(text))


def json_object(text: str) -> JsonObject:
    """Read a document that is an object."""
    return cast("JsonObject", read_json(text))


class Format(NamedTuple):
    """The way in which a field is kept in a column."""

    write: Callable[[Any], Any] | None = None  # None: as it is
    read: Callable[[Any], Any] | None = None  # None: as it is
    suffix: str = ""  # of the column's name, which is otherwise that of the field
    column: str = ""  # the column's name where it is another

    def called(self, column: str) -> "Format":
        """Return the same for a column that is not named after its field."""
        return self._replace(column=column)


PLAIN = Format()
FLAG = Format(int, bool)
TIME = Format(time_text, datetime.fromisoformat)
SNAPSHOT = Format(Snapshot.to_text, Snapshot.from_text)
OBJECT = Format(_object_text, read_json, "_json")
TEXTS = Format(_texts_text, _texts, "_json")
# What people look at in the order in which it came: the columns of a query.
AS_GIVEN = Format(_json_as_given, read_json, "_json")


def word(kind: Callable[[str], Any]) -> Format:
    """Return the format of an enumeration's words."""
    return Format(read=kind)


class Layout(Generic[_T]):
    """The columns of a value: one for each field, as it is unless a format says otherwise.

    The fields of a value inside it are columns of the same row; `apart` are fields that the repository sees to.
    """

    def __init__(
        self, type: type[_T], /, *, apart: Sequence[str] = (), **formats: "Format | Layout[Any]"
    ) -> None:
        self._type = type
        self._inner = {name: each for name, each in formats.items() if isinstance(each, Layout)}
        self._formats = {
            name: each
            for name in type.__struct_fields__
            if name not in apart and isinstance(each := formats.get(name, PLAIN), Format)
        }
        self._names = {name: each.column or name + each.suffix for name, each in self._formats.items()}
        # All at once, and then the few that are not kept as they are: histories have thousands of rows.
        self._fields, self._columns = attrgetter(*self._names), itemgetter(*self._names.values())
        self._readers = [(name, each.read) for name, each in self._formats.items() if each.read]
        self._writers = [
            (self._names[name], each.write) for name, each in self._formats.items() if each.write
        ]

    def columns(self, value: _T) -> "dict[str, Value]":
        """Return the columns of a value by name."""
        columns = dict(zip(self._names.values(), self._fields(value), strict=True))
        for column, write in self._writers:
            columns[column] = write(columns[column])
        for field, layout in self._inner.items():
            columns |= layout.columns(getattr(value, field))
        return columns

    def some(self, value: _T, fields: Iterable[str]) -> "dict[str, Value]":
        """Return the columns of some fields."""
        written = ((field, getattr(value, field), self._formats[field].write) for field in fields)
        return {self._names[field]: write(plain) if write else plain for field, plain, write in written}

    def value(self, row: "Row", **apart: object) -> _T:
        """Return the value of a row."""
        found: dict[str, Any] = dict(zip(self._names, self._columns(row), strict=True), **apart)
        for field, read in self._readers:
            found[field] = read(found[field])
        for field, layout in self._inner.items():
            found[field] = layout.value(row)
        return self._type(**found)
