"""Plans that run beside each other in threads: told, stopped, and never left running."""

import time

import pytest

from mulligan.adapters.engine.threads import ThreadEngine
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ToolFailed
from mulligan.ports import Ended, Observer, StopRequest, Unobserved
from tests.support.patience import PATIENCE


class Running:
    """A runner that goes on until it is asked to stop, unless the plan's id says otherwise."""

    def __init__(self) -> None:
        self.stopped: list[str] = []

    def __call__(self, plan_id: PlanId, retries: int, observer: Observer, stop: StopRequest) -> Ended:
        observer.output(plan_id, b"begun")
        observer.progress("files", 1, 2)
        if plan_id == "wrong":
            raise RuntimeError("a mistake of ours")
        if plan_id == "refused":
            raise ToolFailed(tool="t", reason="no")
        end = time.monotonic() + (PATIENCE if plan_id != "short" else 0)
        try:
            while time.monotonic() < end:
                stop.obey()
                time.sleep(0.005)
        except KeyboardInterrupt:
            self.stopped.append(plan_id)
        return Ended(plan_id=plan_id, error=None, messages=(f"{retries} retries",))


class Told(Unobserved):
    """Notes what was printed and counted."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def output(self, plan_id: str, data: bytes) -> None:
        self.seen.append(data)

    def progress(self, what: str, done: int, total: int | None) -> None:
        self.seen.append(what)


def test_what_ends_is_told_and_what_still_runs_is_stopped_at_the_end() -> None:
    running, told = Running(), Told()
    with ThreadEngine(running, StopRequest()).crew(told) as crew:
        crew.start(PlanId("long"), retries=0)
        crew.start(PlanId("short"), retries=2)
        assert crew.next_ended() == Ended(plan_id=PlanId("short"), error=None, messages=("2 retries",))
        crew.start(PlanId("refused"), retries=0)
        ended = crew.next_ended()
        assert isinstance(ended.error, ToolFailed)
    assert running.stopped == ["long"]
    assert told.seen == [b"begun"] * 3


def test_a_mistake_of_ours_is_raised_where_it_is_waited_for() -> None:
    running = Running()
    with ThreadEngine(running, StopRequest()).crew(Unobserved()) as crew:
        crew.start(PlanId("long"), retries=0)
        crew.start(PlanId("wrong"), retries=0)
        with pytest.raises(RuntimeError, match="a mistake of ours"):
            crew.next_ended()
    assert running.stopped == ["long"]


def test_one_that_waits_for_others_can_itself_be_asked_to_stop() -> None:
    running, stop = Running(), StopRequest()
    with ThreadEngine(running, stop).crew(Unobserved()) as crew:
        crew.start(PlanId("long"), retries=0)
        stop.ask()
        with pytest.raises(KeyboardInterrupt):
            crew.next_ended()
    assert running.stopped == ["long"]
