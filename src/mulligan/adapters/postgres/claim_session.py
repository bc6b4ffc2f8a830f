"""The session on the server that holds all claims of this process, and the lease that the server keeps for it.

A claim is an advisory lock of the session. The server ends the session when it has not heard of it for the length of
the lease, so that the claims of a machine that is cut off become free. It never does so sooner: the process relies on
it. A thread asks the server something at a shorter pace.
"""

from __future__ import annotations

import atexit
import math
import os
import secrets
import signal
import threading
import time
from typing import TYPE_CHECKING

import psycopg
from msgspec import Struct

from mulligan import errors
from mulligan.adapters.postgres.driver_errors import unusable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.domain.text.ids import PlanId
    from mulligan.ports import StopRequest

_PACE = 1.0  # seconds between two questions, or a quarter of a shorter lease
_SURE = 0.75  # part of the lease after the last answer in which no other process can have the claims
_LINGER = 2.0  # seconds: a session without claims is kept for the next one
_RETRY = 0.25
_END_PATIENCE = 2000  # milliseconds
# Systems without the first one count a suspension in the second.
_CLOCK: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
KEY = "hashtextextended('mulligan plan ' || current_schema() || ' ' || %s, 0)"
_LOCK = f"SELECT pg_try_advisory_lock({KEY})"
_UNLOCK = f"SELECT pg_advisory_unlock({KEY})"
_SIGN = """
INSERT INTO claims (plan_id, token, session, host, machine, pid, since, within_json, asked, retired)
VALUES (%s, %s, pg_backend_pid(), %s, %s, %s, %s, %s, 0, 0)
ON CONFLICT (plan_id) DO UPDATE SET
    token = excluded.token, session = excluded.session, host = excluded.host, machine = excluded.machine,
    pid = excluded.pid, since = excluded.since, within_json = excluded.within_json, asked = 0, retired = 0
"""
_REGAIN = "UPDATE claims SET session = pg_backend_pid() WHERE plan_id = %s AND token = %s RETURNING plan_id"
# The session that this process had: its claims are what the row says, unless another process signed meanwhile.
_END_FORMER = f"""
SELECT pg_terminate_backend(l.pid, {_END_PATIENCE}) FROM claims AS c
JOIN (SELECT {KEY} AS key) AS k ON true
JOIN pg_locks AS l ON l.pid = c.session AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
    AND l.classid = CAST((k.key >> 32) & 4294967295 AS oid) AND l.objid = CAST(k.key & 4294967295 AS oid)
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
WHERE c.plan_id = %s AND c.token = %s
"""  # noqa: S608 - our own text
_ASKED = "SELECT plan_id FROM claims WHERE plan_id = ANY(%s) AND asked = 1"


class Signature(Struct, frozen=True):
    """A claimant in its own words."""

    host: str
    machine: str  # another one where the process id means another process
    since: str
    within_json: str


class Held(Struct, eq=False):
    """A claim of this process."""

    token: str
    thread: int
    stop: StopRequest | None
    asked: bool = False


