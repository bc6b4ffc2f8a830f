"""Keeps queues and rows together: plans of workers that died, plans that no entry names, the limits of queues."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.boundaries import act
from mulligan.domain.queues.submission import QueueSize, Submission, Wakeup, WorkerLine, pace_of_looks
from mulligan.ports import Locks, Workers, WorkQueue
from mulligan.rows.database import Database


class QueueUpkeep(Struct, kw_only=True, frozen=True, eq=False):
    """The work that every worker does for all of them."""

    database: Database
    locks: Locks
    queue: WorkQueue
    workers: Workers

    def take_from_dead(self) -> Sequence[Wakeup]:
        """Let entries of workers that died wake others; return them."""
        held = self.queue.held_by_others()
        taken: list[Wakeup] = []
        for worker in self.workers.dead(list(held)):
            with self.workers.burying(worker) as is_ours:
                if not is_ours:
                    continue
                for entry in self.queue.held_by_others().get(worker, ()):  # as they are now
                    with act("queue.enter"), self.database.writing() as db:
                        db.submissions.take(entry.plan_id, entry.number)
                    self.queue.give_back(entry)
                    taken.append(entry)
        return taken

    def enter_missing(self) -> Sequence[Submission]:
        """Enter plans that are to be run, that nobody holds, and that no live entry names; return them."""
        with self.database.reading() as db:
            found = db.submissions.open()
        live = self.queue.live([each.entry for each in found])
        entered: list[Submission] = []
        for each in found:
            if each.entry in live or self.locks.holder(each.plan_id) is not None:
                continue
            with act("queue.enter"), self.database.writing() as db:
                if db.submissions.enter_again(each.plan_id, each.number):
                    entered.append(each)
        return entered

    def adjust(self, queues: Sequence[str]) -> Sequence[WorkerLine]:
        """Give the queues of this worker the sizes that they are to have; return the workers that are alive."""
        alive = [each for each in self.workers.list() if each.alive]
        sizes = self.workers.sizes()
        wanted = {queue: sizes.get(queue, QueueSize()) for queue in queues}
        self.queue.adjust(wanted, pace_of_looks(len(alive)))
        return alive
