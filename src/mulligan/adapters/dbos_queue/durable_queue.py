"""The durable queue, on DBOS Transact: entries in tables beside those of the project.

DBOS finds an entry, starts it once, and records that it ended. Workers that died are not its concern: its open part
does not notice them. Of DBOS only documented functions are used.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from dbos import DBOS
from sqlalchemy.exc import SQLAlchemyError

from mulligan import errors
from mulligan.domain.queues.submission import Wakeup
from mulligan.domain.text.ids import PlanId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dbos import DBOSConfig

    from mulligan.domain.queues.submission import QueueSize
    from mulligan.ports import Clock

_APPLICATION = "mulligan"
_VERSION = (
    "1"  # of what an entry means; the same for all releases of mulligan that can run each other's entries
)
_WORK = "run_plan"
_LIVE = ["ENQUEUED", "PENDING", "DELAYED"]
_DAY = timedelta(days=1)
_FOR_EVER = 1 << 31  # seconds
_BATCH = 500
_POOL = 3  # connections


class DurableQueue:
    """The queue in one schema; a process has one open at a time."""

    def __init__(
        self,
        *,
        conninfo: str,
        schema: str,
        shown: str,
        worker: str,
        log: Callable[[str, str], None],
        clock: Clock,
    ) -> None:
        """Take the place of the project's tables, the id of this worker, and a function that hears of trouble."""
        self._shown = shown
        self._worker = worker
        self._set: dict[str, tuple[QueueSize, float]] = {}
        self._log = log
        self._clock = clock
        self._config: DBOSConfig = {
            "name": _APPLICATION,
            "system_database_url": conninfo,
            "dbos_system_schema": f"{schema}_queue",
            "executor_id": worker,
            "application_version": _VERSION,
            "sys_db_pool_size": _POOL,
            "log_level": "WARNING",
            "enable_otlp": False,
            "db_engine_kwargs": {
                "connect_args": {
                    "application_name": f"mulligan queue {worker}"[:63],
                    "connect_timeout": 10,
                    "keepalives_idle": 3,
                    "keepalives_interval": 3,
                    "keepalives_count": 2,
                    "tcp_user_timeout": 12_000,
                },
                "pool_size": _POOL,
                "max_overflow": 0,
                "pool_timeout": 30,
                "pool_pre_ping": True,
            },
        }

    def open(self, sizes: Mapping[str, QueueSize], pace: float, run: Callable[[PlanId, int], str]) -> None:
        try:
            DBOS(config=self._config)
            self._listen_to_its_words()

            def run_plan(plan_id: str, number: int) -> str:
                return run(PlanId(plan_id), number)

            DBOS.workflow(name=_WORK, max_recovery_attempts=None)(run_plan)
            DBOS.listen_queues(list(sizes))
            DBOS.launch()
            self.adjust(sizes, pace)
        except (SQLAlchemyError, OSError) as exc:
            DBOS.destroy(destroy_registry=True)
            reason = str(getattr(exc, "orig", exc)).partition("\n")[0]
            raise errors.QueueUnusable(database=self._shown, reason=reason) from exc

    def close(self) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=_FOR_EVER, destroy_registry=True)

    def live(self, entries: Collection[str]) -> Collection[str]:
        wanted, found = list(entries), set[str]()
        for start in range(0, len(wanted), _BATCH):
            listed = DBOS.list_workflows(
                workflow_ids=wanted[start : start + _BATCH], status=_LIVE, load_input=False, load_output=False
            )
            found |= {each.workflow_id for each in listed}
        return found

    def held_by_others(self) -> Mapping[str, Sequence[Wakeup]]:
        held: dict[str, list[Wakeup]] = {}
        for each in DBOS.list_workflows(status="PENDING", name=_WORK, load_input=False, load_output=False):
            worker, queue = each.executor_id, each.queue_name
            if worker is not None and worker != self._worker and queue is not None:
                plan_id, _, number = each.workflow_id.rpartition(":")
                entry = Wakeup(plan_id=PlanId(plan_id), number=int(number), queue=queue)
                held.setdefault(worker, []).append(entry)
        return held

    def give_back(self, entry: Wakeup) -> None:
        DBOS.resume_workflow(entry.entry, queue_name=entry.queue)

    def adjust(self, sizes: Mapping[str, QueueSize], pace: float) -> None:
        for name, size in sizes.items():
            if self._set.get(name) != (size, pace):
                DBOS.register_queue(
                    name,
                    worker_concurrency=min(size.slots, size.plans or size.slots),
                    global_concurrency=size.plans,
                    polling_interval_sec=pace,
                    on_conflict="always_update",
                )
                self._set[name] = (size, pace)

    def forget_old(self) -> None:
        before = (self._clock.now() - _DAY).isoformat()
        ended = ["SUCCESS", "ERROR", "CANCELLED"]
        old = DBOS.list_workflows(
            status=ended,
            completed_before=before,
            name=_WORK,
            limit=_BATCH,
            load_input=False,
            load_output=False,
        )
        if old:
            DBOS.delete_workflows([each.workflow_id for each in old])

    def _listen_to_its_words(self) -> None:
        """Let what DBOS logs become part of the worker's log."""
        logger = logging.getLogger("dbos")
        logger.handlers[:] = [_Words(self._log)]


class _Words(logging.Handler):
    """Hands records on; the same trouble at most once in ten seconds."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._heard: dict[Any, float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        now, what = time.monotonic(), (record.module, record.lineno)
        if now - self._heard.get(what, -10.0) >= 10.0:
            self._heard[what] = now
            self._log(record.levelname.lower(), record.getMessage())
