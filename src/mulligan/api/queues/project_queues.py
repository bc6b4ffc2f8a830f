"""Queues of a shared project: plans are handed over, and workers run them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.api.project_upkeep import ProjectUpkeep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.adapters.telemetry.work_spans import WorkSpans
    from mulligan.api.queues.queue_worker import QueueWorker
    from mulligan.application.queues.worker_service import WorkerLog
    from mulligan.domain.queues.submission import QueueSize, Submission, WorkerLine


class ProjectQueues(ProjectUpkeep):
    """The operations of `Project` on queues and workers."""

    def submit(self, plan: str | Path, *, queue: str = "default", retries: int = 0) -> Submission:
        """Hand a plan file, or a recorded plan, to a queue, where any worker takes it.

        It starts again from its first checkpoint after a failed step, as often as `retries` says.
        """
        from mulligan.api.operations.plan_files import names_a_file, read_definition

        _refuse_strange(queue)
        services = self._services
        if not self.is_shared:
            raise errors.ProjectNotShared(database=str(self.database))
        if names_a_file(plan):
            definition = read_definition(services, Path(plan))
            return services.submissions.submit_new(definition, queue, retries)
        return services.submissions.submit(services.queries.plan_id(str(plan)), queue, retries)

    def worker(
        self, *, queues: Sequence[str] = ("default",), slots: int | None = None, log: WorkerLog
    ) -> QueueWorker:
        """Return a worker, which is yet to be started, for these queues and the one of this host.

        It runs as many plans of each queue at once as that has slots; `slots` sets them for all its workers.
        """
        from mulligan.api.queues.queue_worker import QueueWorker

        for queue in queues:
            _refuse_strange(queue)
        return QueueWorker(self._services.adapters, queues, slots, log)

    @property
    def host_name(self) -> str:
        """The name of this machine among those of the project."""
        return self._services.adapters.host.name

    def worker_spans(self) -> WorkSpans:
        """Return an object that reports runs and steps to OpenTelemetry, where that is installed and asked for."""
        from mulligan.adapters.telemetry.work_spans import work_spans

        return work_spans(self._services.adapters.around.environ)

    def workers(self) -> Sequence[WorkerLine]:
        """Return the workers, with what they work on."""
        from mulligan.wiring.workers.worker_wiring import registry_of

        registry = registry_of(self._services.adapters)
        try:
            return registry.list()
        finally:
            registry.close()

    def limit_queue(self, queue: str, plans: int | None) -> QueueSize:
        """Limit how many plans of a queue run at once on all its workers together; None: no longer."""
        from mulligan.wiring.workers.worker_wiring import registry_of

        _refuse_strange(queue)
        registry = registry_of(self._services.adapters)
        try:
            registry.limit(queue, plans)
            return registry.sizes()[queue]
        finally:
            registry.close()


def _refuse_strange(queue: str) -> None:
    from mulligan.domain.queues.submission import is_queue  # here: a look at a plan names no queue

    if not is_queue(queue):
        raise errors.UsageWrong(
            reason=f"{queue!r} cannot name a queue",
            hint="use letters, digits, `.`, `_` and `-`, or `host:NAME` for the queue of a host",
        )
