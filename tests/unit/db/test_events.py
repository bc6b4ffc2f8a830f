"""The log as rows, and how others learn that there is more of it."""

from pathlib import Path

from mulligan.adapters.db.database import SqliteDatabase
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.text.ids import PlanId
from tests.unit.examples import NOON, a_plan

PLAN = PlanId("01K00000000000000000000001")


def test_the_log_is_read_from_a_place_on_and_what_others_add_is_seen_without_reading_it(
    tmp_path: Path,
) -> None:
    types = (EventType.LOG, EventType.MESSAGE, EventType.LOG)
    events = [
        Event(plan_id=PLAN, seq=seq, type=type, data={"message": f"{seq}"}, created_at=NOON)
        for seq, type in enumerate(types, start=4)
    ]
    database, others = SqliteDatabase(tmp_path / "mulligan.db"), SqliteDatabase(tmp_path / "mulligan.db")
    with database.writing() as db:
        db.plans.add(a_plan(PLAN))
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
    database.close()
    others.close()
