"""Connections to PostgreSQL for rows: what `rows` asks of a database, with few round trips.

A transaction is sent as a pipeline: statements without an answer cost no round trip of their own, and what one of them
fails with is raised when the next answer is read, at the latest when the transaction ends.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from select import POLLIN, poll
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq

from mulligan import errors
from mulligan.adapters.postgres.driver_errors import is_gone, unusable
from mulligan.adapters.postgres.statement_words import NamedRow, named_rows, translated
from mulligan.boundaries import act

if TYPE_CHECKING:
    from pathlib import Path

    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.rows.sql_connection import Value

# What the driver says of a lost connection is raised too: nobody needs a line on stderr beside that.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
# One transaction of a project writes at a time: what it reads stays true until it commits.
_ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('mulligan rows ' || current_schema(), 0))"
_COUNT = "UPDATE commits SET number = number + 1"
_CHANGES = "SELECT number FROM commits"
_LOOSE = """
SELECT c.table_name, c.column_name FROM information_schema.columns AS c
WHERE c.table_schema = current_schema() AND c.data_type = 'text' AND c.collation_name IS DISTINCT FROM 'C'
ORDER BY c.table_name, c.column_name
"""
_WAKE = "SELECT wake(CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS BIGINT))"
_COLUMNS = """
SELECT CAST(table_name AS TEXT) AS table_name, CAST(column_name AS TEXT) AS column_name FROM information_schema.columns
WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position
"""
_PAGE = 200  # rows of a long answer that are in memory at a time
_PATIENCE = 10.0  # seconds: a server that restarts is waited for
_PAUSE = 0.1


class PostgresConnection:
    """A connection to the schema of a project; used by one thread at a time."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._closed = False
        self._is_open = False  # a transaction
        self._process = os.getpid()
        self._own = 0  # commits of this connection
        self._cursors = count(1)
        with self._translating():
            self._raw = self._opened()

    def execute(self, statement: str, values: Sequence[Value] = ()) -> None:
        with self._translating():
            self._raw.execute(translated(statement), values)

    def row(self, statement: str, values: Sequence[Value] = ()) -> NamedRow | None:
        with self._translating():
            return self._raw.execute(translated(statement), values).fetchone()

    def rows(self, statement: str, values: Sequence[Value] = ()) -> list[NamedRow]:
        with self._translating():
            return self._raw.execute(translated(statement), values).fetchall()

    def each(self, statement: str, values: Sequence[Value] = ()) -> Iterator[NamedRow]:
        if not self._is_open:
            yield from self.rows(statement, values)
            return
        name = f"mulligan_{next(self._cursors)}"
        self.execute(f"DECLARE {name} NO SCROLL CURSOR FOR {statement}", values)
        while page := self.rows(f"FETCH {_PAGE} FROM {name}"):
            yield from page
        self.execute(f"CLOSE {name}")

    @contextmanager
    def transaction(self, *, write: bool) -> Generator[None]:
        if self._is_open:  # else the end of the inner one would end the outer one
            raise RuntimeError("a transaction of this connection is open already")
        self._renew()
        self._is_open = True
        try:
            with self._translating(), self._raw.pipeline() as pipeline:
                self._raw.execute(_WRITE if write else _READ)
                if write:
                    self._raw.execute(_ALONE)
                yield
                if write:
                    self._commit(pipeline)
                else:
                    self._raw.execute("COMMIT")
        except BaseException:
            self._abandon()
            raise
        finally:
            self._is_open = False

    def fence_step(self) -> int:
        # So small that the fence stays a whole number for readers of JSON through two million claims.
        return 1 + secrets.randbelow(1 << 32)

    def fresh_rows(self, statement: str, values: Sequence[Value] = ()) -> list[NamedRow]:
        """Return the rows of an answer outside of any transaction, through another connection where this one is lost.

        The statement may run twice: its answer may be lost.
        """
        until = time.monotonic() + _PATIENCE
        while True:
            self._renew()
            try:
                return self.rows(statement, values)
            except errors.DatabaseUnusable as exc:
                cause = exc.__cause__
                if self._closed or not isinstance(cause, psycopg.Error) or not is_gone(cause):
                    raise
                if time.monotonic() > until:
                    raise
                self._raw.close()

    def wake(self, queue: str, entry: str, plan_id: str, number: int) -> None:
        self.execute(_WAKE, (queue, entry, plan_id, number))

    def changes(self) -> int:
        rows = self.rows(_CHANGES) if self._is_open else self.fresh_rows(_CHANGES)
        return int(rows[0]["number"]) - self._own

    def settle(self) -> None:
        """Wait for what a killed process was committing: the server ends it, one way or the other."""
        with self.transaction(write=True):
            pass

    def copy_to(self, target: Path) -> None:
        raise errors.NotBuiltYet(
            feature="a copy of a database on a server in a file of its own kind",
            hint="keep a copy of its rows with `pg_dump`",
        )

    def columns(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for row in self.rows(_COLUMNS):
            found.setdefault(row["table_name"], []).append(row["column_name"])
        return found

    def problems(self) -> list[str]:
        loose = [f"column {row[1]} of {row[0]} does not sort by bytes" for row in self.rows(_LOOSE)]
        return loose if self.row(_CHANGES) else [*loose, "the table commits lost its row"]

    def close(self) -> None:
        self._closed = True
        self._raw.close()

    def __del__(self) -> None:
        # A fork must not end the connection of its parent; without `_raw` none was made.
        if self._process == os.getpid() and (raw := self.__dict__.get("_raw")) is not None:
            raw.close()

    def _commit(self, pipeline: psycopg.Pipeline) -> None:
        self._raw.execute(_COUNT)
        try:
            with act("rows.commit"):
                self._raw.execute("COMMIT")
                pipeline.sync()  # all is durable once the server has answered
        except OSError as exc:  # only where a fault was asked for
            reason = exc.strerror or str(exc)
            raise errors.DatabaseUnusable(database=self._address.shown, reason=reason) from exc
        self._own += 1

    def _abandon(self) -> None:
        """Take back the transaction; a connection that cannot do so is given up, and the server takes it back."""
        try:
            if self._raw.info.transaction_status != pq.TransactionStatus.IDLE:
                self._raw.execute("ROLLBACK")
        except BaseException:  # noqa: BLE001 - the first error goes on
            self._raw.close()

    def _opened(self) -> psycopg.Connection[NamedRow]:
        raw: Any = self._address.connect_for_rows(f"mulligan rows {os.getpid()}")
        raw.row_factory = named_rows
        return raw

    def _renew(self) -> None:
        """Connect again where the connection was lost since it was used last; wait for a server that restarts."""
        if self._closed or not self._is_lost():
            return
        self._raw.close()
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._raw = self._opened()
            except psycopg.Error as exc:
                if not is_gone(exc) or time.monotonic() > until:
                    raise unusable(self._address.shown, exc) from exc
                time.sleep(_PAUSE)
            else:
                return

    def _is_lost(self) -> bool:
        """Return whether the connection is known to be lost; no question is sent."""
        if self._raw.closed:
            return True
        waiting = poll()
        waiting.register(self._raw.fileno(), POLLIN)
        return bool(waiting.poll(0))  # unasked, a server says only that it ends

    @contextmanager
    def _translating(self) -> Generator[None]:
        try:
            yield
        except psycopg.Error as exc:
            raise unusable(self._address.shown, exc) from exc
