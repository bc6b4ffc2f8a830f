"""Child plans in threads of this process: they end when it does, and need no second way to be heard.

What they run are other processes, so that they do run at once. Each has its own connection, store and tools:
they share nothing that is not made to be shared between processes.
"""

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import TypeAlias

from msgspec import Struct

from mulligan.domain.text.ids import PlanId
from mulligan.errors import MulliganError
from mulligan.ports import Ended, Observer, StopRequest

_PACE = 0.1  # seconds: how long a request to stop may go unseen


# Runs a plan with so many retries, reporting to an observer, until it ends or is asked to stop.
Runner: TypeAlias = Callable[[PlanId, int, Observer, StopRequest], Ended]


class ThreadEngine(Struct, frozen=True, eq=False):
    """Runs each plan in a thread."""

    # `stop` is checked while waiting for the others: the waiting plan may itself be one of several.
    runner: Runner
    stop: StopRequest

    @contextmanager
    def crew(self, observer: Observer) -> Generator["ThreadCrew"]:
        crew = self.begin(observer)
        try:
            yield crew
        finally:
            crew.disband()

    def begin(self, observer: Observer) -> "ThreadCrew":
        """Let plans run until the crew is disbanded."""
        return ThreadCrew(self.runner, self.stop, _Uncounted(observer))


class ThreadCrew:
    """Plans that run at the same time."""

    def __init__(self, runner: Runner, stop: StopRequest, observer: Observer) -> None:
        self._runner = runner
        self._stop = stop
        self._observer = observer
        self._ended: queue.SimpleQueue[Ended | BaseException] = queue.SimpleQueue()
        self._running: list[tuple[threading.Thread, StopRequest]] = []

    def start(self, plan_id: PlanId, *, retries: int) -> None:
        """Let a plan run in a thread of its own, under the guards of the plan that starts it."""
        request = StopRequest()
        thread = threading.Thread(
            target=copy_context().run, args=(self._run, plan_id, retries, request), name=f"plan {plan_id}"
        )
        self._running.append((thread, request))
        thread.start()

    def next_ended(self) -> Ended:
        """Wait until one has ended; a mistake of ours in one of them is raised here."""
        while (ended := self.ended_soon()) is None:
            pass
        return ended

    def ended_soon(self) -> Ended | None:
        """As `next_ended`, for a moment; None: none has ended in it."""
        self._stop.obey()
        if self._stop.is_ending:
            self._end_steps()
        try:
            ended = self._ended.get(timeout=_PACE)
        except queue.Empty:
            return None
        if isinstance(ended, BaseException):
            raise ended
        return ended

    def stop(self) -> None:
        for _, request in self._running:
            request.ask()

    def disband(self) -> None:
        """See all of them stopped."""
        self.stop()
        for thread, _ in self._running:
            while thread.is_alive():
                with suppress(KeyboardInterrupt):  # a second Ctrl-C must not leave a plan running unseen
                    thread.join(_PACE)

    def _end_steps(self) -> None:
        """Let each plan finish its step, and leave as it was asked."""
        for thread, request in self._running:
            request.ask_to_end()
            while thread.is_alive():
                self._stop.obey()
                thread.join(_PACE)
        raise KeyboardInterrupt

    def _run(self, plan_id: PlanId, retries: int, request: StopRequest) -> None:
        try:
            self._ended.put(self._runner(plan_id, retries, self._observer, request))
        except MulliganError as exc:
            self._ended.put(Ended(plan_id=plan_id, error=exc, messages=()))
        except BaseException as exc:  # noqa: BLE001 - handed over, and raised where the crew is waited for
            self._ended.put(exc)


class _Uncounted:
    """Passes everything to an observer except progress: with several counts at once no line would be right."""

    def __init__(self, observer: Observer) -> None:
        self.event = observer.event
        self.output = observer.output

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Report nothing."""
