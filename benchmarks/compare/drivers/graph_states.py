"""States of LangGraph put and read, by mulligan's saver and by `SqliteSaver`, in turns and equally durable.

Prints the seconds of each put and get, by side.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIZES = {"small": 200, "1 MB": 1_000_000}
_LEFT_OUT = 3  # at the start: what is loaded and opened once


def main(folder: str, rounds: int) -> None:
    """Measure so many puts and gets of each size."""
    seconds: dict[str, list[float]] = {}
    with savers(Path(folder)) as both:
        for size, count in SIZES.items():
            last: dict[str, Any] = {}
            for number in range(rounds + _LEFT_OUT):
                checkpoint = state(count, number)
                for name, saver in both.items():
                    config = last.get(name) or {"configurable": {"thread_id": size, "checkpoint_ns": ""}}
                    known: Any = {"source": "loop", "step": number, "parents": {}}
                    begun = time.perf_counter()
                    last[name] = saver.put(config, checkpoint, known, {"text": number})
                    between = time.perf_counter()
                    found = saver.get_tuple(last[name])
                    ended = time.perf_counter()
                    assert found.checkpoint["channel_values"] == checkpoint["channel_values"]
                    if number >= _LEFT_OUT:
                        seconds.setdefault(f"put, {size}, {name}", []).append(between - begun)
                        seconds.setdefault(f"get, {size}, {name}", []).append(ended - between)
    print(json.dumps(seconds))


@contextmanager
def savers(folder: Path) -> Generator[dict[str, Any]]:
    """Open both savers."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    import mulligan
    from mulligan.langgraph import MulliganSaver

    connection = sqlite3.connect(folder / "langgraph.sqlite", check_same_thread=False)
    connection.execute("PRAGMA synchronous=FULL")  # as mulligan's; SqliteSaver chooses WAL on its own
    (folder / "project").mkdir()
    own = MulliganSaver(mulligan.init(folder / "project"))
    yield {"mulligan": own, "SqliteSaver": SqliteSaver(connection)}
    own.close()
    connection.close()


def state(size: int, number: int) -> Any:
    """Make a checkpoint with a text of so many characters, another one each time."""
    from langgraph.checkpoint.base import empty_checkpoint

    text = f"{number:08} a message of a conversation, as models write them. " * (size // 55 + 1)
    versions: Any = {"text": number}
    return {**empty_checkpoint(), "channel_values": {"text": text[:size]}, "channel_versions": versions}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
