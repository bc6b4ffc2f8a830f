"""Claims of plans in a shared project: locks of the server, with rows that name their holders."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from threading import get_ident
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.adapters.postgres.claim_session import KEY, ClaimSession, Held, Signature, session_of
from mulligan.adapters.postgres.postgres_connection import PostgresConnection
from mulligan.boundaries import guarded, guards
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import read_json

if TYPE_CHECKING:
    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.adapters.postgres.statement_words import NamedRow
    from mulligan.ports import Clock, LockHolder, StopRequest

_PAUSE = 0.02
_TRIES = 50  # a claimant signs right after it got the lock
_DEATH_PATIENCE = 5.0  # seconds
_STOP_PATIENCE = 30.0  # seconds: a step's processes get time to end
_HOLDER = f"""
SELECT l.pid AS session, c.host, c.machine, c.pid, c.since, c.within_json
FROM (SELECT {KEY.replace("%s", "CAST(? AS TEXT)")} AS key) AS k
JOIN pg_locks AS l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.classid = CAST((k.key >> 32) & 4294967295 AS oid) AND l.objid = CAST(k.key & 4294967295 AS oid)
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
LEFT JOIN claims AS c ON c.plan_id = ? AND c.session = l.pid
"""  # noqa: S608 - our own text
_PLANS = "SELECT plan_id FROM claims WHERE retired = 0 ORDER BY plan_id"
_RETIRE = "UPDATE claims SET retired = 1 WHERE plan_id = ?"
_FORGET = f"""
DELETE FROM claims
WHERE plan_id = ? AND retired = 1 AND pg_try_advisory_xact_lock({KEY.replace("%s", "CAST(? AS TEXT)")})
"""  # noqa: S608 - our own text
_NOTE_ASKED = "UPDATE claims SET asked = 1 WHERE plan_id = ?"
_ASKED = "SELECT asked FROM claims WHERE plan_id = ?"
_TAKE = "UPDATE claims SET token = 'taken' WHERE plan_id = ?"
_END_SESSION = "SELECT pg_terminate_backend(CAST(? AS INTEGER)) AS ended"


class _Guard(Struct, frozen=True, eq=False):
    """Refuses to continue with a plan that was taken over, or whose claim may have run out."""

    plan_id: PlanId
    held: Held
    session: ClaimSession

    def __call__(self) -> None:
        self.session.refuse_lost(self.plan_id, self.held)


class _Holder(Struct, frozen=True):
    """The process that works on a plan, as the server knows it."""

    session: int  # its number there
    host: str
    machine: str
    pid: int
    since: datetime
    within: tuple[PlanId, ...]


class PostgresClaims:
    """Locks of the server, one per plan: it lets go of them with the session of a process that died."""

    def __init__(
        self, *, address: ServerAddress, clock: Clock, stop: StopRequest | None, host: str, machine: str
    ) -> None:
        """Take the name of this host, and a word for where its process ids mean something."""
        self._address = address
        self._clock = clock
        self._stop = stop
        self._host = host
        self._machine = machine
        self._opened: PostgresConnection | None = None

    @contextmanager
    def hold(self, plan_id: PlanId) -> Generator[None]:
        import json  # here: a look at a plan takes no lock

        within = [guard.plan_id for guard in guards() if isinstance(guard, _Guard)]
        session = session_of(self._address, self._host)
        signature = Signature(self._host, self._machine, self._clock.now().isoformat(), json.dumps(within))
        held = session.take(plan_id, signature, self._stop)
        if held is None:
            raise self._busy(plan_id, self._holder(plan_id))
        try:
            with guarded(_Guard(plan_id, held, session)):
                yield
        finally:
            session.release(plan_id, held)
            if held.asked and held.stop is not None:
                held.stop.withdraw(held.thread)

    def holder(self, plan_id: PlanId) -> LockHolder | None:
        found = self._holder(plan_id)
        if found is None:
            return None
        from mulligan.ports import LockHolder  # here: most plans are held by nobody

        host = None if found.machine == self._machine else found.host
        lease = self._address.lease
        return LockHolder(pid=found.pid, since=found.since, within=found.within, host=host, lease=lease)

    def plans(self) -> list[PlanId]:
        return [PlanId(row["plan_id"]) for row in self._rows(_PLANS)]

    def retire(self, plan_id: PlanId) -> None:
        self._write(_RETIRE, plan_id)

    def forget(self, plan_id: PlanId) -> None:
        self._write(_FORGET, plan_id, plan_id)

    def wait_for(self, plan_id: PlanId, seconds: float) -> float | None:
        begun = time.monotonic()
        while self._holder(plan_id) is not None:
            if time.monotonic() - begun > seconds:
                return None
            time.sleep(_PAUSE)
        return time.monotonic() - begun

    def ask_to_stop(self, plan_id: PlanId) -> None:
        """Note the request in the holder's row, and wait until it has let go.

        A process of this machine gets SIGTERM too, a thread of this process is asked; others look at their rows.
        """
        holder = self._holder(plan_id)
        if holder is None:
            return
        if self._is_own(holder):
            self._ask_own(plan_id, holder)
        self._write(_NOTE_ASKED, plan_id)
        if not self._is_own(holder) and holder.machine == self._machine:
            with suppress(ProcessLookupError):
                os.kill(holder.pid, signal.SIGTERM)
        if not self._is_let_go(plan_id, _STOP_PATIENCE):
            raise self._busy(plan_id, holder)

    def was_asked_to_stop(self, plan_id: PlanId) -> bool:
        rows = self._rows(_ASKED, plan_id)
        return bool(rows and rows[0]["asked"])

    def take_over(self, plan_id: PlanId, children: Sequence[PlanId]) -> list[PlanId]:
        """End the process that holds the lock, stop the thread, or end the session of a process elsewhere.

        Return what was taken from one that lives on: its claims have other tokens, which it learns before its next act.
        """
        holder = self._holder(plan_id)
        if holder is None:
            return []
        if self._is_own(holder):
            self._ask_own(plan_id, holder)
        elif holder.machine == self._machine:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(holder.pid, signal.SIGKILL)
        if holder.machine == self._machine and self._is_let_go(plan_id, _DEATH_PATIENCE):
            return []
        if (holder := self._holder(plan_id)) is None:
            return []
        taken = [plan_id]  # first: what it does for the children it does for this one
        for child in children:
            held_by = self._holder(child)
            if held_by is not None and held_by.session == holder.session and plan_id in held_by.within:
                taken.append(child)
        for each in taken:
            self._write(_TAKE, each)
        if self._is_own(holder):
            session = session_of(self._address, self._host)
            for each in taken:
                session.give_up(each)
            return taken
        self._rows(_END_SESSION, holder.session)
        if not self._is_let_go(plan_id, _STOP_PATIENCE):
            raise self._busy(plan_id, holder)
        return taken

    def close(self) -> None:
        """Give the connection back; claims last until they are released."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _is_let_go(self, plan_id: PlanId, patience: float) -> bool:
        deadline = time.monotonic() + patience
        while self._holder(plan_id) is not None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_PAUSE)
        return True

    def _ask_own(self, plan_id: PlanId, holder: _Holder) -> None:
        """Ask the thread of this process that holds the plan to stop; PlanBusy for a session, and for this thread."""
        held = session_of(self._address, self._host).held.get(plan_id)
        if held is None or held.stop is None or held.thread == get_ident():
            raise self._busy(plan_id, holder)
        held.asked = True
        held.stop.ask(held.thread)

    def _is_own(self, holder: _Holder) -> bool:
        return holder.machine == self._machine and holder.pid == os.getpid()

    def _busy(self, plan_id: PlanId, holder: _Holder | None) -> errors.PlanBusy:
        if holder is None:  # it has let go in the meantime
            return errors.PlanBusy(plan_id=plan_id, pid=0, since=self._clock.now())
        if holder.machine != self._machine:
            return errors.PlanBusyElsewhere(
                plan_id=plan_id, pid=holder.pid, since=holder.since, host=holder.host
            )
        return errors.PlanBusy(plan_id=plan_id, pid=holder.pid, since=holder.since)

    def _holder(self, plan_id: PlanId) -> _Holder | None:
        for _ in range(_TRIES):
            rows = self._rows(_HOLDER, plan_id, plan_id)
            if not rows:
                return None
            row = rows[0]
            if row["since"] is not None:
                return _Holder(
                    session=row["session"],
                    host=row["host"],
                    machine=row["machine"],
                    pid=row["pid"],
                    since=datetime.fromisoformat(row["since"]),
                    within=tuple(map(PlanId, read_json(row["within_json"]))),
                )
            time.sleep(_PAUSE)
        return _Holder(0, "unknown", "", 0, self._clock.now(), ())

    def _rows(self, statement: str, *values: str | int) -> list[NamedRow]:
        return self._connection.fresh_rows(statement, values)

    def _write(self, statement: str, *values: str) -> None:
        self._connection.fresh_rows(f"{statement} RETURNING 1 AS done", values)

    @property
    def _connection(self) -> PostgresConnection:
        if self._opened is None:
            self._opened = PostgresConnection(self._address)
        return self._opened
