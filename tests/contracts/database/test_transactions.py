"""A transaction happens as a whole or not at all, and readers see one state."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from mulligan.domain.text.ids import PlanId
from mulligan.errors import DatabaseUnusable, PlanNotFound
from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection
from tests.unit.examples import a_plan

PLAN = PlanId("01K00000000000000000000001")


OTHER = PlanId("01K00000000000000000000002")


def test_a_transaction_that_raises_leaves_nothing(database: Database) -> None:
    def work() -> None:
        with database.writing() as db:
            db.plans.add(a_plan(OTHER))
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        work()
    with database.reading() as db, pytest.raises(PlanNotFound):
        db.plans.get(OTHER)


def test_readers_do_not_wait_for_a_writer(database: Database, connect: Callable[[], SqlConnection]) -> None:
    reader = Database(connect)
    with reader.reading():
        pass  # opened before the writer begins
    with database.writing() as db:
        db.plans.save(replace(a_plan(PLAN), attempt=7))
        with reader.reading() as seen:
            assert seen.plans.get(PLAN).attempt == 1
    with reader.reading() as seen:
        assert seen.plans.get(PLAN).attempt == 7


def test_a_read_stays_at_one_state_while_others_write(
    database: Database, connect: Callable[[], SqlConnection]
) -> None:
    others = Database(connect)
    with database.reading() as db:
        assert db.plans.count(None) == 1
        with others.writing() as changed:
            changed.plans.add(a_plan(OTHER))
        assert db.plans.count(None) == 1
    with database.reading() as db:
        assert db.plans.count(None) == 2


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("outer", [False, True])
def test_a_transaction_inside_another_is_refused_and_the_outer_one_goes_on(
    connection: SqlConnection, outer: bool, inner: bool
) -> None:
    with connection.transaction(write=outer):
        if outer:
            connection.execute("DELETE FROM schema_version")
        with pytest.raises(RuntimeError, match="open already"), connection.transaction(write=inner):
            pass
        assert len(connection.rows("SELECT * FROM schema_version")) == (0 if outer else 1)
    assert len(connection.rows("SELECT * FROM schema_version")) == (0 if outer else 1)


def test_a_closed_database_is_opened_again(database: Database) -> None:
    database.close()
    database.close()
    with database.reading() as db:
        assert db.plans.count(None) == 1
    database.close()


def test_a_database_that_is_closed_inside_of_a_transaction_keeps_nothing_of_it(database: Database) -> None:
    """Not a row may come through another connection, which would commit it without the rest."""

    def work() -> None:
        with database.writing() as db:
            db.plans.add(a_plan(OTHER))
            database.close()
            db.plans.save(replace(a_plan(PLAN), attempt=7))

    with pytest.raises(DatabaseUnusable):
        work()
    with database.reading() as db:
        assert db.plans.get(PLAN).attempt == 1
        with pytest.raises(PlanNotFound):
            db.plans.get(OTHER)
