"""Connections to SQLite files, with the settings that durability rests on, and SQLite's errors as ours."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mulligan import errors
from mulligan.boundaries import act

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Value

_LITTLE_ROOM = 128 << 10  # bytes; to be opened the database needs 32 KiB beside it
_BUSY_HINT = (
    "let the command or program that has it locked finish, then try again; where no program has it open, its disk "
    "cannot lock files: on NFS start the lock service, or move the project to a local disk"
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_MS = 10_000  # writers wait this long for each other; readers never wait
_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # what is forgotten leaves the file, also where SQLite was built without it
)
_NAP = 0.005  # seconds
_COUNTER = "PRAGMA user_version"
_COUNTED = 1 << 30
_CHANGES = "PRAGMA data_version"
_COLUMNS = """
SELECT m.name AS table_name, c.name AS column_name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid
"""
_CHECK = "PRAGMA integrity_check"
_REFERENCES = "PRAGMA foreign_key_check"


class SqliteConnection:
    """A connection to a SQLite file, whatever schema it has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._raw = self._opened()
            self._raw.row_factory = sqlite3.Row
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc
        self._identity = self._look()

    def _opened(self) -> sqlite3.Connection:
        # SQLite's own files beside it get the same mode, and would keep it when the user changes the mode.
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise errors.DatabaseUnusable(database=str(self.path), reason="it is read-only")
        raw = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        until = time.monotonic() + _BUSY_MS / 1000
        for setting in (f"PRAGMA busy_timeout = {_BUSY_MS}", *_SETTINGS):
            while not _is_set(raw, setting, until):
                time.sleep(_NAP)
        return raw

    def execute(self, statement: str, values: Sequence[Value] = ()) -> None:
        try:
            self._raw.execute(statement, values)
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[sqlite3.Row]:
        try:
            return self._raw.execute(statement, values).fetchall()
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def each(self, statement: str, values: Sequence[Value] = ()) -> Iterator[sqlite3.Row]:
        try:
            yield from self._raw.execute(statement, values)
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def row(self, statement: str, values: Sequence[Value] = ()) -> sqlite3.Row | None:
        try:
            found: Any = self._raw.execute(statement, values).fetchone()
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc
        return found

    def script(self, text: str) -> None:
        """Run the statements of a migration inside the transaction that is open."""
        for statement in _statements(text):
            self.execute(statement)

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[None]:
        if self._is_in_transaction():  # else the end of the inner one would roll back the outer one
            raise RuntimeError("a transaction of this connection is open already")
        try:
            # Inside: a signal that came while it waited for other writers is raised right after it has begun.
            self.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            if write and self._look() != self._identity:
                # Otherwise all that is written would be lost when this process ends, without an error.
                raise errors.DatabaseUnusable(
                    database=str(self.path),
                    reason="it was removed or replaced while this process had it open",
                    hint=f"something removed it, perhaps a step that works in place: put {self.path.parent} back",
                )
            yield
            if write:
                self._commit()
            else:
                self.execute("COMMIT")
        except BaseException:
            if self._is_in_transaction():
                self._raw.rollback()
            raise

    def _is_in_transaction(self) -> bool:
        """Return whether a transaction is open; False for a connection that another thread closed."""
        try:
            return self._raw.in_transaction
        except sqlite3.ProgrammingError:
            return False

    def _look(self) -> tuple[int, int] | None:
        """Return the identity of the file; None if it is missing."""
        try:
            st = self.path.stat()
        except FileNotFoundError:
            return None
        return st.st_dev, st.st_ino

    def _commit(self) -> None:
        try:
            with act("rows.commit"):
                self.execute("COMMIT")
        except (
            OSError
        ) as exc:  # only where a fault was asked for: SQLite makes its own errors of the system's
            reason = exc.strerror or str(exc)
            raise errors.DatabaseUnusable(database=str(self.path), reason=reason) from exc

    def copy_to(self, target: Path) -> None:
        """Write a consistent copy of the database into a new file."""
        try:
            copy = sqlite3.connect(target)
            try:
                self._raw.backup(copy)
            finally:
                copy.close()
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def fence_step(self) -> int:
        return 1

    def wake(self, queue: str, entry: str, plan_id: str, number: int) -> None:
        raise errors.ProjectNotShared(database=str(self.path))

    def changes(self) -> int:
        return int(self.rows(_CHANGES)[0][0])

    def settle(self) -> None:
        """Write something, over what a killed process may have left at the end of the log.

        Killed between writing its commit to the log and publishing it, a process leaves a transaction that
        no reader sees, and that comes back when the log is next read as a whole. What is written now takes
        its place.
        """
        with self.transaction(write=True):
            count = int(self.rows(_COUNTER)[0][0])
            self.execute(f"{_COUNTER} = {(count + 1) % _COUNTED}")

    def columns(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for row in self.rows(_COLUMNS):
            found.setdefault(row["table_name"], []).append(row["column_name"])
        return found

    def problems(self) -> list[str]:
        from mulligan.adapters.db.column_checks import misfits  # here: only a search for trouble needs it

        found = [str(row[0]) for row in self.rows(_CHECK)]
        lost = [f"a row of {row[0]} refers to one of {row[2]} that is gone" for row in self.rows(_REFERENCES)]
        return [*(text for text in found if text != "ok"), *lost, *misfits(self)]

    def close(self) -> None:
        self._raw.close()

    def _unusable(self, exc: sqlite3.Error) -> errors.DatabaseUnusable:
        facts = {"database": str(self.path), "reason": self._reason(exc)}
        if isinstance(exc, sqlite3.ProgrammingError):  # the connection was closed
            return errors.DatabaseUnusable(hint="another thread closed the project: try again", **facts)
        if getattr(exc, "sqlite_errorcode", None) in _DAMAGED:
            hint = f"put back a copy of the file; to start over instead, move {self.path.parent} away"
            return errors.DatabaseUnusable(hint=hint, **facts)
        if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return errors.DatabaseUnusable(hint=_BUSY_HINT, **facts)
        if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR:  # a statement that does not fit
            hint = f"its tables are those of another version: use that one; to start over, move {self.path.parent} away"
            return errors.DatabaseUnusable(hint=hint, **facts)
        return errors.DatabaseUnusable(**facts)

    def _reason(self, exc: sqlite3.Error) -> str:
        """Return SQLite's message; on a full disk it says "disk I/O error" when it cannot make its own files."""
        if "disk I/O error" not in str(exc):
            return str(exc)
        disk = os.statvfs(self.path.parent)
        return f"{exc}, the disk is full" if disk.f_bavail * disk.f_frsize < _LITTLE_ROOM else str(exc)


class SqliteReader(SqliteConnection):
    """A connection that reads a file as it is: it creates nothing, migrates nothing, and waits only so long.

    The mode is that of SQLite's addresses. With `rw` the last reader removes SQLite's own files beside the database.
    """

    def __init__(self, path: Path, *, mode: Literal["ro", "rw"], patience: float) -> None:
        from urllib.parse import quote  # here: most commands read no other file

        self._address = f"file:{quote(os.fsencode(path))}?mode={mode}"
        self._mode = mode
        self._patience = patience  # seconds
        super().__init__(path)

    def _opened(self) -> sqlite3.Connection:
        # A database that cannot be written would get files beside it that cannot be written either.
        if self._mode == "rw" and not os.access(self.path, os.W_OK):
            raise errors.DatabaseUnusable(database=str(self.path), reason="it is missing or read-only")
        raw = sqlite3.connect(self._address, uri=True, timeout=self._patience)
        raw.execute("PRAGMA query_only = ON")
        return raw


def _is_set(raw: sqlite3.Connection, setting: str, until: float) -> bool:
    """Make a setting; return False where another connection does so too.

    SQLite lets nobody wait for the switch of a new database to WAL.
    """
    try:
        raw.execute(setting)
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
            raise
        return False
    return True


def _statements(text: str) -> list[str]:
    """Split a migration file; sqlite3.executescript would commit the transaction it should be part of."""
    found: list[str] = []
    pending = ""
    for line in text.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending)
            pending = ""
    return found
