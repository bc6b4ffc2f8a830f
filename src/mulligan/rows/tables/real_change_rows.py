"""Rows of what was applied to real resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.trees.real_change import RealChange
from mulligan.rows.columns import texts_json
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.tables.sandbox_rows import sandbox_of

if TYPE_CHECKING:
    from mulligan.domain.text.ids import GroupId, PlanId
    from mulligan.rows.sql_connection import Row

_ADD = """
INSERT INTO real_changes (plan_id, act, resource, position, type, strategy, location, path, base, excluded_json,
    branch, git_dir, before_snapshot, written_snapshot, group_id, commit_id)
VALUES (?, ?, ?, (SELECT COUNT(*) FROM real_changes WHERE plan_id = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LIST = "SELECT * FROM real_changes WHERE plan_id = ? ORDER BY position"
_SNAPSHOTS = "SELECT before_snapshot, written_snapshot FROM real_changes"
_REMOVE = "DELETE FROM real_changes WHERE plan_id = ? AND act = ?"


class RealChangeRepository(RowRepository):
    """Keeps what applying plans did, or is about to do, to the real resources."""

    def add(self, change: RealChange) -> None:
        """Record what is about to be done."""
        real = change.real
        self._db.execute(
            _ADD,
            (
                real.plan_id,
                change.act,
                real.resource,
                real.plan_id,
                real.type,
                real.strategy,
                real.location,
                real.path,
                real.base.to_text(),
                texts_json(real.excluded),
                real.branch,
                real.git_dir,
                change.before.to_text(),
                change.written.to_text(),
                change.group_id,
                change.commit,
            ),
        )

    def list(self, plan_id: PlanId) -> Sequence[RealChange]:
        """All of a plan, in the order of its resources."""
        return [_change(row) for row in self._db.rows(_LIST, (plan_id,))]

    def snapshots(self) -> Sequence[Snapshot]:
        """All snapshots that they name, of all plans."""
        rows = self._db.rows(_SNAPSHOTS)
        return [
            Snapshot.from_text(text)
            for row in rows
            for text in (row["before_snapshot"], row["written_snapshot"])
        ]

    def remove(self, plan_id: PlanId, act: IntentKind) -> None:
        """It was taken back, or can be no more."""
        self._db.execute(_REMOVE, (plan_id, act))


def _change(row: Row) -> RealChange:
    return RealChange(
        act=IntentKind(row["act"]),
        real=sandbox_of(row),
        before=Snapshot.from_text(row["before_snapshot"]),
        written=Snapshot.from_text(row["written_snapshot"]),
        group_id=cast("GroupId | None", row["group_id"]),
        commit=row["commit_id"],
    )
