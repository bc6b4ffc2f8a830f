"""What databases hold, as SQLite reads it: two files may differ in every page and hold the same rows."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import cast
from urllib.parse import quote_from_bytes

_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
_TABLES = "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name"
_SETTINGS = ("user_version", "application_id", "encoding")
_END = object()


def same_tables(one: Path, other: Path) -> bool:
    """Whether two databases have the same tables, rows, indexes and views; what cannot be read equals nothing."""
    if not (one.exists() and other.exists()):
        return one.exists() == other.exists()
    try:
        with closing(_opened(one)) as mine, closing(_opened(other)) as others:
            pairs = zip_longest(_contents(mine), _contents(others), fillvalue=_END)
            return all(a == b for a, b in pairs)
    except sqlite3.Error:
        return False


def _opened(file: Path) -> sqlite3.Connection:
    address = f"file:{quote_from_bytes(bytes(file))}?mode=ro&immutable=1"
    connection = sqlite3.connect(address, uri=True)
    connection.execute("PRAGMA trusted_schema = OFF")  # nothing that a plan wrote into the schema runs here
    connection.text_factory = bytes
    return connection


def _contents(database: sqlite3.Connection) -> Iterator[object]:
    """All that a database holds, in an order that only what it holds decides."""
    for setting in _SETTINGS:
        yield setting, database.execute(f"PRAGMA {setting}").fetchone()
    yield from database.execute(_SCHEMA)
    for name, sql in database.execute(_TABLES).fetchall():
        if sql is not None and sql.upper().startswith(b"CREATE VIRTUAL"):
            continue  # its rows are in tables of their own
        quoted = '"' + name.decode().replace('"', '""') + '"'
        yield from _rows(database, quoted)


def _rows(database: sqlite3.Connection, table: str) -> Iterator[object]:
    try:
        rows = database.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid")  # noqa: S608 - quoted above
    except sqlite3.OperationalError:  # it has none: then the primary key, which is no null, decides
        columns = len(database.execute(f"SELECT * FROM {table} LIMIT 0").description)  # noqa: S608 - likewise
        order = ", ".join(map(str, range(1, columns + 1)))
        rows = database.execute(f"SELECT * FROM {table} ORDER BY {order}")  # noqa: S608 - likewise
    for row in cast("Iterator[tuple[object, ...]]", rows):
        yield table, tuple((type(value), value) for value in row)
