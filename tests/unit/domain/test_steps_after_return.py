"""The steps of a plan after it went to a group: done with their durations, failed, or still to run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mulligan.domain.history.lines import Line
from mulligan.domain.history.step_ends import step_ends
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.step import StepRecord, StepStatus, steps_after_return
from mulligan.domain.text.duration import seconds_in
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from tests.unit.examples import NOON

NAMES = ("a", "b", "c")


def _step(index: int, status: str, took: int | None = None) -> StepRecord:
    return StepRecord(index=index, name=NAMES[index], status=StepStatus(status), duration_ms=took)


def _shown(steps: list[StepRecord]) -> list[tuple[str, int | None]]:
    return [(step.status.value, step.duration_ms) for step in steps]


def test_going_back_keeps_what_is_done_and_forgets_the_rest() -> None:
    recorded = [_step(0, "done", 5), _step(1, "done", 6), _step(2, "failed")]
    back = steps_after_return(NAMES, 1, {"a": None}, recorded, (), failed=False)
    assert _shown(back) == [("done", 5), ("pending", None), ("pending", None)]
    failed = steps_after_return(NAMES, 2, {"a": None, "b": None}, recorded, (), failed=True)
    assert _shown(failed) == [("done", 5), ("done", 6), ("failed", None)]


def test_going_forward_takes_durations_from_the_log_and_knows_what_was_accepted() -> None:
    recorded = [_step(0, "pending"), _step(1, "pending"), _step(2, "running")]
    ends = [_step(0, "done", 7), _step(1, "failed")]
    forward = steps_after_return(NAMES, 3, {"a": 1}, recorded, ends, failed=False)
    assert _shown(forward) == [("done", 7), ("failed", None), ("pending", None)]


@given(
    st.integers(0, 3),
    st.sets(st.sampled_from(NAMES)),
    st.lists(st.sampled_from(StepStatus), min_size=3, max_size=3),
    st.booleans(),
)
def test_a_step_is_done_only_before_the_group_and_none_runs(
    index: int, done: set[str], statuses: list[StepStatus], failed: bool
) -> None:
    recorded = [_step(i, status.value, 1) for i, status in enumerate(statuses)]
    found = steps_after_return(NAMES, index, done, recorded, (), failed=failed)
    assert [s.name for s in found] == list(NAMES)
    assert all(s.status is not StepStatus.RUNNING for s in found)
    assert all(s.index < index for s in found if s.status is StepStatus.DONE)
    assert all(s.status is StepStatus.DONE for s in found if s.index < index and s.name in done)


def _event(seq: int, type: EventType, data: JsonObject) -> Event:
    return Event(plan_id=PlanId("p"), seq=seq, type=type, data=data, created_at=NOON)


def test_the_ends_of_a_line_are_not_those_of_another() -> None:
    lines = [
        Line(line=1, parent_line=None, fork_seq=0),
        Line(line=2, parent_line=1, fork_seq=2),
        Line(line=3, parent_line=1, fork_seq=4),
    ]
    events = [
        _event(1, EventType.PLAN_CREATED, {"name": "p"}),
        _event(3, EventType.STEP_DONE, {"index": 0, "step": "a", "duration_ms": 10}),
        _event(5, EventType.ROLLBACK, {"group_id": "g"}),
        _event(6, EventType.STEP_DONE, {"index": 0, "step": "a", "duration_ms": 20}),
        _event(7, EventType.STEP_FAILED, {"index": 1, "step": "b", "error": "why"}),
        _event(8, EventType.ROLLBACK, {"group_id": "h"}),
    ]
    assert _shown(step_ends(lines, events, 3, 9)) == [("done", 10)]
    assert _shown(step_ends(lines, events, 2, 7)) == [("done", 20), ("failed", None)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("1.5h", 5400), ("500ms", 0.5), ("2d", 172800)],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_in(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "5x", "-5m", "5m5", "1,5h"])
def test_what_is_not_a_duration(text: str) -> None:
    assert seconds_in(text) is None
