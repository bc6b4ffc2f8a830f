"""Rows of child plans: where they come from, and what they are to be forked from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.subplan import Child, Spawn
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import Layout, json_object, json_text
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.tables.plan_rows import PlanRepository

_SPAWN = Layout(Spawn)
_LIST = "SELECT * FROM spawns WHERE parent_plan_id = ? ORDER BY seq, position"
_BASES_OF = "SELECT bases_json FROM spawns WHERE plan_id = ? AND bases_json IS NOT NULL"
_BASES = "SELECT bases_json FROM spawns WHERE bases_json IS NOT NULL"


class ChildRepository(RowRepository):
    """Rows of the relation between plans and their children."""

    def add(self, plan_id: PlanId, spawn: Spawn, bases: Mapping[str, Snapshot]) -> None:
        """Record where a new plan comes from, and what of its parent it starts with."""
        document = json_text({name: snapshot.to_text() for name, snapshot in bases.items()})
        self._insert("spawns", {**_SPAWN.columns(spawn), "plan_id": plan_id, "bases_json": document})

    def list(self, parent_plan_id: PlanId) -> Sequence[Child]:
        """Return the children of a plan, in the order in which they came; ended ones too."""
        plans = PlanRepository(self._db)
        rows = self._db.rows(_LIST, (parent_plan_id,))
        return [Child(plan=plans.get(PlanId(row["plan_id"])), spawn=_SPAWN.value(row)) for row in rows]

    def move(self, plan_id: PlanId, line: int, seq: int) -> None:
        """Record that the parent, on another line of its history, goes on with this child."""
        self._update("spawns", {"line": line, "seq": seq}, plan_id=plan_id)

    def bases_of(self, plan_id: PlanId) -> Mapping[str, Snapshot]:
        """Return what the child's sandboxes are to be forked from, by resource; empty: they were, or never will be."""
        row = self._db.row(_BASES_OF, (plan_id,))
        return _bases(row["bases_json"]) if row else {}

    def forget_bases(self, plan_id: PlanId) -> None:
        """Record that the child has its sandboxes, or will never have any."""
        self._update("spawns", {"bases_json": None}, plan_id=plan_id)

    def rewrite_bases(self, plan_id: PlanId, bases: Mapping[str, Snapshot]) -> None:
        """Record other snapshots that the child's sandboxes are to be forked from."""
        document = json_text({name: snapshot.to_text() for name, snapshot in bases.items()})
        self._update("spawns", {"bases_json": document}, plan_id=plan_id)

    def bases(self) -> Sequence[Snapshot]:
        """Return the snapshots that children without sandboxes are to be forked from."""
        return [base for row in self._db.rows(_BASES) for base in _bases(row["bases_json"]).values()]


def _bases(text: str) -> dict[str, Snapshot]:
    document = cast("dict[str, str]", json_object(text))
    return {name: Snapshot.from_text(base) for name, base in document.items()}
