"""The places of graphs: the groups of plans that hold their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.graphs.graph_state import GraphPosition
from mulligan.rows.graphs.kept_words import kept_word, word_kept
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.domain.text.ids import GroupId, PlanId
    from mulligan.rows.sql_connection import Row

_OF_THREAD = "SELECT * FROM graph_positions WHERE plan_id = ? AND thread = ?"
_FORGET = "DELETE FROM graph_positions WHERE plan_id = ? AND thread = ?"
_GROUPS = "SELECT group_id, earlier_group, resting_group FROM graph_positions WHERE plan_id = ?"
_OF_ALL_PLANS = "SELECT * FROM graph_positions WHERE thread = ?"
_FORGET_THREAD = "DELETE FROM graph_positions WHERE thread = ?"


class GraphPositionRepository(RowRepository):
    """Keeps the newest checkpoint of each graph whose files a plan holds."""

    def move(self, plan_id: PlanId, thread: str, checkpoint_id: str, group_id: GroupId) -> None:
        """Record that a graph is at a checkpoint whose files a group holds."""
        before = self._db.row(_OF_THREAD, (plan_id, kept_word(thread)))
        self._db.execute(_FORGET, (plan_id, kept_word(thread)))
        self._insert(
            "graph_positions",
            {
                "plan_id": plan_id,
                "thread": kept_word(thread),
                "checkpoint_id": kept_word(checkpoint_id),
                "group_id": group_id,
                "earlier_group": before["group_id"] if before else None,
                "resting_group": None,
                "inside": 0,
            },
        )

    def note_inside(self, plan_id: PlanId, thread: str) -> None:
        """Record that graphs within a graph have moved on since its newest checkpoint."""
        self._update("graph_positions", {"inside": 1}, plan_id=plan_id, thread=kept_word(thread))

    def rest(self, plan_id: PlanId, thread: str, group_id: GroupId | None) -> None:
        """Record the group that holds what tasks did since the newest checkpoint, or that they went on."""
        self._update(
            "graph_positions", {"resting_group": group_id}, plan_id=plan_id, thread=kept_word(thread)
        )

    def copy(self, source: str, target: str) -> None:
        """Let plans hold the files of a graph for another one too, in the place of those that it had."""
        self.forget(target)
        for row in self._db.rows(_OF_ALL_PLANS, (kept_word(source),)):
            position = _position(row)
            self.move(position.plan_id, target, position.checkpoint_id, position.group_id)

    def of_thread(self, plan_id: PlanId, thread: str) -> GraphPosition | None:
        """Return where a graph is; None: the plan holds no files of it."""
        row = self._db.row(_OF_THREAD, (plan_id, kept_word(thread)))
        return _position(row) if row else None

    def groups(self, plan_id: PlanId) -> Sequence[GroupId]:
        """Return the groups that graphs go on from."""
        rows = self._db.rows(_GROUPS, (plan_id,))
        names = ("group_id", "earlier_group", "resting_group")
        return [row[name] for row in rows for name in names if row[name] is not None]

    def forget(self, thread: str) -> None:
        """Let go of the files of a graph, in all plans."""
        self._db.execute(_FORGET_THREAD, (kept_word(thread),))


def _position(row: Row) -> GraphPosition:
    return GraphPosition(
        plan_id=row["plan_id"],
        thread=word_kept(row["thread"]),
        checkpoint_id=word_kept(row["checkpoint_id"]),
        group_id=row["group_id"],
        resting_group=row["resting_group"],
        inside=bool(row["inside"]),
    )
