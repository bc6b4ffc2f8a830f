"""Child plans of a plan that a worker runs: on any worker, or beside their parent where none takes them soon.

A parent that waits keeps its slot. Where all slots are taken by parents, they run their children themselves.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

from msgspec import Struct

from mulligan.application.plans.guards import open_question
from mulligan.application.queues.passing_errors import may_pass
from mulligan.boundaries import act
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.queues.submission import DEFAULT_QUEUE, Submission
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ChildFailed, Interrupted, MulliganError, PlanBusy, PlanTakenOver, SubplanConflicts
from mulligan.ports import Clock, Ended, LocalCrew, LocalEngine, Locks, Observer, StopRequest
from mulligan.rows.database import Database

_UNCLAIMED = 2.0  # seconds after which the parent runs a child that no worker has taken
_LOST = 6.0  # the same for one whose worker is gone: others have noticed that by then
_PACE = 0.2


class _Child(Struct):
    """A child that another worker is to run."""

    retries: int
    since: float  # when it was last known to be waited for, or held
    patience: float = _UNCLAIMED
    stopped: bool = False


class SharedEngine(Struct, kw_only=True, frozen=True, eq=False):
    """Runs children on any worker."""

    database: Database
    locks: Locks
    local_engine: LocalEngine
    stop: StopRequest
    clock: Clock

    @contextmanager
    def crew(self, observer: Observer) -> Generator["SharedCrew"]:
        """Have children run until the block ends, here or elsewhere."""
        here = self.local_engine.begin(observer)
        crew = SharedCrew(self, here)
        try:
            yield crew
        except PlanTakenOver:
            raise  # the children are those of another process now
        except BaseException:
            if not self.stop.is_ending:  # else they go on, and another worker waits for them
                crew.stop()
            raise
        finally:
            here.disband()


class SharedCrew:
    """Children of one step."""

    def __init__(self, engine: SharedEngine, here: LocalCrew) -> None:
        self._engine = engine
        self._here = here
        self._children: dict[PlanId, _Child] = {}
        self._looked = 0.0
        self._retries: dict[PlanId, int] = {}

    def start(self, plan_id: PlanId, *, retries: int) -> None:
        """Hand a child to the queue of its parent, unless it waits or runs there since an earlier run of the step."""
        self._children[plan_id] = _Child(retries, time.monotonic())
        self._retries[plan_id] = retries
        with act("queue.enter"), self._engine.database.writing() as db:
            parent = db.plans.get(plan_id).parent_plan_id
            above, found = db.submissions.find(parent or plan_id), db.submissions.find(plan_id)
            if found is None or found.closed:
                queue = above.queue if above is not None else DEFAULT_QUEUE
                db.submissions.submit(plan_id, queue, retries, self._engine.clock.now())

    def next_ended(self) -> Ended:
        """Wait until one has ended, wherever it runs."""
        while True:
            ended = self._here.ended_soon()
            if ended is not None and isinstance(ended.error, PlanBusy):
                self._children[ended.plan_id] = _Child(0, time.monotonic(), _LOST)  # a worker was faster
            elif ended is not None and may_pass(ended.error):
                self.start(ended.plan_id, retries=self._retries[ended.plan_id])
            elif ended is not None:
                return ended
            elif (found := self._ended_elsewhere()) is not None:
                return found

    def stop(self) -> None:
        """Ask all to stop, wherever they run."""
        self._here.stop()
        for plan_id, child in self._children.items():
            child.stopped = True
            self._withdraw(plan_id)
            with suppress(PlanBusy):  # it stops later: its worker knows
                self._engine.locks.ask_to_stop(plan_id)

    def _ended_elsewhere(self) -> Ended | None:
        if time.monotonic() - self._looked < _PACE:
            return None
        self._looked = time.monotonic()
        for plan_id, child in list(self._children.items()):
            is_held = self._engine.locks.holder(plan_id) is not None  # first: what it committed is seen then
            with self._engine.database.reading() as db:
                plan, submission = db.plans.get(plan_id), db.submissions.find(plan_id)
            if is_held:
                child.since, child.patience = time.monotonic(), _LOST
            elif (ended := _end_of(plan, submission, child)) is not None:
                del self._children[plan_id]
                return ended
            elif time.monotonic() - child.since > child.patience:
                del self._children[plan_id]
                self._withdraw(plan_id)
                self._here.start(plan_id, retries=submission.retries if submission else child.retries)
        return None

    def _withdraw(self, plan_id: PlanId) -> None:
        with act("queue.enter"), self._engine.database.writing() as db:
            if (found := db.submissions.find(plan_id)) is not None:
                db.submissions.close(plan_id, found.number)


def _end_of(plan: Plan, submission: Submission | None, child: _Child) -> Ended | None:
    """Return how a child ended that nobody holds; None: it has not."""
    error: MulliganError | None = None
    if plan.is_executed:
        return Ended(plan_id=plan.plan_id, error=None, messages=plan.messages)
    is_over = submission is None or submission.closed
    if plan.state is State.CONSTRAINED and plan.question is not None:
        error = open_question(plan, plan.question)
    elif plan.state is State.CONSTRAINED:
        count, conflicts = len(plan.conflicts), [each.to_json() for each in plan.conflicts]
        error = SubplanConflicts(plan_id=plan.plan_id, child="", step="", count=count, conflicts=conflicts)
    elif plan.state is State.CANCELLED or (child.stopped and is_over):
        error = Interrupted(plan_id=plan.plan_id)
    elif plan.state is State.ERRORED and is_over:
        reason = plan.failure.message if plan.failure is not None else "it failed"
        error = ChildFailed(plan_id=plan.plan_id, reason=reason)
    return Ended(plan_id=plan.plan_id, error=error, messages=plan.messages) if error is not None else None
