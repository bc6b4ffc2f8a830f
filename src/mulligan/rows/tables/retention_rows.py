"""The groups that retention considers: few of them, however many a plan has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.domain.text.ids import GroupId, PlanId

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.retention import GroupSummary
    from mulligan.rows.sql_connection import Row, SqlConnection

_SUMMARY = (
    "SELECT seq, group_id, attempt, superseded, label, between_steps FROM checkpoint_groups WHERE plan_id = ?"
)
_SUMMARIES = f"{_SUMMARY} ORDER BY seq"
_OUTSTANDING = (  # spared by retention because of its position
    f"{_SUMMARY} ORDER BY seq LIMIT 1",
    f"{_SUMMARY} ORDER BY seq DESC LIMIT 1",
    f"{_SUMMARY} AND superseded = 0 AND between_steps = 1 ORDER BY seq DESC LIMIT 1",
)
_LAST_OF_ATTEMPT = f"{_SUMMARY} AND attempt = ? ORDER BY seq DESC LIMIT 1"
_EXPENDABLE = (  # in the order in which retention lets go
    f"{_SUMMARY} AND superseded = 1 AND label IS NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 0 AND label IS NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 1 AND label IS NOT NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 0 AND label IS NOT NULL ORDER BY seq LIMIT ?",
)


def summaries(connection: SqlConnection, plan_id: PlanId) -> Sequence[GroupSummary]:
    """Return summaries of all groups, oldest first."""
    return [_summary(row) for row in connection.rows(_SUMMARIES, (plan_id,))]


def expendable(
    connection: SqlConnection, plan_id: PlanId, attempts: int, count: int
) -> Sequence[GroupSummary]:
    """As many groups as pruning `count` of them must look at, oldest first."""
    spared = [row for statement in _OUTSTANDING for row in connection.rows(statement, (plan_id,))]
    for attempt in range(1, attempts + 1):
        spared += connection.rows(_LAST_OF_ATTEMPT, (plan_id, attempt))
    found = {row["seq"]: row for row in spared}
    missing = count + len(found)
    for statement in _EXPENDABLE:
        rows = connection.rows(statement, (plan_id, missing))
        found |= {row["seq"]: row for row in rows}
        missing -= len(rows)
        if missing <= 0:
            break
    return [_summary(found[seq]) for seq in sorted(found)]


def _summary(row: Row) -> GroupSummary:
    from mulligan.domain.checkpoints.retention import GroupSummary

    return GroupSummary(
        group_id=GroupId(row["group_id"]),
        attempt=row["attempt"],
        superseded=bool(row["superseded"]),
        labelled=row["label"] is not None,
        between_steps=bool(row["between_steps"]),
    )
