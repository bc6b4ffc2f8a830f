"""Rows of plans that were handed to a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.queues.submission import Submission
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import FLAG, TIME, Layout, time_text
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

_SUBMISSION = Layout(Submission, closed=FLAG, submitted_at=TIME)
_GET = "SELECT * FROM submissions WHERE plan_id = ?"
_OPEN = "SELECT * FROM submissions WHERE closed = 0 ORDER BY submitted_at, plan_id"
_SUBMIT = """
INSERT INTO submissions (plan_id, queue, number, retries, taken, closed, submitted_at) VALUES (?, ?, 1, ?, 0, 0, ?)
ON CONFLICT (plan_id) DO UPDATE SET queue = excluded.queue, number = submissions.number + 1,
    retries = excluded.retries, taken = 0, closed = 0, submitted_at = excluded.submitted_at
"""
_ENTER_AGAIN = """
UPDATE submissions SET number = number + 1 WHERE plan_id = ? AND number = ? AND closed = 0 RETURNING number
"""
_TAKE = "UPDATE submissions SET taken = taken + 1 WHERE plan_id = ? AND number = ? AND closed = 0"
_RETRY = "UPDATE submissions SET retries = retries - 1 WHERE plan_id = ? AND retries > 0 RETURNING retries"
_CLOSE = "UPDATE submissions SET closed = 1 WHERE plan_id = ? AND number = ?"


class SubmissionRepository(RowRepository):
    """Keeps what was handed to queues, and enters it there in the same transaction."""

    def submit(self, plan_id: PlanId, queue: str, retries: int, at: datetime) -> Submission:
        """Hand a plan to a queue, whatever queue had it before."""
        self._db.execute(_SUBMIT, (plan_id, queue, retries, time_text(at)))
        return self._entered(plan_id)

    def enter_again(self, plan_id: PlanId, number: int) -> bool:
        """Enter a plan again in the place of that entry; return False where another one did, or it is over."""
        if self._db.row(_ENTER_AGAIN, (plan_id, number)) is None:
            return False
        self._entered(plan_id)
        return True

    def take(self, plan_id: PlanId, number: int) -> None:
        """Note that the plan was taken from a worker that died."""
        self._db.execute(_TAKE, (plan_id, number))

    def retry(self, plan_id: PlanId) -> bool:
        """Use one of the retries that are left; return False where none is."""
        return self._db.row(_RETRY, (plan_id,)) is not None

    def close(self, plan_id: PlanId, number: int) -> None:
        """Record that no worker is to run the plan; one that was handed over again since stays."""
        self._db.execute(_CLOSE, (plan_id, number))

    def find(self, plan_id: PlanId) -> Submission | None:
        """Return the submission of a plan; None: it was never handed to a queue."""
        row = self._db.row(_GET, (plan_id,))
        return _SUBMISSION.value(row) if row else None

    def open(self) -> Sequence[Submission]:
        """Return all that a worker is to run or runs."""
        return [_SUBMISSION.value(row) for row in self._db.rows(_OPEN)]

    def _entered(self, plan_id: PlanId) -> Submission:
        found = self.find(plan_id)
        assert found is not None
        self._db.wake(found.queue, found.entry, plan_id, found.number)
        return found
