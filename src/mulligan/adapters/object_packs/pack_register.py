"""The register of packs: which there are, in rows that all machines see.

One transaction of a project writes at a time. So ids grow in the order of commits, and a sweep that removes packs in a
transaction of its own has every commit either before it or after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row, SqlConnection

_NEWS = """
SELECT store.removals, extract(epoch FROM now())::float8 AS at,
  (SELECT COALESCE(MIN(removal), store.removals + 1) FROM removed_packs WHERE had_row) AS oldest,
  (SELECT COALESCE(json_agg(json_build_array(id, name, size_bytes)), '[]')::text FROM packs WHERE id > ?) AS added,
  (SELECT COALESCE(json_agg(name), '[]')::text FROM packs WHERE doomed_at IS NOT NULL) AS doomed,
  (SELECT COALESCE(json_agg(name), '[]')::text FROM removed_packs WHERE had_row AND removal > ?) AS removed
FROM store
"""
_ADD = """
INSERT INTO packs (name, size_bytes)
SELECT CAST(? AS text), CAST(? AS bigint)
WHERE NOT EXISTS (SELECT 1 FROM removed_packs WHERE name = CAST(? AS text))
ON CONFLICT (name) DO NOTHING
"""
_IS_ADDED = "SELECT 1 FROM packs WHERE name = ?"
_MOMENT = "SELECT removals, extract(epoch FROM now())::float8 AS at FROM store"
_DOOM = """
UPDATE packs SET doomed_at = now()
WHERE doomed_at IS NULL AND name IN (SELECT json_array_elements_text(CAST(? AS json)))
"""
_CONFIRM = """
UPDATE packs SET confirmed_at = now()
WHERE confirmed_at IS NULL AND doomed_at <= now() - make_interval(secs => ?)
  AND name IN (SELECT json_array_elements_text(CAST(? AS json)))
