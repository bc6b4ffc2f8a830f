import pytest

from mulligan.domain.text.ids import PlanId
from mulligan.errors import PlanBusy
from tests.contracts.locks.conftest import PLAN, SINCE, Claimants


def test_a_second_claimant_is_refused_with_pid_and_time_of_the_first(claimants: Claimants) -> None:
    with claimants.process() as process:
        with pytest.raises(PlanBusy) as refusal, claimants.locks().hold(PLAN):
            pass
        assert refusal.value.facts == {"plan_id": PLAN, "pid": process.pid, "since": SINCE}


def test_threads_of_one_process_exclude_each_other(claimants: Claimants) -> None:
    with claimants.thread(), pytest.raises(PlanBusy), claimants.locks().hold(PLAN):
        pass


def test_plans_do_not_wait_for_each_other(claimants: Claimants) -> None:
    with claimants.locks().hold(PLAN), claimants.locks().hold(PlanId("another")):
        pass


def test_what_a_killed_process_held_is_free(claimants: Claimants) -> None:
    with claimants.process() as process:
        process.kill()
        process.wait()
        with claimants.locks().hold(PLAN):
            pass
