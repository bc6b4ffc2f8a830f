"""A worker as a process: its name, its queues, and the way in which it is stopped."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from mulligan.domain.queues.submission import DEFAULT_SLOTS, WorkerLine, queue_of_host
from mulligan.ports import StopRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.application.queues.worker_service import WorkerLog
    from mulligan.wiring.adapters import Adapters


class QueueWorker:
    """One worker; `stop` may be called from a signal handler."""

    def __init__(self, adapters: Adapters, queues: Sequence[str], slots: int | None, log: WorkerLog) -> None:
        from mulligan.wiring.workers.worker_wiring import worker_of

        self._request, self._stopping = StopRequest(), threading.Event()
        host = adapters.host.name
        self.line = WorkerLine(
            worker=adapters.ids.new(),  # of this start: a worker that comes back is another one
            host=host,
            pid=os.getpid(),
            queues=tuple(dict.fromkeys((*queues, queue_of_host(host)))),
            slots=slots or DEFAULT_SLOTS,
            plans=(),
            stopping=False,
            alive=True,
            started_at=adapters.clock.now(),
        )
        self._slots = slots
        self._service = worker_of(adapters, self.line.worker, self._request, log)

    def work(self) -> None:
        """Work until asked to stop."""
        self._service.work(self.line, self._slots, self._stopping)

    def stop(self) -> None:
        """Let each plan finish its step, and hand it back; asked again, cut the steps off."""
        if self._stopping.is_set():
            self._request.ask()
        self._stopping.set()
