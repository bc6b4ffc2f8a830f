import signal

import pytest

from mulligan.errors import PlanBusy
from tests.contracts.locks.conftest import PLAN, Claimants
from tests.support.patience import PATIENCE


def test_a_process_is_asked_and_waited_for(claimants: Claimants) -> None:
    with claimants.process() as process:
        claimants.locks().ask_to_stop(PLAN)
        assert claimants.locks().holder(PLAN) is None
        assert process.wait(timeout=PATIENCE) == -signal.SIGTERM
    claimants.locks().ask_to_stop(PLAN)  # no holder is left to ask


def test_another_thread_of_this_process_is_asked_and_waited_for(claimants: Claimants) -> None:
    with claimants.thread() as stopped:
        claimants.locks().ask_to_stop(PLAN)
        assert stopped.is_set()
        assert claimants.locks().holder(PLAN) is None


def test_a_thread_cannot_wait_for_itself(claimants: Claimants) -> None:
    with claimants.locks().hold(PLAN), pytest.raises(PlanBusy):
        claimants.locks().ask_to_stop(PLAN)


def test_a_holder_knows_whether_it_was_asked(claimants: Claimants) -> None:
    with claimants.locks().hold(PLAN):
        assert not claimants.locks().was_asked_to_stop(PLAN)
    with claimants.process():
        claimants.locks().ask_to_stop(PLAN)
        assert claimants.locks().was_asked_to_stop(PLAN)
    with claimants.locks().hold(PLAN):
        assert not claimants.locks().was_asked_to_stop(PLAN), "the next holder was not"
    with claimants.thread():
        claimants.locks().ask_to_stop(PLAN)
        assert claimants.locks().was_asked_to_stop(PLAN)
