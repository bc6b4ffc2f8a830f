"""Runs a plan that a queue woke this worker for, until it is over or another worker is to go on."""

import time
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.queues.passing_errors import may_pass
from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.plan_executor import PlanExecutor
from mulligan.application.runs.run_stages import RunStages
from mulligan.boundaries import act
from mulligan.domain.plans.plan import Phase, Plan, PlanFailure, State
from mulligan.domain.queues.submission import TAKEN_TOO_OFTEN, Submission
from mulligan.domain.text.ids import PlanId
from mulligan.errors import (
    Conflicted,
    Interrupted,
    MulliganError,
    NotFound,
    PlanAlreadyApplied,
    PlanAlreadyComplete,
    PlanBusy,
    PlanCancelled,
    PlanTakenOver,
    QuestionOpen,
    StepFailed,
)
from mulligan.ports import Clock, Locks, Observer, StopRequest
from mulligan.rows.database import Database

_OVER = (PlanAlreadyApplied, PlanAlreadyComplete, PlanCancelled, NotFound, Conflicted, QuestionOpen)
_PAUSE = 1.0  # seconds before a plan that met such an error is entered again


class Outcome(StrEnum):
    """The end of an entry of a queue."""

    OVER = "over"  # the plan ended, failed for good, or waits for someone
    HANDED_BACK = "handed back"  # another entry has taken its place
    LEFT = "left"  # someone else works on the plan, or nobody may; a worker that reads the rows sees to it


class QueuedRuns(Struct, kw_only=True, frozen=True, eq=False):
    """One run of a plan by a worker."""

    database: Database
    claims: PlanClaims
    locks: Locks
    executor: PlanExecutor
    rollbacks: RollbackService
    stages: RunStages
    stop: StopRequest
    clock: Clock

    def run(self, plan_id: PlanId, number: int, observer: Observer, begun: Callable[[Plan], None]) -> Outcome:
        """Run the plan on, with the retries that it has left; `begun` is called where there is something to do."""
        with self.database.reading() as db:
            submission = db.submissions.find(plan_id)
            plan = db.plans.get(plan_id) if submission is not None else None
        if submission is None or plan is None or submission.closed or submission.number != number:
            return Outcome.OVER
        if self.stop.is_ending:
            return self._hand_back(submission)
        if self.locks.holder(plan_id) is not None:
            return Outcome.LEFT
        begun(plan)
        try:
            if submission.taken >= TAKEN_TOO_OFTEN:
                reason = f"it was taken from {submission.taken} workers"
                return self._fail(submission, reason, observer)
            return self._run(submission, observer)
        except KeyboardInterrupt:
            return self._hand_back(submission)

    def _run(self, submission: Submission, observer: Observer) -> Outcome:
        plan_id = submission.plan_id
        while True:
            try:
                error = self.executor.execute(plan_id, None, observer).error
            except Interrupted as exc:
                return Outcome.LEFT if exc.facts.get("cancelled") else self._hand_back(submission)
            except (PlanBusy, PlanTakenOver):
                return Outcome.LEFT
            except _OVER:
                return self._close(submission)
            except MulliganError as exc:
                if may_pass(exc):
                    return self._hand_back(submission, _PAUSE)
                return self._fail(submission, exc.text, observer)
            if error is None or isinstance(error, Conflicted):
                return Outcome.OVER  # its end closed the submission, or its conflict did
            if may_pass(error):
                return self._hand_back(submission, _PAUSE)
            if not (isinstance(error, StepFailed) and self._may_retry(plan_id)):
                return self._close(submission)
            self.rollbacks.rollback(plan_id, "first", observer)

    def _may_retry(self, plan_id: PlanId) -> bool:
        with act("queue.enter"), self.database.writing() as db:
            return db.submissions.retry(plan_id)

    def _hand_back(self, submission: Submission, pause: float = 0.0) -> Outcome:
        """Let another worker go on, or this one later."""
        time.sleep(pause)
        with act("queue.enter"), self.database.writing() as db:
            db.submissions.enter_again(submission.plan_id, submission.number)
        return Outcome.HANDED_BACK

    def _close(self, submission: Submission) -> Outcome:
        with act("queue.enter"), self.database.writing() as db:
            db.submissions.close(submission.plan_id, submission.number)
        return Outcome.OVER

    def _fail(self, submission: Submission, reason: str, observer: Observer) -> Outcome:
        """Record that no worker runs the plan, and why; it can be resumed, or submitted again."""
        with self.claims.open(submission.plan_id, observer) as run:
            if run.plan.phase is Phase.STRATEGIZE:
                run.record(run.plan.moved_to(Phase.EXECUTE, State.QUEUED, self.clock.now()))
            failure = PlanFailure(message=reason, step=None, tool=None, checkpoint=None)
            self.stages.stop(run, State.ERRORED, failure)
        return self._close(submission)
