from mulligan.domain.text.ids import PlanId
from tests.contracts.locks.conftest import PLAN, Claimants


def test_every_plan_that_was_ever_worked_on_is_known(claimants: Claimants) -> None:
    assert claimants.locks().plans() == []
    for plan_id in ("01B", "01A"):
        with claimants.locks().hold(PlanId(plan_id)):
            pass
    assert claimants.locks().plans() == ["01A", "01B"]


def test_a_retired_plan_is_not_listed_until_it_is_held_again(claimants: Claimants) -> None:
    locks, plan = claimants.locks(), PlanId("01A")
    with locks.hold(plan):
        locks.retire(plan)
        assert locks.plans() == []
        assert (holder := locks.holder(plan)) is not None
        assert holder.pid
    assert locks.plans() == []
    with locks.hold(plan):
        pass
    assert locks.plans() == [plan]


def test_only_what_is_retired_and_held_by_nobody_is_forgotten(claimants: Claimants) -> None:
    locks = claimants.locks()
    locks.forget(PLAN)  # which was never there
    with claimants.process():
        locks.forget(PLAN)
        assert locks.holder(PLAN) is not None
    locks.forget(PLAN)
    assert locks.plans() == [PLAN]
    with locks.hold(PLAN):
        locks.retire(PLAN)
    locks.forget(PLAN)
    locks.forget(PLAN)
    assert locks.plans() == []
    with locks.hold(PLAN):
        pass
    assert locks.plans() == [PLAN]
