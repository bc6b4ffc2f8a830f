"""Compares databases: what SQLite reads from two of them, and whether one can become the other."""

import os
import sqlite3
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote_from_bytes

from mulligan.adapters.sandboxes.sqlite.database_copy import HEADER, MAGIC, PAGE_SIZE
from mulligan.domain.checkpoints.snapshot import Root
from mulligan.ports import StoredTrees

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


def why_not_taken(store: StoredTrees, ours: Root, theirs: Root) -> str:
    """Return why a database cannot become another one that is stored; empty: it can."""
    sides = store.difference(ours, theirs)
    come, gone = (
        [store.head(entry.content, HEADER) for entry in entries if entry and entry.content]
        for entries in ((d.new for d in sides), (d.old for d in sides))
    )
    if not come:
        return ""
    if len(come) > 1 or not (not come[0] or come[0].startswith(MAGIC)):
        return "the sandbox no longer holds a database"
    now, before = (_page_size(heads[0]) if heads else 0 for heads in (come, gone))
    if now and before and now != before:
        return f"its pages of {before} bytes became pages of {now}"
    return ""


def _page_size(head: bytes) -> int:
    """Return the page size that a header names; 0: it names none yet."""
    size = int.from_bytes(head[PAGE_SIZE], "big")
    return 65536 if size == 1 else size


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
