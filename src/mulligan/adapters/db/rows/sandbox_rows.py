"""Rows of sandboxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.adapters.db.columns import json_texts, texts_json
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import PlanId

if TYPE_CHECKING:
    from mulligan.adapters.db.connection import Connection, Row

_ADD_SANDBOX = """
INSERT INTO sandboxes (plan_id, resource, position, type, strategy, location, path, base,
    excluded_json, branch, git_dir)
VALUES (?, ?, (SELECT COUNT(*) FROM sandboxes WHERE plan_id = ?), ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SANDBOXES = "SELECT * FROM sandboxes WHERE plan_id = ? ORDER BY position"
_ALL_SANDBOXES = "SELECT * FROM sandboxes ORDER BY plan_id, position"
_REMOVE_SANDBOX = "DELETE FROM sandboxes WHERE plan_id = ? AND resource = ?"


class SqlSandboxRepository:
    """Keeps which sandboxes there are."""

    def __init__(self, connection: Connection) -> None:
        """Work inside the connection's open transaction."""
        self._db = connection

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

    def remove(self, plan_id: PlanId, resource: str) -> None:
        """The sandbox is no more."""
        self._db.execute(_REMOVE_SANDBOX, (plan_id, resource))


def sandbox_of(row: Row) -> Sandbox:
    """The sandbox that a row tells of."""
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
