"""A step of a plan that takes many checkpoints of small changes; copied into the folder that it works on."""

from pathlib import Path
from typing import Any


def checkpoints(context: Any, count: int) -> None:
    """Change a file and take a checkpoint, so many times."""
    file: Path = context.path() / "changing"
    for number in range(count):
        file.write_text(f"{number}\n" * 20)
        context.checkpoint(f"number {number}")
