"""Lets a step wait for checkpoints that are taken while it is at work: a file appears for each of them.

Nothing depends on how fast the machine is: the step writes, waits for the group, and writes on.
"""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.support.homes import home_of

# Of the log: the groups themselves may be pruned.
_AT_WORK = """
SELECT COUNT(*) FROM events
WHERE type = 'checkpoint' AND (data_json LIKE '%on_quiet%' OR data_json LIKE '%on_interval%')
"""
_PACE = 0.02  # seconds


def until(folder: Path, number: int) -> str:
    """The words of a shell that wait for so many groups of the project in a folder."""
    return f"until [ -e {_sign(folder, number)} ]; do sleep 0.02; done"


def wait_in_python(folder: Path, number: int) -> str:
    """The same, for a program in Python."""
    return (
        f"import os, time\nwhile not os.path.exists({str(_sign(folder, number))!r}):\n    time.sleep(0.02)\n"
    )


@contextmanager
def ushered(folder: Path) -> Generator[None]:
    """Let the steps of plans in a folder know how many groups were taken while they were at work."""
    over = threading.Event()
    for old in folder.parent.glob(f"{folder.name}.group*"):
        old.unlink()

    def look() -> None:
        while not over.wait(_PACE):
            for number in range(1, _count(folder) + 1):
                _sign(folder, number).touch()

    thread = threading.Thread(target=look, name="usher")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _sign(folder: Path, number: int) -> Path:
    return folder.parent / f"{folder.name}.group{number}"


def _count(folder: Path) -> int:
    database = home_of(folder) / "mulligan.db"
    if not database.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as reader:
            return int(reader.execute(_AT_WORK).fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0
