"""A claimant that was overtaken writes nothing."""

import pytest
from msgspec.structs import replace

from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanTakenOver
from mulligan.ports import Claim
from mulligan.rows.database import Database
from tests.unit.examples import a_plan

PLAN = PlanId("01K00000000000000000000001")


def test_a_claimant_that_was_overtaken_can_write_nothing(database: Database) -> None:
    with database.writing() as db:
        first = Claim(plan_id=PLAN, fence=db.plans.raise_fence(PLAN))
    with database.writing_as(first) as db:
        db.plans.save(replace(a_plan(PLAN), attempt=2))
    with database.writing() as db:
        db.plans.raise_fence(PLAN)
    with pytest.raises(PlanTakenOver), database.writing_as(first) as db:
        db.plans.save(replace(a_plan(PLAN), attempt=3))
    with database.reading() as db:
        assert db.plans.get(PLAN).attempt == 2
