"""A worker put together: the durable queue, its registry, and services for each plan that it runs."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.ports import StopRequest
from mulligan.wiring.database_place import require_driver, require_package
from mulligan.wiring.services import Services

if TYPE_CHECKING:
    from collections.abc import Generator

    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.adapters.postgres.worker_registry import PostgresWorkers
    from mulligan.application.queues.queued_runs import QueuedRuns
    from mulligan.application.queues.worker_service import WorkerLog, WorkerService
    from mulligan.wiring.adapters import Adapters

_LONGEST_SCHEMA = (
    57  # with the ending of the queue's own schema it is a name that PostgreSQL does not cut off
)


def worker_of(own: Adapters, worker: str, stop: StopRequest, log: WorkerLog) -> WorkerService:
    """Put a worker of a shared project together; it is asked to stop through `stop`."""
    address = _server_of(own)
    require_package("dbos", "a worker")
    if len(address.schema) > _LONGEST_SCHEMA:
        reason = f"the name of its schema is longer than {_LONGEST_SCHEMA} characters"
        raise errors.QueueUnusable(database=address.shown, reason=reason, hint="use a shorter schema")
    for name in [name for name in os.environ if name.startswith("DBOS_")]:
        del os.environ[name]  # of another program: DBOS would look for another database, or for a service
    from mulligan.adapters.dbos_queue.durable_queue import DurableQueue  # here: nothing else loads DBOS
    from mulligan.adapters.postgres.worker_registry import PostgresWorkers
    from mulligan.application.queues.queue_upkeep import QueueUpkeep
    from mulligan.application.queues.worker_service import WorkerService

    def said(level: str, text: str) -> None:
        log.say("trouble", reason=text.partition("\n")[0], kind=f"queue {level}")

    queue = DurableQueue(
        conninfo=address.conninfo,
        schema=address.schema,
        shown=address.shown,
        worker=worker,
        log=said,
        clock=own.clock,
    )
    workers = PostgresWorkers(address)
    lender = _Lender(own, worker, stop)
    mine = Services(place=own.place, around=own.around, stop=stop, prepare=own.prepare, worker=worker)
    upkeep = QueueUpkeep(
        database=mine.adapters.database, locks=mine.adapters.locks, queue=queue, workers=workers
    )
    return WorkerService(
        queue=queue, workers=workers, upkeep=upkeep, lend_runs=lender.lend, stop=stop, log=log
    )


def registry_of(own: Adapters) -> PostgresWorkers:
    """Return the workers of a shared project."""
    address = _server_of(own)
    require_driver()
    from mulligan.adapters.postgres.worker_registry import PostgresWorkers

    return PostgresWorkers(address)


def _server_of(own: Adapters) -> ServerAddress:
    address = own.database_place
    if isinstance(address, Path):
        raise errors.ProjectNotShared(database=str(address))
    return address


class _Lender:
    """Lends services to one run at a time: connections, tools and caches of an earlier run are used again."""

    def __init__(self, own: Adapters, worker: str, stop: StopRequest) -> None:
        self._own, self._worker, self._stop = own, worker, stop
        self._free: SimpleQueue[Services] = SimpleQueue()
        with self.lend():  # loads what a run needs, before the first plan waits for it
            pass

    @contextmanager
    def lend(self) -> Generator[QueuedRuns]:
        try:
            services = self._free.get_nowait()
        except Empty:
            own = self._own
            services = Services(
                place=own.place, around=own.around, stop=self._stop, prepare=own.prepare, worker=self._worker
            )
        try:
            yield services.queued_runs
        except BaseException:
            services.adapters.close()
            raise
        self._free.put(services)
