"""A connection finds the newest schema, whoever opens the database first."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection


def _versions(connection: SqlConnection) -> list[int]:
    return [row["version"] for row in connection.rows("SELECT version FROM schema_version")]


def test_a_new_database_has_the_newest_schema(connection: SqlConnection, newest: int) -> None:
    assert _versions(connection) == [newest]


def test_several_that_open_a_new_database_at_once_agree(
    connect: Callable[[], SqlConnection], newest: int
) -> None:
    together = threading.Barrier(4)

    def open_it(_: int) -> list[int]:
        together.wait()
        return _versions(connect())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(open_it, range(4))) == [[newest]] * 4


def test_a_second_opening_changes_no_row(database: Database, connect: Callable[[], SqlConnection]) -> None:
    with Database(connect).reading() as db:
        assert db.plans.count(None) == 1
