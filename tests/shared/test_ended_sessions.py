"""Connections that the server ends, as an administrator or a restart does: work goes on, unless another one has it."""

import os
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from mulligan.adapters.postgres.schema_versions import make_schema, open_postgres
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.boundaries import act
from mulligan.errors import PlanBusyElsewhere, PlanTakenOver
from mulligan.ports import StopRequest
from tests.shared.test_claim_sessions import PLAN, claims_of
from tests.support.patience import wait_until

LEASE = 60


@pytest.fixture
def url(address: str) -> str:
    url = f"{address}&lease={LEASE}"
    make_schema(ServerAddress.of(url), "of this test")
    return url


@pytest.fixture
def administrator(url: str) -> "Iterator[psycopg.Connection]":
    with ServerAddress.of(url).connect(name="administrator") as connection:
        yield connection


def end_sessions(administrator: psycopg.Connection, kind: str) -> int:
    """End the sessions of that kind that this process has, and wait until they are gone; return how many."""
    ended = administrator.execute(
        "SELECT pid FROM pg_stat_activity WHERE application_name ~ %s AND pg_terminate_backend(pid, 60000)",
        (_name(kind),),
    ).fetchall()
    return len(ended)


def test_rows_are_read_through_another_connection(url: str, administrator: psycopg.Connection) -> None:
    with closing(open_postgres(ServerAddress.of(url))) as connection:
        before = connection.changes()
        assert end_sessions(administrator, "rows")
        assert connection.changes() == before
        assert end_sessions(administrator, "rows")
        with connection.transaction(write=True):
            assert connection.row("SELECT COUNT(*) AS plans FROM plans") is not None
        assert connection.problems() == []


def test_claims_are_taken_again_and_stay_with_their_process(
    url: str, administrator: psycopg.Connection
) -> None:
    with closing(claims_of(url)) as claims, claims.hold(PLAN):
        assert end_sessions(administrator, "claims")
        wait_until(lambda: _locks(administrator) == 1, "the claim is taken again")
        with act("plan.record"):
            pass
        with closing(claims_of(url, "two")) as other, pytest.raises(PlanBusyElsewhere), other.hold(PLAN):
            pass
        assert end_sessions(administrator, "claims")
    assert _locks(administrator) == 0


def test_claims_that_another_one_took_meanwhile_are_lost(url: str, administrator: psycopg.Connection) -> None:
    stop = StopRequest()
    with closing(claims_of(url, stop=stop)) as claims, claims.hold(PLAN):
        administrator.execute("UPDATE claims SET token = 'of another'")
        assert end_sessions(administrator, "claims")
        wait_until(_is_lost, "the claim is known to be lost")
        wait_until(lambda: _locks(administrator) == 0, "its lock is free again")


def _name(kind: str) -> str:
    """Return a pattern for the names of sessions of this process; other tests use the same server."""
    return f"^mulligan {kind}( .*)? {os.getpid()}$"


def _locks(administrator: psycopg.Connection) -> int:
    row = administrator.execute(
        "SELECT COUNT(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
        " WHERE locktype = 'advisory' AND application_name ~ %s",
        (_name("claims"),),
    ).fetchone()
    assert row is not None
    return int(row[0])


def _is_lost() -> bool:
    try:
        with act("plan.record"):
            return False
    except PlanTakenOver:
        return True