"""
_UNLIST_DUE = """
DELETE FROM packs
WHERE name IN (SELECT json_array_elements_text(CAST(? AS json))) AND confirmed_at <= now() - make_interval(secs => ?)
RETURNING name
"""
_UNLIST = "DELETE FROM packs WHERE name IN (SELECT json_array_elements_text(CAST(? AS json))) RETURNING name"
_SPARE = """
UPDATE packs SET doomed_at = NULL, confirmed_at = NULL
WHERE doomed_at IS NOT NULL AND name IN (SELECT json_array_elements_text(CAST(? AS json)))
"""
_NOTE_REMOVAL = "UPDATE store SET removals = removals + 1"
_BURY = """
INSERT INTO removed_packs (name, removal, had_row, moved_to)
SELECT gone, store.removals, ?, CAST(? AS text) FROM store, json_array_elements_text(CAST(? AS json)) AS gone
ON CONFLICT (name) DO NOTHING
"""
_FORGET = "DELETE FROM removed_packs WHERE had_row AND removal < (SELECT removals FROM store) - 5000"
_LISTED = "SELECT name FROM packs WHERE name IN (SELECT json_array_elements_text(CAST(? AS json)))"
_MOVED = """
SELECT name, moved_to AS target FROM removed_packs
WHERE moved_to IS NOT NULL AND name IN (SELECT json_array_elements_text(CAST(? AS json)))
"""
_TRY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('mulligan upkeep ' || current_schema(), 0)) AS free"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('mulligan upkeep ' || current_schema(), 0)) AS was_held"


class Moment(NamedTuple):
    """A moment by the server: its clock, and how often packs had been removed."""

    removals: int
    at: float  # seconds


class PackRegister:
    """The rows of packs, with what was seen of them last. Safe for threads; a transaction belongs to its thread."""

    def __init__(self, connect: Callable[[], SqlConnection]) -> None:
        self._connect = connect
        self._lock = RLock()
        self._connection: SqlConnection | None = None
        self._writer: int | None = None  # the thread whose transaction is open
        self._last_id = 0
        self.sizes: Mapping[str, int] = {}  # of all packs that are listed
        self.doomed: frozenset[str] = frozenset()
        self.seen: Moment | None = None

    def refresh(self) -> frozenset[str]:
        """Look which packs there are; return those that went since the last look. Only what is new is asked for."""
        with self._lock, self._looking() as connection:
            removals = self.seen.removals if self.seen is not None else -1
            row = _news(connection, self._last_id, removals)
            begins_again = row["oldest"] > removals + 1 and row["removals"] > removals
            if begins_again and self._last_id:
                row = _news(connection, 0, row["removals"])
            added: list[tuple[int, str, int]] = json.loads(row["added"])
            sizes = {} if begins_again else dict(self.sizes)
            sizes.update((name, size) for _, name, size in added)
            for name in json.loads(row["removed"]):
                sizes.pop(name, None)
            gone = frozenset(self.sizes.keys() - sizes.keys())
            self.sizes = sizes
            self.doomed = frozenset(json.loads(row["doomed"]))
            self._last_id = max([self._last_id, *(each[0] for each in added)])
            self.seen = Moment(row["removals"], row["at"])
            return gone

    def add(self, name: str, size: int, own: Iterable[str]) -> bool:
        """Record a pack that is stored; False where its name was given up, because it had no row for very long.

        `own` are packs of the same work, which no row names yet: a sweep that takes them for garbage is taken back.
        """
        with self.writing() as connection:
            connection.execute(_SPARE, (_json(own),))
            connection.execute(_ADD, (name, size, name))
            return connection.row(_IS_ADDED, (name,)) is not None

    def doom(self, names: Iterable[str], grace: float) -> list[str]:
        """Doom packs that nothing needs; return those whose grace is over, which are listed no longer.

        The caller holds the transaction in which it looked that nothing needs them.
        """
        asked, half = _json(names), grace / 2
        with self.writing() as connection:
            connection.execute(_DOOM, (asked,))
            connection.execute(_CONFIRM, (half, asked))
            gone = _names(connection.rows(_UNLIST_DUE, (asked, half)))
            self._bury(connection, gone, None)
            return gone

    def replace(self, names: Iterable[str], pack: str) -> list[str]:
        """Unlist packs whose objects are all in another one, unless that is listed no longer; return their names."""
        with self.writing() as connection:
            if not connection.rows(_LISTED, (_json([pack]),)):
                return []
            gone = _names(connection.rows(_UNLIST, (_json(names),)))
            self._bury(connection, gone, pack)
            return gone

    def spare(self, names: Iterable[str]) -> None:
        """Let packs stay that were doomed."""
        with self.writing() as connection:
            connection.execute(_SPARE, (_json(names),))

    def give_up(self, names: Sequence[str]) -> list[str]:
        """Give up names of objects without a row, for good; return those that have none."""
        with self.writing() as connection:
            listed = _names(connection.rows(_LISTED, (_json(names),)))
            without = sorted(set(names).difference(listed))
            connection.execute(_BURY, (False, None, _json(without)))
            return without

    @contextmanager
    def writing(self) -> Generator[SqlConnection]:
        """Write in the transaction that this register has open, or in one of its own. Nobody else writes meanwhile."""
        with self._lock:
            connection = self._opened()
            if self.is_alone:
                yield connection
                return
            self._writer = get_ident()
            try:
                with connection.transaction(write=True):
                    yield connection
            finally:
                self._writer = None

    @property
    def is_alone(self) -> bool:
        """Return whether this thread has a transaction open here."""
        return self._writer == get_ident()

    def try_upkeep(self) -> bool:
        """Take the lock of the one process that keeps packs in order, if it is free."""
        with self._lock, self._looking() as connection:
            row = connection.row(_TRY_LOCK)
            return row is not None and bool(row["free"])

    def end_upkeep(self) -> None:
        """Release that lock. The server did so already where the connection was lost."""
        with self._lock, self._looking() as connection:
            connection.row(_UNLOCK)

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _looking(self) -> Generator[SqlConnection]:
        connection = self._opened()
        if self.is_alone:
            yield connection
            return
        with connection.transaction(write=False):
            yield connection

    @staticmethod
    def _bury(connection: SqlConnection, gone: list[str], moved_to: str | None) -> None:
        if gone:
            connection.execute(_NOTE_REMOVAL)
            connection.execute(_BURY, (True, moved_to, _json(gone)))
            connection.execute(_FORGET)

    def _opened(self) -> SqlConnection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection


def moment_in(connection: SqlConnection) -> Moment:
    """Return the moment of a transaction."""
    row = connection.row(_MOMENT)
    assert row is not None
    return Moment(row["removals"], row["at"])


def lost_in(connection: SqlConnection, names: Collection[str]) -> set[str]:
    """Return those of some packs that are gone, unless a pack that is listed holds all that they held."""
    lost = set(names).difference(_names(connection.rows(_LISTED, (_json(names),))))
    targets = {name: name for name in lost}
    while targets:
        moved = {row["name"]: row["target"] for row in connection.rows(_MOVED, (_json(targets.values()),))}
        targets = {name: moved[at] for name, at in targets.items() if at in moved}
        here = set(_names(connection.rows(_LISTED, (_json(targets.values()),))))
        found = {name for name, at in targets.items() if at in here}
        lost -= found
        targets = {name: at for name, at in targets.items() if name not in found}
    return lost


def _news(connection: SqlConnection, last_id: int, removals: int) -> Row:
    row = connection.row(_NEWS, (last_id, removals))
    assert row is not None
    return row


def _json(names: Iterable[str]) -> str:
    return json.dumps(sorted(set(names)))


def _names(rows: Iterable[Row]) -> list[str]:
    return [row["name"] for row in rows]
