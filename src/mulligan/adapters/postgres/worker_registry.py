"""Workers of a shared project: rows that name them, and locks of the server by which they are known to be alive."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg

from mulligan.adapters.postgres.driver_errors import unusable
from mulligan.adapters.postgres.postgres_connection import PostgresConnection
from mulligan.domain.queues.submission import DEFAULT_SLOTS, QueueSize, WorkerLine
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import time_text

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping, Sequence

    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.adapters.postgres.statement_words import NamedRow

_PACE = 0.25  # seconds between two signs of life, and between two attempts to have the lock again
_DEAD_AFTER = 2.0  # seconds: after a restart of the server the living need a moment to have their locks again
_KEY = "hashtextextended('mulligan worker ' || current_schema() || ' ' || {}, 0)"
_LOCK = f"SELECT pg_try_advisory_lock({_KEY.format('%s')})"
_UNLOCK = f"SELECT pg_advisory_unlock({_KEY.format('%s')})"
_JOIN = """
INSERT INTO workers (worker, host, pid, queues_json, slots, started_at, stopping) VALUES (?, ?, ?, ?, ?, ?, 0)
ON CONFLICT (worker) DO UPDATE SET slots = excluded.slots
"""
_STOPPING = "UPDATE workers SET stopping = 1 WHERE worker = ?"
_LEAVE = "DELETE FROM workers WHERE worker = ?"
_HELD = """
EXISTS (
    SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.classid = CAST(({0} >> 32) & 4294967295 AS oid) AND l.objid = CAST({0} & 4294967295 AS oid)
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
_LIST = f"""
SELECT w.*, {_HELD.format(_KEY.format("w.worker"))} AS alive FROM workers AS w ORDER BY started_at, worker
"""  # noqa: S608 - our own text
_PLAN_KEY = "hashtextextended('mulligan plan ' || current_schema() || ' ' || c.plan_id, 0)"
_PLANS = f"""
SELECT plan_id, machine FROM claims AS c WHERE retired = 0 AND machine LIKE '%worker %' AND {_HELD.format(_PLAN_KEY)}
ORDER BY since, plan_id
"""  # noqa: S608 - our own text
_SIZES = "SELECT queue, slots, plans FROM queues ORDER BY queue"
_SLOTS = (
    "INSERT INTO queues (queue, slots) VALUES (?, ?) ON CONFLICT (queue) DO UPDATE SET slots = excluded.slots"
)
_LIMIT = """
INSERT INTO queues (queue, slots, plans) VALUES (?, ?, ?) ON CONFLICT (queue) DO UPDATE SET plans = excluded.plans
"""


class PostgresWorkers:
    """The workers in one schema; one of them may be this process."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self._rows_connection: PostgresConnection | None = None
        self._using = threading.RLock()  # of the session below
        self._session: psycopg.Connection[tuple[object, ...]] | None = None
        self._is_known = False  # the session has the lock
        self._own: str | None = None
        self._ended = threading.Event()
        self._free: dict[str, float] = {}  # since when the lock of a worker was free at every look
        self._thread = threading.Thread(target=self._live, name="sign of life", daemon=True)

    def join(self, line: WorkerLine) -> None:
        row = (
            line.worker,
            line.host,
            line.pid,
            json.dumps(line.queues),
            line.slots,
            time_text(line.started_at),
        )
        self._write(_JOIN, *row)
        self._own = line.worker
        try:
            with self._using:
                self._connect()
        except psycopg.Error as exc:
            raise unusable(self._address.shown, exc) from exc
        self._thread.start()

    def leave(self) -> None:
        self._ended.set()
        if self._own is not None:
            self._thread.join()
            self._write(_LEAVE, self._own)
        with self._using:
            self._drop()
        if self._rows_connection is not None:
            self._rows_connection.close()

    def note_stopping(self) -> None:
        if self._own is not None:
            self._write(_STOPPING, self._own)

    def list(self) -> Sequence[WorkerLine]:
        plans: dict[str, list[PlanId]] = {}
        for row in self._rows(_PLANS):
            plans.setdefault(row["machine"].rpartition("worker ")[2], []).append(PlanId(row["plan_id"]))
        return [_line(row, tuple(plans.get(row["worker"], ()))) for row in self._rows(_LIST)]

    def dead(self, workers: Collection[str]) -> Sequence[str]:
        now = time.monotonic()
        found = {worker: self._free.get(worker, now) for worker in workers if self._is_free(worker)}
        self._free = found
        return [worker for worker, since in found.items() if now - since >= _DEAD_AFTER]

    @contextmanager
    def burying(self, worker: str) -> Generator[bool]:
        with self._using:
            held = self._ask(_LOCK, worker)
            try:
                yield held
                if held:
                    self._write(_LEAVE, worker)
                    self._free.pop(worker, None)
            finally:
                if held and self._session is not None:
                    self._ask(_UNLOCK, worker)

    def sizes(self) -> Mapping[str, QueueSize]:
        return {row["queue"]: QueueSize(slots=row["slots"], plans=row["plans"]) for row in self._rows(_SIZES)}

    def set_slots(self, queue: str, slots: int) -> None:
        self._write(_SLOTS, queue, slots)

    def limit(self, queue: str, plans: int | None) -> None:
        self._write(_LIMIT, queue, DEFAULT_SLOTS, plans)

    def close(self) -> None:
        """Give back the connection of questions."""
        if self._rows_connection is not None:
            self._rows_connection.close()
            self._rows_connection = None

    # --- the session that shows that this worker lives --------------------------------------------------

    def _live(self) -> None:
        while not self._ended.wait(_PACE):
            with self._using:
                try:
                    if self._session is None:
                        self._connect()
                    elif not self._is_known:
                        self._make_known()
                    else:
                        self._session.execute("SELECT 1")
                except psycopg.Error:
                    self._drop()

    def _connect(self) -> None:
        lease = f"-c idle_session_timeout={int(self._address.lease * 1000)}"
        limits = f"{lease} -c tcp_keepalives_idle=2 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3"
        self._session = self._address.connect(name=f"mulligan worker {self._own}", options=limits)
        self._make_known()

    def _make_known(self) -> None:
        """Take the own lock: another worker that looks has it for a moment, and a lost session until it is ended."""
        assert self._session is not None
        assert self._own is not None
        self._is_known = self._ask(_LOCK, self._own)

    def _is_free(self, worker: str) -> bool:
        with self._using:
            if not self._ask(_LOCK, worker):
                return False
            self._ask(_UNLOCK, worker)
            return True

    def _ask(self, statement: str, worker: str) -> bool:
        if self._session is None:
            return False
        try:
            return bool(self._session.execute(statement.encode(), (worker,)).fetchall()[0][0])
        except psycopg.Error:
            self._drop()
            return False

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session, self._is_known = None, False

    # --- rows -------------------------------------------------------------------------------------------

    def _rows(self, statement: str) -> Sequence[NamedRow]:
        return self._connection.fresh_rows(statement)

    def _write(self, statement: str, *values: str | int | None) -> None:
        self._connection.fresh_rows(f"{statement} RETURNING 1 AS done", values)

    @property
    def _connection(self) -> PostgresConnection:
        if self._rows_connection is None:
            self._rows_connection = PostgresConnection(self._address)
        return self._rows_connection


def _line(row: NamedRow, plans: tuple[PlanId, ...]) -> WorkerLine:
    from datetime import datetime

    return WorkerLine(
        worker=row["worker"],
        host=row["host"],
        pid=row["pid"],
        queues=tuple(json.loads(row["queues_json"])),
        slots=row["slots"],
        plans=plans,
        stopping=bool(row["stopping"]),
        alive=row["alive"],
        started_at=datetime.fromisoformat(row["started_at"]),
    )
