"""Rows of sandboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.rows.columns import json_texts, texts_json
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row

_ADD_SANDBOX = """
INSERT INTO sandboxes (plan_id, resource, position, type, strategy, location, path, base,
    excluded_json, branch, git_dir)
VALUES (?, ?, (SELECT COUNT(*) FROM sandboxes WHERE plan_id = ?), ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SANDBOXES = "SELECT * FROM sandboxes WHERE plan_id = ? ORDER BY position"
_ALL_SANDBOXES = "SELECT * FROM sandboxes ORDER BY plan_id, position"
_AT_WORK_IN_PLACE = """
SELECT sandboxes.plan_id, sandboxes.path FROM sandboxes JOIN plans ON plans.plan_id = sandboxes.plan_id
WHERE sandboxes.strategy = 'in_place' AND plans.state NOT IN ('applied', 'cancelled') ORDER BY sandboxes.plan_id
"""
_REMOVE_SANDBOX = "DELETE FROM sandboxes WHERE plan_id = ? AND resource = ?"


class SandboxRepository(RowRepository):
    """Keeps which sandboxes there are."""

    def add(self, sandbox: Sandbox) -> None:
        """Record a sandbox that was made."""
        self._db.execute(
            _ADD_SANDBOX,
            (
                sandbox.plan_id,
                sandbox.resource,
                sandbox.plan_id,
                sandbox.type,
                sandbox.strategy,
                sandbox.location,
                sandbox.path,
                sandbox.base.to_text(),
                texts_json(sandbox.excluded),
                sandbox.branch,
                sandbox.git_dir,
            ),
        )

    def list(self, plan_id: PlanId) -> Sequence[Sandbox]:
        """The plan's sandboxes, in the order of its resources."""
        return [sandbox_of(row) for row in self._db.rows(_SANDBOXES, (plan_id,))]

    def all(self) -> Sequence[Sandbox]:
        """The sandboxes of all plans."""
        return [sandbox_of(row) for row in self._db.rows(_ALL_SANDBOXES)]

    def at_work_in_place(self) -> Sequence[tuple[PlanId, str]]:
        """Return what plans that have not ended work on in place: each plan with a path.

        Other projects ask this of databases of any version: the statement names few columns, none of them new.
        """
        return [(PlanId(row["plan_id"]), str(row["path"])) for row in self._db.rows(_AT_WORK_IN_PLACE)]

    def remove(self, plan_id: PlanId, resource: str) -> None:
        """The sandbox is no more."""
        self._db.execute(_REMOVE_SANDBOX, (plan_id, resource))


def sandbox_of(row: Row) -> Sandbox:
    """Return the sandbox of a row."""
    return Sandbox(
        plan_id=PlanId(row["plan_id"]),
        resource=row["resource"],
        type=ResourceType(row["type"]),
        strategy=Strategy(row["strategy"]),
        location=row["location"],
        path=row["path"],
        base=Snapshot.from_text(row["base"]),
        excluded=json_texts(row["excluded_json"]),
        branch=row["branch"],
        git_dir=row["git_dir"],
    )
