"""Comparison of two databases as SQLite reads them: schema, settings that travel with it, rows in order."""

import os
import sqlite3
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote_from_bytes

_SETTINGS = ("user_version", "application_id", "encoding")
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
_Pair = tuple[sqlite3.Connection, sqlite3.Connection]


def same_contents(one: Path | None, other: Path | None) -> bool:
    """Compare two databases that nobody else has open; None: there is none. What SQLite cannot read is like nothing."""
    if one is None or other is None:
        return one is other
    try:
        with closing(_open(one)) as mine, closing(_open(other)) as others:
            return _same((mine, others))
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _same(both: _Pair) -> bool:
    if not all(_equal(both, query) for query in (*(f"PRAGMA {name}" for name in _SETTINGS), _SCHEMA)):
        return False
    tables = [str(name[1], "utf-8").replace('"', '""') for (name,) in both[0].execute(_TABLES)]
    return all(_equal(both, f'SELECT * FROM "{table}"') for table in tables)  # noqa: S608 - quoted above


def _equal(both: _Pair, query: str) -> bool:
    """Return whether a query returns the same rows in the same order; 1 and 1.0 are not the same."""
    rows = zip_longest(*(database.execute(query) for database in both))
    return all(mine == other and _kinds(mine) == _kinds(other) for mine, other in rows)


def _kinds(row: tuple[object, ...]) -> list[type]:
    return [type(value) for value in row]


def _open(file: Path) -> sqlite3.Connection:
    address = f"file:{quote_from_bytes(os.fsencode(file))}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> tuple[str, bytes]:
    """A text as it is stored, and never taken for a blob."""
    return ("text", data)
