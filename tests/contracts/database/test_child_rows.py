"""Child plans come back in the order in which they came, with what they are to be forked from."""

from msgspec.structs import replace

from mulligan.domain.plans.plan import State
from mulligan.domain.plans.subplan import Spawn
from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from tests.unit.examples import a_plan, a_snapshot

PLAN = PlanId("01K00000000000000000000001")
CHILDREN = [PlanId(f"01K0000000000000000000000{n}") for n in (2, 3)]


def _spawn(position: int) -> Spawn:
    return Spawn(parent_plan_id=PLAN, step_index=2, number=1, position=position, line=1, seq=7)


def test_children_come_back_with_where_they_come_from_and_what_they_start_with(database: Database) -> None:
    bases = {"workspace": a_snapshot("a"), "data": a_snapshot("b")}
    with database.writing() as db:
        for position in (1, 0):
            db.plans.add(replace(a_plan(CHILDREN[position]), parent_plan_id=PLAN))
            db.children.add(CHILDREN[position], _spawn(position), bases if position else {})
    with database.reading() as db:
        found = db.children.list(PLAN)
        assert [(child.plan.plan_id, child.spawn) for child in found] == [
            (CHILDREN[0], _spawn(0)),
            (CHILDREN[1], _spawn(1)),
        ]
        assert db.children.bases_of(CHILDREN[1]) == bases
        assert (db.children.bases_of(CHILDREN[0]), db.children.bases_of(PLAN)) == ({}, {})
        assert set(db.children.bases()) == set(bases.values())
        assert db.plans.count_children(PLAN) == 2
        assert db.plans.resolve("latest").plan_id == PLAN, "a child is not the newest plan"
    with database.writing() as db:
        db.children.forget_bases(CHILDREN[1])
        db.children.move(CHILDREN[0], 2, 9)
        db.plans.save(replace(a_plan(CHILDREN[1]), state=State.CANCELLED))
    with database.reading() as db:
        assert list(db.children.bases()) == []
        assert [child.plan.plan_id for child in db.children.list(PLAN)] == CHILDREN[::-1]
        assert db.children.list(PLAN)[1].spawn == replace(_spawn(0), line=2, seq=9)
        assert db.plans.count_children(PLAN) == 1
