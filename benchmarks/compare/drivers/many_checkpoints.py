"""A step of a plan that takes many checkpoints of small changes; copied into the folder that it works on."""

import json
import time
from pathlib import Path
from typing import Any


def checkpoints(context: Any, count: int, timed: int) -> None:
    """Change a file and take a checkpoint, so many times; the seconds of the last ones are logged."""
    seconds: list[float] = []
    file: Path = context.path() / "changing"
    for number in range(count):
        file.write_text(f"{number}\n" * 20)
        started = time.perf_counter()
        context.checkpoint(f"number {number}")
        seconds.append(time.perf_counter() - started)
    context.log(json.dumps(seconds[-timed:]))
