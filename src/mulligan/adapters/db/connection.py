"""One SQLite connection, with the settings durability rests on, and its errors translated into ours."""

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from mulligan.boundaries import act
from mulligan.errors import DatabaseUnusable

Row: TypeAlias = sqlite3.Row
Value: TypeAlias = str | int | float | None

_LITTLE_ROOM = 128 << 10  # bytes; to be opened the database needs 32 KiB beside it
_BUSY_HINT = (
    "let the command or program that has it locked finish, then try again; where no program has it open, its disk "
    "gives no locks: on NFS start the lock service, or move the project to a local disk"
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_BUSY_MS = 10_000  # writers wait this long for each other; readers never wait


class Connection:
    """The seam to the DB-API: statements use `?`, and a second database would translate that here."""

    def __init__(self, path: Path) -> None:
        """Open or create the database file."""
        self._path = path
        # SQLite would give its own files beside it the same mode, and they would stay when the mode is mended.
        if path.exists() and not os.access(path, os.W_OK):
            raise DatabaseUnusable(database=str(path), reason="it is read-only")
        try:
            self._raw = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._raw.row_factory = sqlite3.Row
            self._raw.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
            self._raw.execute("PRAGMA journal_mode = WAL")
            self._raw.execute("PRAGMA synchronous = FULL")
            self._raw.execute("PRAGMA foreign_keys = ON")
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc
        self._identity = self._look()

    @property
    def path(self) -> Path:
        """The database file."""
        return self._path

    def execute(self, statement: str, values: Sequence[Value] = ()) -> None:
        """Run a statement that gives nothing back."""
        try:
            self._raw.execute(statement, values)
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[Row]:
        """All rows a statement gives."""
        try:
            return self._raw.execute(statement, values).fetchall()
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def each(self, statement: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """The rows a statement gives, one after the other, for those that are large."""
        try:
            yield from self._raw.execute(statement, values)
        except sqlite3.Error as exc:
            raise self._unusable(exc) from exc

    def row(self, statement: str, values: Sequence[Value] = ()) -> Row | None:
        """The first row a statement gives, if any."""
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
        """Commit what is done inside, or nothing of it."""
        try:
            # Inside: a signal that came while it waited for other writers is raised right after it has begun.
            self.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            if write and self._look() != self._identity:
                # Else all that is written would be gone when this process ends, and nobody would have been told.
                raise DatabaseUnusable(
                    database=str(self._path),
                    reason="it was removed or replaced while this process had it open",
                    hint=f"something removed it, perhaps a step that works in place: put {self._path.parent} back",
                )
            yield
            if write:
                self._commit()
            else:
                self.execute("COMMIT")
        except BaseException:
            if self._raw.in_transaction:
                self._raw.rollback()
            raise

    def _look(self) -> tuple[int, int] | None:
        """Which file it is; None: there is none."""
        try:
            st = self._path.stat()
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
            raise DatabaseUnusable(database=str(self._path), reason=reason) from exc

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

    def close(self) -> None:
        """Give the file back."""
        self._raw.close()

    def _unusable(self, exc: sqlite3.Error) -> DatabaseUnusable:
        facts = {"database": str(self._path), "reason": self._reason(exc)}
        if getattr(exc, "sqlite_errorcode", None) in _DAMAGED:
            hint = f"put back a copy of the file; to start anew instead, move {self._path.parent} away"
            return DatabaseUnusable(hint=hint, **facts)
        if getattr(exc, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            return DatabaseUnusable(hint=_BUSY_HINT, **facts)
        return DatabaseUnusable(**facts)

    def _reason(self, exc: sqlite3.Error) -> str:
        """What SQLite says; of a full disk it says "disk I/O error" where it could not make its own files."""
        if "disk I/O error" not in str(exc):
            return str(exc)
        disk = os.statvfs(self._path.parent)
        return f"{exc}, the disk is full" if disk.f_bavail * disk.f_frsize < _LITTLE_ROOM else str(exc)


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
