"""Rows of what was applied to real resources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.trees.real_change import RealChange
from mulligan.rows.columns import PLAIN, SNAPSHOT, TEXTS, Format, Layout, word
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.tables.sandbox_rows import SANDBOX

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId


def _snapshot_text(snapshot: Snapshot | None) -> str | None:
    return snapshot.to_text() if snapshot else None


def _snapshot(text: str | None) -> Snapshot | None:
    return Snapshot.from_text(text) if text else None


_CHANGE = Layout(
    RealChange,
    act=word(IntentKind),
    real=SANDBOX,
    before=SNAPSHOT.called("before_snapshot"),
    written=SNAPSHOT.called("written_snapshot"),
    commit=PLAIN.called("commit_id"),
    theirs=Format(_snapshot_text, _snapshot).called("theirs_snapshot"),
    moving=TEXTS,
)
_POSITION = "SELECT COUNT(*) AS count FROM real_changes WHERE plan_id = ?"
_LIST = "SELECT * FROM real_changes WHERE plan_id = ? ORDER BY position"
_SNAPSHOTS = "SELECT base, before_snapshot, written_snapshot, theirs_snapshot FROM real_changes"
_REMOVE = "DELETE FROM real_changes WHERE plan_id = ? AND act = ?"


class RealChangeRepository(RowRepository):
    """Keeps what applying plans did, or is about to do, to the real resources."""

    def add(self, change: RealChange) -> None:
        """Record what is about to be done."""
        position = self._count(_POSITION, (change.real.plan_id,))
        kept = replace(change, real=self._places.kept_sandbox(change.real))
        self._insert("real_changes", {**_CHANGE.columns(kept), "position": position})

    def list(self, plan_id: PlanId) -> Sequence[RealChange]:
        """Return all of a plan, in the order of its resources."""
        changes = map(_CHANGE.value, self._db.rows(_LIST, (plan_id,)))
        return [replace(change, real=self._places.whole_sandbox(change.real)) for change in changes]

    def snapshots(self) -> Sequence[Snapshot]:
        """Return all snapshots that they name, of all plans."""
        rows = self._db.rows(_SNAPSHOTS)
        return [
            Snapshot.from_text(row[column])
            for row in rows
            for column in ("base", "before_snapshot", "written_snapshot", "theirs_snapshot")
            if row[column]
        ]

    def rewrite(self, change: RealChange) -> None:
        """Record other snapshots of a change, and other paths that its resource leaves out."""
        columns = _CHANGE.columns(change)
        names = ("base", "excluded_json", "before_snapshot", "written_snapshot", "theirs_snapshot")
        key = {name: columns[name] for name in ("plan_id", "act", "resource")}
        self._update("real_changes", {name: columns[name] for name in names}, **key)

    def remove(self, plan_id: PlanId, act: IntentKind) -> None:
        """Forget what was taken back, or can no longer be."""
        self._db.execute(_REMOVE, (plan_id, act))
