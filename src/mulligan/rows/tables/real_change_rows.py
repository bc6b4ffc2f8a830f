"""Rows of what was applied to real resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.trees.real_change import RealChange
from mulligan.rows.columns import PLAIN, SNAPSHOT, Layout, word
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.tables.sandbox_rows import SANDBOX

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId

_CHANGE = Layout(
    RealChange,
    act=word(IntentKind),
    real=SANDBOX,
    before=SNAPSHOT.called("before_snapshot"),
    written=SNAPSHOT.called("written_snapshot"),
    commit=PLAIN.called("commit_id"),
)
_POSITION = "SELECT COUNT(*) AS count FROM real_changes WHERE plan_id = ?"
_LIST = "SELECT * FROM real_changes WHERE plan_id = ? ORDER BY position"
_SNAPSHOTS = "SELECT before_snapshot, written_snapshot FROM real_changes"
_REMOVE = "DELETE FROM real_changes WHERE plan_id = ? AND act = ?"


class RealChangeRepository(RowRepository):
    """Keeps what applying plans did, or is about to do, to the real resources."""

    def add(self, change: RealChange) -> None:
        """Record what is about to be done."""
        position = self._count(_POSITION, (change.real.plan_id,))
        self._insert("real_changes", {**_CHANGE.columns(change), "position": position})

    def list(self, plan_id: PlanId) -> Sequence[RealChange]:
        """Return all of a plan, in the order of its resources."""
        return [_CHANGE.value(row) for row in self._db.rows(_LIST, (plan_id,))]

    def snapshots(self) -> Sequence[Snapshot]:
        """Return all snapshots that they name, of all plans."""
        rows = self._db.rows(_SNAPSHOTS)
        return [
            Snapshot.from_text(row[column])
            for row in rows
            for column in ("before_snapshot", "written_snapshot")
        ]

    def remove(self, plan_id: PlanId, act: IntentKind) -> None:
        """Forget what was taken back, or can no longer be."""
        self._db.execute(_REMOVE, (plan_id, act))
