import signal

import pytest

from mulligan.errors import PlanBusy
from tests.contracts.locks.conftest import CHILD, MODULES, PLAN, Claimants
from tests.support.patience import PATIENCE


def test_a_process_is_ended(claimants: Claimants) -> None:
    with claimants.process() as process:
        assert claimants.locks().take_over(PLAN, []) == []
        assert process.wait(timeout=PATIENCE) == -signal.SIGKILL
        with claimants.locks().hold(PLAN):
            pass


def test_another_thread_of_this_process_is_stopped(claimants: Claimants) -> None:
    with claimants.thread() as stopped:
        assert claimants.locks().take_over(PLAN, []) == []
        assert stopped.is_set()
        with claimants.locks().hold(PLAN):
            pass


def test_a_thread_that_does_not_stop_loses_the_plan(
    claimants: Claimants, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, "_DEATH_PATIENCE", 0.1)
    with claimants.thread(obeys=False):
        assert claimants.locks().take_over(PLAN, []) == [PLAN]
        with claimants.locks().hold(PLAN):
            assert claimants.locks().holder(PLAN) is not None


def test_a_thread_loses_the_children_that_it_works_on_with_the_plan(
    claimants: Claimants, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, "_DEATH_PATIENCE", 0.1)
    with claimants.thread(PLAN, CHILD, obeys=False):
        assert claimants.locks().take_over(PLAN, [CHILD]) == [PLAN, CHILD]
        with claimants.locks().hold(CHILD):
            pass


def test_a_child_that_a_third_thread_has_claimed_stays_with_it(
    claimants: Claimants, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in MODULES:
        monkeypatch.setattr(module, "_DEATH_PATIENCE", 0.1)
    with claimants.thread(PLAN, obeys=False), claimants.thread(CHILD, obeys=False) as stopped:
        assert claimants.locks().take_over(PLAN, [CHILD]) == [PLAN]
        assert not stopped.is_set()
        with pytest.raises(PlanBusy), claimants.locks().hold(CHILD):
            pass


def test_a_thread_cannot_take_a_plan_from_itself(claimants: Claimants) -> None:
    with claimants.locks().hold(PLAN), pytest.raises(PlanBusy):
        claimants.locks().take_over(PLAN, [])


def test_where_no_process_works_on_it_there_is_nothing_to_take(claimants: Claimants) -> None:
    assert claimants.locks().take_over(PLAN, []) == []
