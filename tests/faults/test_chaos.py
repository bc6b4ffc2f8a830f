"""Plans that are killed at random moments, several at once: a short sample of `nox -s chaos`."""

import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.chaos import sweep


def test_plans_killed_at_random_end_as_if_left_alone(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    survived = sweep(tmp_path, random.Random(20), time.monotonic())
    record_property("kills survived", survived.kills)
