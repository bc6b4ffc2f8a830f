import os

from tests.contracts.locks.conftest import PLAN, SINCE, Claimants


def test_a_plan_that_no_process_works_on_has_no_holder(claimants: Claimants) -> None:
    assert claimants.locks().holder(PLAN) is None
    with claimants.locks().hold(PLAN):
        pass
    assert claimants.locks().holder(PLAN) is None


def test_the_holder_is_a_process_with_the_time_of_its_claim(claimants: Claimants) -> None:
    with claimants.process() as process:
        holder = claimants.locks().holder(PLAN)
        assert holder is not None
        assert (holder.pid, holder.since) == (process.pid, SINCE)
    with claimants.locks().hold(PLAN):
        holder = claimants.locks().holder(PLAN)
        assert holder is not None
        assert holder.pid == os.getpid()
