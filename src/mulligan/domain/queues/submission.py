"""Plans in the queues of a shared project."""

import re
from datetime import datetime

from msgspec import Struct

from mulligan.domain.text.ids import PlanId

DEFAULT_QUEUE = "default"
DEFAULT_SLOTS = 4
TAKEN_TOO_OFTEN = 5  # a plan that ended so many workers is not given to another one
_OF_HOST = "host:"
_LONGEST = 58
_QUEUE = re.compile(rf"({_OF_HOST})?[A-Za-z0-9][A-Za-z0-9._-]{{0,{_LONGEST - 1}}}")


class Submission(Struct, frozen=True, kw_only=True):
    """A plan that was handed to a queue, for a worker to run."""

    plan_id: PlanId
    queue: str
    number: int  # of its newest entry in the queue
    retries: int  # how often it may start again after a failed step
    taken: int  # from how many workers that died
    closed: bool  # no worker is to run it any longer
    submitted_at: datetime

    @property
    def entry(self) -> str:
        """The id of its newest entry in the queue."""
        return entry_of(self.plan_id, self.number)


class Wakeup(Struct, frozen=True, kw_only=True):
    """An entry of a queue: a plan that some worker is to look at."""

    plan_id: PlanId
    number: int
    queue: str

    @property
    def entry(self) -> str:
        """Its id in the queue."""
        return entry_of(self.plan_id, self.number)


class QueueSize(Struct, frozen=True, kw_only=True):
    """The numbers of plans of a queue that run at once."""

    slots: int = DEFAULT_SLOTS  # on each of its workers
    plans: int | None = None  # on all together; None: as many as there are slots


class WorkerLine(Struct, frozen=True, kw_only=True):
    """A worker, as `worker list` shows it."""

    worker: str
    host: str
    pid: int
    queues: tuple[str, ...]
    slots: int  # plans of one queue at once
    plans: tuple[PlanId, ...]  # that it works on
    stopping: bool
    alive: bool
    started_at: datetime


def entry_of(plan_id: PlanId, number: int) -> str:
    """Return the id of an entry."""
    return f"{plan_id}:{number}"


def is_queue(name: str) -> bool:
    """Return whether a word can name a queue."""
    return _QUEUE.fullmatch(name) is not None


def queue_of_host(host: str) -> str:
    """Return the queue of one host: what must run there is sent to it."""
    word = re.sub(r"[^A-Za-z0-9._-]+", "-", host).lstrip("._-")[:_LONGEST]
    return f"{_OF_HOST}{word or '0'}"


def is_of_host(queue: str) -> bool:
    """Return whether a queue is that of one host."""
    return queue.startswith(_OF_HOST)


def pace_of_looks(workers: int) -> float:
    """Return the seconds between two looks of a worker into a queue: all together look 50 times a second at most."""
    return max(0.1, workers / 50)
