"""Checkpoints for front doors, read in one consistent view.

The fields are named as in the JSON output.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.application.queries.listing import Listing

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, FoundCheckpoint
    from mulligan.domain.plans.trigger import CheckpointType
    from mulligan.domain.text.ids import CheckpointId, DecisionId, GroupId, PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.database import Database


class CheckpointView(Struct, frozen=True, kw_only=True):
    """One checkpoint, with the facts of its group."""

    checkpoint_id: CheckpointId
    group_id: GroupId
    number: int
    seq: int
    plan_id: PlanId
    decision_id: DecisionId | None
    resource: str
    checkpoint_type: CheckpointType
    label: str | None
    step_index: int
    state_hash: str
    sandbox_ref: str
    filesystem_path: str
    size_bytes: int
    modified: bool
    created_at: datetime
    parent_group_id: GroupId | None
    superseded: bool
    metadata: JsonObject


class CheckpointQueries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads checkpoints; never waits for a running plan."""

    database: Database

    def list(self, plan_id: PlanId, *, superseded: bool, limit: int | None) -> Listing[CheckpointView]:
        """Return the plan's checkpoints, newest last, of at most the newest `limit` groups."""
        with self.database.reading() as db:
            groups = db.checkpoints.list(plan_id, superseded=superseded, limit=limit)
            older = 0 if limit is None else db.checkpoints.count(plan_id, superseded=superseded) - len(groups)
        return Listing((view for group in groups for view in views_of(group)), older=older)

    def find(self, word: str) -> FoundCheckpoint:
        """Find the checkpoint or group that a word means; `first` and `latest` are of the newest plan."""
        with self.database.reading() as db:
            plan_id = db.plans.resolve("latest").plan_id if word in ("first", "latest") else None
            return db.checkpoints.resolve(word, plan_id)

    def newest(self, plan_id: PlanId) -> GroupId:
        """Return the newest live group of a plan; refuse where there is none."""
        with self.database.reading() as db:
            return db.checkpoints.resolve("latest", plan_id).group.group_id


def views_of(group: CheckpointGroup) -> list[CheckpointView]:
    """Return the views of a group's checkpoints."""
    return [
        CheckpointView(
            checkpoint_id=checkpoint.checkpoint_id,
            group_id=group.group_id,
            number=group.number,
            seq=group.seq,
            plan_id=group.plan_id,
            decision_id=group.reason.decision_id,
            resource=checkpoint.resource,
            checkpoint_type=group.reason.type,
            label=group.reason.label,
            step_index=group.step_index,
            state_hash=group.state_hash,
            sandbox_ref=checkpoint.sandbox_ref,
            filesystem_path=checkpoint.filesystem_path,
            size_bytes=checkpoint.size_bytes,
            modified=checkpoint.modified,
            created_at=group.created_at,
            parent_group_id=group.parent_group_id,
            superseded=group.superseded,
            metadata=group.reason.metadata,
        )
        for checkpoint in group.checkpoints
    ]
