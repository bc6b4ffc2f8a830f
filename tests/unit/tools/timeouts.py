"""Timeouts in tests: short ones, and longer ones only where the machine is too busy for them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.errors import ToolTimedOut


def timed_out(attempt: Callable[[float], object], leaving: Path) -> ToolTimedOut:
    """Let something time out that leaves this file behind; where it could not begin in that time, it is given more."""
    for timeout in (0.5, 2.0, 10.0, 60.0):
        with pytest.raises(ToolTimedOut) as late:
            attempt(timeout)
        if leaving.exists() and leaving.stat().st_size:
            assert late.value.facts["timeout"] == timeout
            return late.value
    raise AssertionError(f"{leaving.name} was never written")
