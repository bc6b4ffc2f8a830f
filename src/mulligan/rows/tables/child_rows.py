"""Rows of child plans: where they come from, and what they are to be forked from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.subplan import Child, Spawn
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import json_object, json_text
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.tables.plan_rows import PlanRepository

_ADD = """
INSERT INTO spawns (plan_id, parent_plan_id, step_index, number, position, line, seq, bases_json)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_LIST = "SELECT * FROM spawns WHERE parent_plan_id = ? ORDER BY seq, position"
_MOVE = "UPDATE spawns SET line = ?, seq = ? WHERE plan_id = ?"
_BASES_OF = "SELECT bases_json FROM spawns WHERE plan_id = ?"
_FORGET_BASES = "UPDATE spawns SET bases_json = NULL WHERE plan_id = ?"
_BASES = "SELECT bases_json FROM spawns WHERE bases_json IS NOT NULL"


class ChildRepository(RowRepository):
    """Rows of the relation between plans and their children."""

    def add(self, plan_id: PlanId, spawn: Spawn, bases: Mapping[str, Snapshot]) -> None:
        """Record where a new plan comes from, and what of its parent it starts with."""
        self._db.execute(
            _ADD,
            (
                plan_id,
                spawn.parent_plan_id,
                spawn.step_index,
                spawn.number,
                spawn.position,
                spawn.line,
                spawn.seq,
                json_text({name: snapshot.to_text() for name, snapshot in bases.items()}),
            ),
        )

    def list(self, parent_plan_id: PlanId) -> Sequence[Child]:
        """Return the children of a plan, in the order in which they came; ended ones too."""
        plans = PlanRepository(self._db)
        return [
            Child(
                plan=plans.get(PlanId(row["plan_id"])),
                spawn=Spawn(
                    parent_plan_id=parent_plan_id,
                    step_index=row["step_index"],
                    number=row["number"],
                    position=row["position"],
                    line=row["line"],
                    seq=row["seq"],
                ),
            )
            for row in self._db.rows(_LIST, (parent_plan_id,))
        ]

    def move(self, plan_id: PlanId, line: int, seq: int) -> None:
        """Record that the parent, on another line of its history, goes on with this child."""
        self._db.execute(_MOVE, (line, seq, plan_id))

    def bases_of(self, plan_id: PlanId) -> Mapping[str, Snapshot]:
        """Return what the child's sandboxes are to be forked from, by resource; empty: they were, or never will be."""
        row = self._db.row(_BASES_OF, (plan_id,))
        return _bases(row["bases_json"]) if row is not None and row["bases_json"] is not None else {}

    def forget_bases(self, plan_id: PlanId) -> None:
        """The child has its sandboxes, or will never have any."""
        self._db.execute(_FORGET_BASES, (plan_id,))

    def bases(self) -> Sequence[Snapshot]:
        """Return the snapshots that children without sandboxes are to be forked from."""
        return [base for row in self._db.rows(_BASES) for base in _bases(row["bases_json"]).values()]


def _bases(text: str) -> dict[str, Snapshot]:
    document = cast("dict[str, str]", json_object(text))
    return {name: Snapshot.from_text(base) for name, base in document.items()}
