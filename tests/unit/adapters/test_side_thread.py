"""Work beside its caller: waited for, raised where it is waited for, and never left running."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mulligan.adapters.engine.side_thread import SideThreads
from mulligan.boundaries import guarded, guards
from mulligan.errors import ToolFailed

PATIENCE = 30.0


def test_it_goes_on_beside_its_caller_under_the_same_guards() -> None:
    go, found = threading.Event(), list[int]()

    def check() -> None:
        pass

    def work() -> None:
        assert go.wait(PATIENCE)
        found.append(guards().count(check))

    with guarded(check):
        side = SideThreads().begin(work)
        assert not side.is_over
        go.set()
        side.finish()
    assert side.is_over
    assert found == [1]
    side.finish()  # there is nothing left to wait for


def test_what_ended_it_is_raised_where_it_is_waited_for() -> None:
    def work() -> None:
        raise ToolFailed(tool="t", reason="no")

    side = SideThreads().begin(work)
    with pytest.raises(ToolFailed):
        side.finish()
    side.finish()


@contextmanager
def interrupted_once(monkeypatch: pytest.MonkeyPatch) -> Generator[list[int]]:
    join, calls = threading.Thread.join, list[int]()

    def joining(self: threading.Thread, timeout: float | None = None) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        join(self, timeout)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", joining)
        yield calls


def test_ctrl_c_is_raised_when_the_work_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    side = SideThreads().begin(lambda: go.wait(PATIENCE))
    with interrupted_once(monkeypatch) as calls:
        threading.Timer(0.05, go.set).start()
        with pytest.raises(KeyboardInterrupt):
            side.finish()
    assert len(calls) > 1
    assert side.is_over
