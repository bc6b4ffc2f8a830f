"""The log as rows, and how others learn that there is more of it."""

from collections.abc import Callable

from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection
from tests.unit.examples import NOON

PLAN = PlanId("01K00000000000000000000001")


def test_the_log_is_read_from_a_place_on_and_what_others_add_is_seen_without_reading_it(
    database: Database, connect: Callable[[], SqlConnection]
) -> None:
    types = (EventType.LOG, EventType.MESSAGE, EventType.LOG)
    events = [
        Event(plan_id=PLAN, seq=seq, type=type, data={"message": f"{seq}"}, created_at=NOON)
        for seq, type in enumerate(types, start=4)
    ]
    others = Database(connect)
    with database.writing() as db:
        for event in events[:2]:
            db.events.add(event)
    before = database.changes()
    with database.writing() as db:
        db.plans.raise_fence(PLAN)
    assert database.changes() == before, "its own changes are no news"
    with others.writing() as db:
        db.events.add(events[2])
    assert database.changes() != before
    with database.reading() as db:
        assert db.events.list(PLAN, after=4) == events[1:]
        assert db.events.list(PLAN, after=4, limit=1) == events[2:]
        assert (db.events.count(PLAN), db.events.count(PLAN, after=4)) == (3, 2)
        assert db.events.newest(PLAN, EventType.LOG) == events[2]
        assert db.events.newest(PLAN, EventType.DECISION) is None


def test_settling_changes_no_row(database: Database) -> None:
    database.settle()
    with database.reading() as db:
        assert [plan.plan_id for plan in db.plans.list(None)] == [PLAN]


def test_sound_rows_have_no_problems(database: Database) -> None:
    assert database.problems() == []


def test_a_row_that_nobody_can_read_is_a_problem(database: Database, connection: SqlConnection) -> None:
    with connection.transaction(write=True):
        connection.execute("UPDATE plans SET state = 'asleep' WHERE plan_id = ?", (PLAN,))
    assert any("plans" in problem and "asleep" in problem for problem in database.problems())
