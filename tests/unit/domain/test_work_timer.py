"""When a group is due inside a step, by a clock that tests turn."""

from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.checkpoints.work_timer import WorkTimer
from mulligan.domain.plans.trigger import AT_WORK, CheckpointType

QUIET, INTERVAL = CheckpointType.ON_QUIET, CheckpointType.ON_INTERVAL


def test_quiet_is_the_time_since_the_last_write() -> None:
    timer = WorkTimer(quiet=3.0, interval=None)
    assert [timer.due(now, stirred=False) for now in (0.0, 100.0)] == [None, None], "nothing was written"
    assert timer.due(101.0, stirred=True) is None
    assert timer.due(103.9, stirred=False) is None
    assert timer.due(103.95, stirred=True) is None, "and again"
    assert timer.due(106.9, stirred=False) is None
    assert timer.due(107.0, stirred=False) is QUIET
    timer.fired(107.0)
    assert timer.due(200.0, stirred=False) is None, "it is held already"


def test_an_interval_is_the_time_since_the_last_group_or_the_beginning() -> None:
    timer = WorkTimer(quiet=None, interval=10.0)
    assert timer.wait(5.0) == 10.0
    assert timer.due(5.0, stirred=False) is None
    assert timer.wait(8.0) == 7.0
    assert timer.due(14.9, stirred=False) is None
    assert timer.due(15.0, stirred=False) is INTERVAL
    timer.fired(15.5)
    assert timer.due(25.0, stirred=False) is None
    assert timer.due(25.5, stirred=False) is INTERVAL


def test_of_both_a_quiet_moment_comes_first_and_the_interval_begins_again() -> None:
    timer = WorkTimer(quiet=1.0, interval=5.0)
    assert timer.due(0.0, stirred=True) is None
    assert timer.due(5.0, stirred=False) is QUIET
    timer.fired(5.0)
    assert timer.due(9.9, stirred=False) is None
    assert timer.due(10.0, stirred=False) is INTERVAL


def test_without_a_trigger_nothing_is_ever_due() -> None:
    timer = WorkTimer(quiet=None, interval=None)
    assert (timer.is_on, timer.due(0.0, stirred=True), timer.wait(0.0)) == (False, None, None)
    assert WorkTimer(quiet=1.0, interval=None).is_on
    assert {each for each in CheckpointType if each.is_at_work} == set(AT_WORK) == {QUIET, INTERVAL}


@given(
    st.floats(0.1, 100.0),
    st.floats(0.1, 100.0),
    st.lists(st.tuples(st.floats(0.0, 30.0), st.booleans()), max_size=60),
)
def test_no_group_is_early(quiet: float, interval: float, looks: list[tuple[float, bool]]) -> None:
    timer, now, written, last = WorkTimer(quiet=quiet, interval=interval), 0.0, None, 0.0
    assert timer.due(now, stirred=False) is None
    for passed, stirred in looks:
        now += passed
        written = now if stirred else written
        wait = timer.wait(now)
        assert wait is not None
        assert 0 <= wait <= min(quiet / 4, 0.5)
        due = timer.due(now, stirred=stirred)
        if due is QUIET:
            assert written is not None
            assert now - written >= quiet
        elif due is INTERVAL:
            assert now - last >= interval
        else:
            assert now - last < interval
        if due is not None:
            timer.fired(now)
            written, last = None, now
