from mulligan.domain.text.ids import PlanId
from tests.contracts.locks.conftest import Claimants


def test_every_plan_that_was_ever_worked_on_is_known(claimants: Claimants) -> None:
    assert claimants.locks().plans() == []
    for plan_id in ("01B", "01A"):
        with claimants.locks().hold(PlanId(plan_id)):
            pass
    assert claimants.locks().plans() == ["01A", "01B"]
