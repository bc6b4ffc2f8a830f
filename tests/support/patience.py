"""How long tests wait for an event that must come: long enough for any machine, and less than a test may take."""

import time
from collections.abc import Callable

PATIENCE = 300.0  # seconds
_PAUSE = 0.01


def wait_until(holds: Callable[[], object], wanted: str) -> None:
    """Wait for a condition; raises AssertionError when it never comes."""
    limit = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < limit, f"in {PATIENCE:.0f} seconds it did not come to this: {wanted}"
        time.sleep(_PAUSE)