class ClaimSession:
    """One connection to a server, for all claims of this process in one schema."""

    def __init__(self, address: ServerAddress, host: str) -> None:
        self.held: dict[PlanId, Held] = {}
        self._address = address
        self._name = f"mulligan claims {host} {os.getpid()}"
        self._using = threading.RLock()  # of the connection, and of what is held
        self._raw: psycopg.Connection[tuple[object, ...]] | None = None
        self._heard = 0.0  # when the last question was sent that the server answered
        self._idle_since = _now()
        self._closed = threading.Event()
        with self._using:
            self._connect()
        threading.Thread(target=self._keep, name="claims", daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Return whether claims can be added: it was neither closed nor left idle."""
        return not self._closed.is_set()

    def take(self, plan_id: PlanId, signature: Signature, stop: StopRequest | None) -> Held | None:
        """Claim a plan; return None where another thread or process has it."""
        with self._using:
            if plan_id in self.held:
                return None
            held = Held(secrets.token_hex(16), threading.get_ident(), stop)
            try:
                if not self._ask(_LOCK, (plan_id,)):
                    return None
                s = signature
                values = (plan_id, held.token, s.host, s.machine, os.getpid(), s.since, s.within_json)
                self._connection().execute(_SIGN, values)
            except psycopg.Error as exc:
                self.close()  # whatever it holds: the process starts again with another session
                raise unusable(self._address.shown, exc) from exc
            self.held[plan_id] = held
            return held

    def release(self, plan_id: PlanId, held: Held) -> None:
        """Give a claim back; one that was lost or taken meanwhile is gone already."""
        with self._using:
            if self.held.get(plan_id) is not held:
                return
            del self.held[plan_id]
            self._idle_since = _now()
            try:
                self._ask(_UNLOCK, (plan_id,))
            except psycopg.Error:
                self._drop()  # the server lets go of it with the session

    def give_up(self, plan_id: PlanId) -> None:
        """Take a claim from a thread of this process that does not stop: it learns so before its next act."""
        with self._using:
            if (held := self.held.get(plan_id)) is not None:
                self.release(plan_id, held)

    def refuse_lost(self, plan_id: PlanId, held: Held) -> None:
        """Refuse to go on with a claim that was taken, or that may have become free; asks nothing of the server."""
        if self.held.get(plan_id) is not held:
            raise errors.PlanTakenOver(plan_id=plan_id)
        if (silent := _now() - self._heard) > self._address.lease * _SURE:
            raise errors.ClaimUncertain(plan_id=plan_id, seconds=silent, database=self._address.shown)

    def close(self) -> None:
        """End the session, and all claims with it."""
        self._closed.set()
        with self._using:
            self.held.clear()
            self._drop()

    def _keep(self) -> None:
        pace = min(_PACE, self._address.lease / 4)
        while not self._closed.wait(pace):
            with self._using:
                if not self.held and _now() - self._idle_since > _LINGER:
                    self.close()
                    return
                try:
                    self._look()
                except psycopg.Error:
                    self._drop()
            if self._raw is None:
                self._regain()

    def _look(self) -> None:
        """Show the server that this process lives, and obey requests to stop from other machines."""
        asked = self._rows(_ASKED, (list(self.held),))
        for (plan_id,) in asked:
            self._stop(self.held[plan_id])  # pyright: ignore[reportArgumentType] - a column of ids

    def _stop(self, held: Held) -> None:
        if held.asked:
            return
        held.asked = True
        if held.stop is not None:
            held.stop.ask(held.thread)
        else:
            os.kill(os.getpid(), signal.SIGTERM)

    def _regain(self) -> None:
        """Connect again, and take the locks again: where nobody claimed a plan meanwhile, its work goes on."""
        while not self._closed.is_set():
            with self._using:
                if _now() - self._heard > self._address.lease * _SURE:
                    for held in self.held.values():  # tools end before another machine can begin
                        self._stop(held)
                try:
                    self._connect()
                    for plan_id, held in list(self.held.items()):
                        if not self._took_again(plan_id, held):
                            del self.held[plan_id]
                            self._ask(_UNLOCK, (plan_id,))
                            self._stop(held)
                    return
                except (psycopg.Error, errors.MulliganError):
                    self._drop()
            self._closed.wait(_RETRY)

    def _took_again(self, plan_id: PlanId, held: Held) -> bool:
        """Take the lock of a claim again, from the session that was lost too: the server may still keep that."""
        if not self._ask(_LOCK, (plan_id,)):
            self._rows(_END_FORMER, (plan_id, plan_id, held.token))
            if not self._ask(_LOCK, (plan_id,)):
                return False
        return bool(self._rows(_REGAIN, (plan_id, held.token)))

    def _connect(self) -> None:
        lease = self._address.lease
        limits = f"-c idle_session_timeout={int(lease * 1000)} -c idle_in_transaction_session_timeout=10s"
        # However the server is set up, it must not take a link for dead before the lease is over.
        limits += f" -c tcp_keepalives_idle={math.ceil(lease)} -c tcp_user_timeout=0"
        sent = _now()
        try:
            self._raw = self._address.connect(name=self._name, options=limits)
            if self._rows("SELECT pg_backend_pid()", ())[0][0] != self._raw.info.backend_pid:
                self._drop()
                raise errors.PoolerInTheWay(database=self._address.shown)
        except psycopg.Error as exc:
            self._drop()
            raise unusable(self._address.shown, exc) from exc
        self._heard = sent

    def _drop(self) -> None:
        if self._raw is not None:
            self._raw.close()
            self._raw = None

    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        if self._raw is None:
            raise psycopg.OperationalError("the session of claims is being made again")
        return self._raw

    def _rows(self, statement: str, values: Sequence[object]) -> list[tuple[object, ...]]:
        sent = _now()
        found = self._connection().execute(statement, values).fetchall()  # pyright: ignore[reportArgumentType] - our own text
        self._heard = sent
        return found

    def _ask(self, statement: str, values: Sequence[object]) -> bool:
        return bool(self._rows(statement, values)[0][0])


def _now() -> float:
    """Return seconds that go on while the machine is suspended: the lease does, too."""
    return time.clock_gettime(_CLOCK)


_sessions: dict[tuple[int, ServerAddress], ClaimSession] = {}
_making = threading.Lock()


def session_of(address: ServerAddress, host: str) -> ClaimSession:
    """Return the session of this process for claims in a schema."""
    with _making:
        key = (os.getpid(), address)  # a fork has none of its parent's
        found = _sessions.get(key)
        if found is None or not found.is_usable:
            found = _sessions[key] = ClaimSession(address, host)
        return found


@atexit.register
def _end_all() -> None:
    for (pid, _), session in _sessions.items():
        if pid == os.getpid():
            session.close()
