"""A worker in a thread of the test's own process: its code counts as covered, and what it says can be looked at."""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mulligan
from mulligan.domain.plans.plan import Plan
from tests.support.patience import PATIENCE


class Heard:
    """The log of a worker."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def say(self, event: str, **facts: Any) -> None:
        """Keep what happened."""
        self.lines.append((event, facts))

    @contextmanager
    def run_of(self, plan: Plan) -> Generator[None]:
        """Keep when a plan began and when it was left."""
        self.say("plan begun", plan=plan.plan_id)
        yield

    def events(self, event: str, plan: str | None = None) -> list[dict[str, Any]]:
        """Return what was said of that kind, of one plan."""
        return [facts for name, facts in self.lines if name == event and plan in (None, facts.get("plan"))]


class ThreadWorker:
    """A worker that works until it is stopped."""

    def __init__(self, folder: Path, *queues: str, slots: int | None = None) -> None:
        self.heard = Heard()
        self._project = mulligan.open(folder)
        named = {"queues": queues} if queues else {}
        self.worker = self._project.worker(slots=slots, log=self.heard, **named)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work)

    def start(self) -> "ThreadWorker":
        """Start it, and wait until it takes plans."""
        self._thread.start()
        wait_until(lambda: self.heard.events("ready") or self.failure, "the worker is ready")
        return self

    def stop(self) -> None:
        """Let it finish its steps, and see it end."""
        self.worker.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._project.close()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        try:
            self.worker.work()
        except BaseException as exc:  # noqa: BLE001 - handed over to the test
            self.failure = exc


@contextmanager
def working(folder: Path, *queues: str, slots: int | None = None) -> Iterator[ThreadWorker]:
    """Have a worker while the block lasts."""
    worker = ThreadWorker(folder, *queues, slots=slots).start()
    try:
        yield worker
    finally:
        worker.stop()


def wait_until(fact: Callable[[], object], what: str) -> None:
    """Wait until something is so."""
    until = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < until, f"it never happened that {what}"
        time.sleep(0.05)
