"""A worker: takes plans from queues, runs them in slots, and looks after the plans of workers that died."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.queues.queue_upkeep import QueueUpkeep
from mulligan.application.queues.queued_runs import Outcome, QueuedRuns
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.queues.submission import QueueSize, WorkerLine, pace_of_looks
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.errors import MulliganError
from mulligan.ports import StopRequest, Workers, WorkQueue

_LOOK = 0.25  # seconds between two looks for workers that died
_ADJUST = 2.0  # between two looks at the sizes of queues, and at how many workers there are
_MISSING = 5.0  # between two looks for plans without an entry
_FORGET = 600.0


class WorkerLog(Protocol):
    """The log of a worker."""

    def say(self, event: str, **facts: Json) -> None:
        """Something happened."""

    def run_of(self, plan: Plan) -> AbstractContextManager[None]:
        """A plan runs until the block ends."""
        ...


class WorkerService(Struct, kw_only=True, frozen=True, eq=False):
    """One worker of a project, from its start until it is asked to stop."""

    queue: WorkQueue
    workers: Workers
    upkeep: QueueUpkeep
    lend_runs: Callable[[], AbstractContextManager[QueuedRuns]]  # for one run at a time
    stop: StopRequest
    log: WorkerLog

    def work(self, line: WorkerLine, slots: int | None, stopping: threading.Event) -> None:
        """Work until asked to stop; then let each plan finish its step, and hand it back."""
        for queue in line.queues if slots is not None else ():
            self.workers.set_slots(queue, slots or line.slots)
        known = self.workers.sizes()
        sizes = {queue: known.get(queue, QueueSize()) for queue in line.queues}
        line = replace(line, slots=sizes[line.queues[0]].slots)
        self.queue.open(sizes, pace_of_looks(1), self._run)
        try:
            self.workers.join(line)
            self.log.say("ready", worker=line.worker, queues=list(line.queues), slots=line.slots)
            self._look_after(line.queues, stopping)
            self.log.say("stopping", worker=line.worker)
            self._quietly(self.workers.note_stopping)
            self.stop.ask_to_end()
        finally:
            self.stop.ask_to_end()
            self.queue.close()
            self._quietly(self.workers.leave)
        self.log.say("stopped", worker=line.worker)

    def _look_after(self, queues: Sequence[str], stopping: threading.Event) -> None:
        due = {self._enter_missing: 0.0, self._forget_old: time.monotonic() + _FORGET}
        due |= {self._take_from_dead: 0.0, lambda: self._adjust(queues): 0.0}
        paces = dict(zip(due, (_MISSING, _FORGET, _LOOK, _ADJUST), strict=True))
        while not stopping.wait(_LOOK):
            for look in due:
                if time.monotonic() >= due[look]:
                    self._quietly(look)
                    due[look] = time.monotonic() + paces[look]

    def _take_from_dead(self) -> None:
        for entry in self.upkeep.take_from_dead():
            self.log.say("taken", plan=entry.plan_id, queue=entry.queue)

    def _enter_missing(self) -> None:
        for each in self.upkeep.enter_missing():
            self.log.say("entered again", plan=each.plan_id, queue=each.queue)

    def _forget_old(self) -> None:
        self.queue.forget_old()

    def _adjust(self, queues: Sequence[str]) -> None:
        self.upkeep.adjust(queues)

    def _quietly(self, look: Callable[[], object]) -> None:
        """Do what can be done again later; a server that does not answer is only mentioned."""
        try:
            look()
        except Exception as exc:  # noqa: BLE001 - the queue's own errors too: the next look is a quarter second away
            self.log.say("trouble", reason=str(exc).partition("\n")[0], kind=type(exc).__name__)

    def _run(self, plan_id: PlanId, number: int) -> str:
        try:
            with self.lend_runs() as runs:
                return self._run_with(runs, plan_id, number)
        except MulliganError as exc:  # what was to be recorded of it could not: rows say that it is to be run
            self.log.say("trouble", plan=plan_id, reason=exc.text, kind=exc.kind)
        except Exception as exc:  # noqa: BLE001 - a mistake of ours must not end the worker
            self.log.say("trouble", plan=plan_id, reason=str(exc), kind=type(exc).__name__)
        return Outcome.LEFT

    def _run_with(self, runs: QueuedRuns, plan_id: PlanId, number: int) -> str:
        begun: list[AbstractContextManager[None]] = []

        def begin(plan: Plan) -> None:
            run = self.log.run_of(plan)
            run.__enter__()
            begun.append(run)

        try:
            outcome = runs.run(plan_id, number, _Told(self.log), begin)
        finally:
            for run in begun:
                run.__exit__(None, None, None)
        if begun:
            self.log.say("plan left", plan=plan_id, outcome=outcome.value)
        return outcome


class _Told:
    """An observer that passes what happens to plans on to the log."""

    def __init__(self, log: WorkerLog) -> None:
        self._log = log

    def event(self, event: Event) -> None:
        """Something was recorded."""
        if event.type in _TOLD:
            facts = {
                name: event.data[name] for name in ("step", "index", "state", "error") if name in event.data
            }
            self._log.say(event.type.value, plan=event.plan_id, **facts)

    def output(self, plan_id: PlanId, data: bytes) -> None:
        """A tool printed something, which rows keep."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""


_TOLD = (EventType.PLAN_STATE, EventType.STEP_STARTED, EventType.STEP_DONE, EventType.STEP_FAILED)
