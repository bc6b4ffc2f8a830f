"""The call that left a process running: when a process started is known to some milliseconds."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from mulligan.domain.agents.left_process import CallTime, RunningProcess, left_by
from tests.contracts.database.test_step_rows import CALL

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _at(ms: int) -> datetime:
    return NOON + timedelta(milliseconds=ms)


def _call(name: str, begun: int, until: int | None) -> CallTime:
    end = None if until is None else _at(until)
    return CallTime(name=name, call=replace(CALL, started_at=_at(begun)), until=end)


@pytest.mark.parametrize(
    ("started", "call"),
    [
        (-200, None),
        (-20, "1.1"),  # the system counts in hundredths of a second
        (5, "1.1"),
        (20, "1.1"),  # a short call, whose end is as exact
        (200, None),
        (990, "1.2"),
        (5000, "1.2"),
    ],
)
def test_a_process_belongs_to_the_call_that_was_open_when_it_started(started: int, call: str | None) -> None:
    calls = [_call("1.1", 0, 10), _call("1.2", 1000, None)]
    process = RunningProcess(pid=7, ticks=1, started_at=_at(started), begun_at=_at(started), command="make")
    assert [each.name for _, each in left_by([process], calls)] == ([call] if call else [])


def test_a_process_counts_from_the_first_of_its_line() -> None:
    process = RunningProcess(pid=7, ticks=1, started_at=_at(200), begun_at=_at(5), command="make")
    assert [each.name for _, each in left_by([process], [_call("1.1", 0, 10)])] == ["1.1"]
