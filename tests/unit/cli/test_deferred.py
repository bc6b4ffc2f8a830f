"""The live view is made when there is something to show, and once, whichever threads come first."""

import time
from threading import Barrier, Thread
from typing import Any, cast

from mulligan.cli.terminal.silent import Deferred


class Counted:
    """Stands for a live view."""

    def __init__(self) -> None:
        self.shown = 0
        self.closed = False

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.shown += 1

    def close(self) -> None:
        self.closed = True


def test_it_is_made_once_by_whichever_thread_is_first() -> None:
    made: list[Counted] = []
    start = Barrier(8)

    def make() -> Any:
        time.sleep(0.05)  # long enough for all to come
        made.append(Counted())
        return made[-1]

    deferred = Deferred(make)

    def show() -> None:
        start.wait()
        deferred.progress("files", 1, None)

    threads = [Thread(target=show) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.shown for each in made] == [8]
    deferred.close()
    assert made[0].closed


def test_nothing_is_made_only_to_be_closed() -> None:
    def make() -> Any:
        raise AssertionError("made")

    Deferred(cast("Any", make)).close()
