"""The difference between two states of a database for people: its tables, how many rows they have, which came and went.

The bytes come from checkpoints, and may be hostile: they are read in memory, with an untrusted schema, for a bounded
time.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

from mulligan.domain.trees.database_difference import DatabaseDifference, TableDifference

LARGEST = 256 << 20  # bytes of a database that is looked at
_SAMPLES = 20  # rows that came, and as many that went
_LONGEST = 200  # characters of a value
_SECONDS = 3.0
_TABLES = 200
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_MAGIC = b"SQLite format 3\0"
_JOURNAL = slice(18, 20)  # of the header: 2 where a log beside the file belongs to it
_NAMES = (
    "SELECT name FROM {side}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)


def table_changes(old: bytes | None, new: bytes | None) -> DatabaseDifference:
    """Compare two states of a database; None: there was none, or is none any longer.

    Bytes that are not a database have no tables, which is not a problem.
    """
    if not any(data is not None and data.startswith(_MAGIC) for data in (old, new)):
        return DatabaseDifference(tables=(), problem=None)
    if any(data is not None and len(data) > LARGEST for data in (old, new)):
        return DatabaseDifference(tables=(), problem="it is too large to be looked at")
    try:
        with closing(sqlite3.connect(":memory:")) as db:
            return _compared(db, old, new)
    except sqlite3.Error as exc:
        return DatabaseDifference(tables=(), problem=f"it cannot be read: {exc}")


def _compared(db: sqlite3.Connection, old: bytes | None, new: bytes | None) -> DatabaseDifference:
    db.execute("PRAGMA trusted_schema = OFF")
    for side, data in (("before", old), ("after", new)):
        db.execute(f"ATTACH ':memory:' AS {side}")
        if data:
            copy = bytearray(data)
            copy[_JOURNAL] = b"\1\1"
            db.deserialize(bytes(copy), name=side)
    db.execute("PRAGMA query_only = ON")
    deadline = time.monotonic() + _SECONDS
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    db.text_factory = _text
    names = {side: {str(n) for (n,) in db.execute(_NAMES.format(side=side))} for side in ("before", "after")}
    found: list[TableDifference] = []
    everything = sorted(names["before"] | names["after"])
    try:
        for name in everything[:_TABLES]:
            found.append(  # noqa: PERF401 - those before one that takes too long are shown
                _table(db, name, name in names["before"], name in names["after"])
            )
    except sqlite3.OperationalError as exc:
        problem = "comparing took too long" if "interrupted" in str(exc) else str(exc)
        return DatabaseDifference(tables=tuple(found), problem=problem)
    return DatabaseDifference(tables=tuple(found), problem=None)


def _table(db: sqlite3.Connection, name: str, was: bool, there: bool) -> TableDifference:  # noqa: FBT001 - both sides
    quoted = '"' + name.replace('"', '""') + '"'
    counts = [
        int(db.execute(f"SELECT COUNT(*) FROM {side}.{quoted}").fetchone()[0]) if held else None  # noqa: S608 - the name of the table is quoted
        for side, held in (("before", was), ("after", there))
    ]
    columns = [
        [str(row[1]) for row in db.execute(f"PRAGMA {s}.table_info({quoted})")] for s in ("before", "after")
    ]
    same = was and there and columns[0] == columns[1]
    came = list(_only(db, "after", "before", quoted, compare=same)) if there and (same or not was) else []
    went = list(_only(db, "before", "after", quoted, compare=same)) if was and (same or not there) else []
    return TableDifference(
        name=name,
        columns=tuple(columns[1] or columns[0]),
        columns_changed=was and there and not same,
        rows_before=counts[0],
        rows_after=counts[1],
        came=tuple(came[:_SAMPLES]),
        went=tuple(went[:_SAMPLES]),
        more=len(came) > _SAMPLES or len(went) > _SAMPLES,
    )


def _only(
    db: sqlite3.Connection, side: str, other: str, quoted: str, *, compare: bool
) -> Iterator[Sequence[str]]:
    """Yield the first rows that only one side has."""
    query = f"SELECT * FROM {side}.{quoted}"  # noqa: S608 - names of sides are ours, that of the table is quoted
    if compare:
        query += f" EXCEPT SELECT * FROM {other}.{quoted}"  # noqa: S608 - the name of the table is quoted
    for row in db.execute(f"{query} LIMIT {_SAMPLES + 1}"):
        yield tuple(_shown(value) for value in row)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    text = f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
