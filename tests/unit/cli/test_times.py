"""Times for people."""

from datetime import UTC, datetime, timedelta

import pytest

from mulligan.cli.terminal.times import ago, lasting, running

NOW = datetime(2026, 5, 6, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-3600, "just now"),
        (0.9, "just now"),
        (1, "1 s ago"),
        (59.9, "59 s ago"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (2 * 86400 - 1, "47 h ago"),
        (2 * 86400, "2 days ago"),
    ],
)
def test_how_long_ago(seconds: float, told: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == told


@pytest.mark.parametrize(
    ("milliseconds", "told"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1234, "1.2 s"),
        (12_345, "12 s"),
        (61_000, "1 min 1 s"),
        (7_500_000, "2 h 5 min"),
    ],
)
def test_how_long_it_took(milliseconds: int, told: str) -> None:
    assert lasting(milliseconds) == told


def test_how_long_it_has_been_going_on() -> None:
    assert [running(s) for s in (-1, 0.9, 59.9, 60)] == ["0 s", "0 s", "59 s", "1 min 0 s"]
