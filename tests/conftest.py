"""What holds for all tests."""

from collections import Counter

import pytest
from hypothesis import settings

# The same examples in every run: a failure is about the change at hand, not about luck. No deadline: two
# cores shared with other tests say nothing about speed. `--hypothesis-profile=search` looks further.
settings.register_profile("deterministic", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("search", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("deterministic")


pytest.register_assert_rewrite("tests.faults.chaos", "tests.faults.trials")

_COUNTED = ("faults survived", "kills survived")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many faults were survived: a number that shrinks is a test that no longer tests."""
    counted: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport) and report.when == "call":
                for name, number in report.user_properties:
                    counted[name] += int(str(number)) if name in _COUNTED else 0
    for name, number in (+counted).items():
        terminalreporter.write_line(f"{name}: {number}")
