"""A step of a plan that takes checkpoints and times them; copied into the tree that it works on."""

import json
import os
import time
from pathlib import Path
from typing import Any


def checkpoints(context: Any, repeats: int) -> None:
    """Take checkpoints after five changes and after none, and log the seconds of each."""
    folder: Path = context.path()
    sources = json.loads((folder / "bench_sources.json").read_text())
    seconds: list[tuple[str, float]] = []
    for number in range(2 * repeats):
        changed = number < repeats
        if changed:
            for at in range(5):
                with (folder / sources[(at * (len(sources) // 5) + number * 7) % len(sources)]).open(
                    "a"
                ) as file:
                    file.write(f"// edited in a step {number}\n")
        os.sync()
        time.sleep(0.05)
        started = time.perf_counter()
        context.checkpoint(f"label {number}")
        side = "checkpoint, 5 changes" if changed else "checkpoint, no change"
        seconds.append((side, time.perf_counter() - started))
    context.log(json.dumps(seconds))


def label(context: Any, count: int) -> None:
    """Take so many labelled checkpoints, each of something new."""
    for number in range(count):
        (context.path() / "number").write_text(str(number))
        context.checkpoint(f"label {number}")


def edit(context: Any, count: int) -> None:
    """Add a line to so many files, spread over the tree."""
    folder: Path = context.path()
    sources = json.loads((folder / "bench_sources.json").read_text())
    for at in range(count):
        with (folder / sources[at * (len(sources) // count)]).open("a") as file:
            file.write("// edited by a plan\n")
