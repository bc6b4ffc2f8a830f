"""Rows of checkpoint groups and their checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from mulligan.domain.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointGroup,
    FoundCheckpoint,
    GroupOutline,
    Reason,
)
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, DecisionId, GroupId, PlanId, as_id_prefix
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Advice, Ambiguous, CheckpointNotFound, NextStep
from mulligan.rows.columns import ALL, is_text, json_object, json_text, time_text, time_value
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.state_document import state_from_text, state_to_text
from mulligan.rows.tables.retention_rows import expendable, summaries

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.retention import GroupSummary
    from mulligan.rows.sql_connection import Row

_ADD_GROUP = """
INSERT INTO checkpoint_groups (
    group_id, plan_id, seq, line, attempt, checkpoint_type, label, between_steps, decision_id, parent_group_id,
    superseded, step_index, state_json, state_hash, metadata_json, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_CHECKPOINT = """
INSERT INTO checkpoints (
    checkpoint_id, group_id, position, seq, plan_id, decision_id, resource, checkpoint_type, label, step_index,
    state_hash, sandbox_ref, snapshot, filesystem_path, size_bytes, modified, created_at, parent_group_id,
    superseded, metadata_json
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_GROUP = "SELECT * FROM checkpoint_groups WHERE group_id = ?"
_CHECKPOINTS_OF = "SELECT * FROM checkpoints WHERE group_id = ? ORDER BY position"
_GROUPS = "SELECT * FROM checkpoint_groups WHERE plan_id = ? ORDER BY seq DESC LIMIT ?"
_LIVE_GROUPS = """
SELECT * FROM checkpoint_groups WHERE plan_id = ? AND superseded = 0 ORDER BY seq DESC LIMIT ?
"""
_OUTLINES = """
SELECT group_id, seq, checkpoint_type, label, step_index, parent_group_id, superseded, created_at
FROM checkpoint_groups WHERE plan_id = ? ORDER BY seq DESC LIMIT ?
"""
_CHECKPOINTS_SINCE = "SELECT * FROM checkpoints WHERE plan_id = ? AND seq >= ? ORDER BY seq, position"
_IDS = "SELECT checkpoint_id FROM checkpoints WHERE plan_id = ?"
_COUNT = "SELECT COUNT(*) AS count FROM checkpoint_groups WHERE plan_id = ?"
_COUNT_LIVE = "SELECT COUNT(*) AS count FROM checkpoint_groups WHERE plan_id = ? AND superseded = 0"
_FIRST = """
SELECT group_id FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND checkpoint_type <> 'pre_apply' ORDER BY seq LIMIT 1
"""
_LATEST = """
SELECT group_id FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND checkpoint_type NOT IN ('pre_apply', 'on_error')
ORDER BY seq DESC LIMIT 1
"""
_WORDS = {"first": _FIRST, "latest": _LATEST}
_BETWEEN_STEPS = """
SELECT group_id FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND between_steps = 1 ORDER BY seq DESC LIMIT 1
"""
_BETWEEN_STEPS_BEFORE = """
SELECT group_id FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND between_steps = 1 AND seq < ? ORDER BY seq DESC LIMIT 1
"""
_LAST_OF_ATTEMPT = """
SELECT group_id FROM checkpoint_groups WHERE plan_id = ? AND attempt = ? ORDER BY seq DESC LIMIT 1
"""
_LABELLED = """
SELECT group_id FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND label = ? ORDER BY seq LIMIT 10
"""
_LABELLED_ANYWHERE = """
SELECT group_id FROM checkpoint_groups WHERE superseded = 0 AND label = ? ORDER BY plan_id, seq LIMIT 10
"""
_LEFT_BEHIND = """
SELECT group_id FROM checkpoint_groups
WHERE superseded = 1 AND label = ? AND (CAST(? AS TEXT) IS NULL OR plan_id = ?) ORDER BY seq DESC LIMIT 5
"""
_LABELS = """
SELECT label FROM checkpoint_groups
WHERE superseded = 0 AND label IS NOT NULL AND (CAST(? AS TEXT) IS NULL OR plan_id = ?) ORDER BY plan_id DESC, seq DESC
"""
_COUNT_LABELLED = """
SELECT COUNT(*) AS count FROM checkpoint_groups WHERE plan_id = ? AND superseded = 0 AND label = ?
"""
_BY_PREFIX = """
SELECT group_id, group_id AS id FROM checkpoint_groups WHERE group_id LIKE ?
UNION SELECT group_id, checkpoint_id AS id FROM checkpoints WHERE checkpoint_id LIKE ?
ORDER BY id LIMIT 10
"""
_SNAPSHOTS = "SELECT DISTINCT snapshot FROM checkpoints"
_PARENT = "SELECT parent_group_id FROM checkpoint_groups WHERE group_id = ?"
_ADOPT_GROUPS = "UPDATE checkpoint_groups SET parent_group_id = ? WHERE parent_group_id = ?"
_ADOPT_CHECKPOINTS = "UPDATE checkpoints SET parent_group_id = ? WHERE parent_group_id = ?"
_RENAME = "UPDATE checkpoints SET sandbox_ref = ? WHERE checkpoint_id = ?"
_REMOVE = "DELETE FROM checkpoint_groups WHERE group_id = ?"


class CheckpointRepository(RowRepository):
    """Keeps checkpoint groups and their checkpoints."""

    def add(self, group: CheckpointGroup) -> None:
        """Record a group with its checkpoints and state."""
        reason = group.reason
        created, metadata = time_text(group.created_at), json_text(reason.metadata)
        self._db.execute(
            _ADD_GROUP,
            (
                group.group_id,
                group.plan_id,
                group.seq,
                group.line,
                group.attempt,
                reason.type,
                reason.label,
                int(reason.between_steps),
                reason.decision_id,
                group.parent_group_id,
                int(group.superseded),
                group.step_index,
                state_to_text(self._db, group.plan_id, group.state),
                group.state_hash,
                metadata,
                created,
            ),
        )
        for position, checkpoint in enumerate(group.checkpoints):
            self._db.execute(
                _ADD_CHECKPOINT,
                (
                    checkpoint.checkpoint_id,
                    group.group_id,
                    position,
                    group.seq,
                    group.plan_id,
                    reason.decision_id,
                    checkpoint.resource,
                    reason.type,
                    reason.label,
                    group.step_index,
                    group.state_hash,
                    checkpoint.sandbox_ref,
                    checkpoint.snapshot.to_text(),
                    checkpoint.filesystem_path,
                    checkpoint.size_bytes,
                    int(checkpoint.modified),
                    created,
                    group.parent_group_id,
                    int(group.superseded),
                    metadata,
                ),
            )

    def get(self, group_id: GroupId) -> CheckpointGroup:
        """Return the group of that id, or raise CheckpointNotFound."""
        row = self._db.row(_GROUP, (group_id,))
        if row is None:
            raise CheckpointNotFound(wanted=group_id)
        return self._group(row, self._db.rows(_CHECKPOINTS_OF, (group_id,)))

    def resolve(self, word: str, plan_id: PlanId | None) -> FoundCheckpoint:
        """Return what an id, a unique prefix, a live label, `first` or `latest` means: a group, or a checkpoint.

        Ids are looked for in all plans, words and labels in the given one. Else CheckpointNotFound, or Ambiguous
        with the candidates.
        """
        if not is_text(word):
            raise CheckpointNotFound(wanted=word)
        named = self._named(word, plan_id)
        matches = named or self._beginning_with(word)
        groups = sorted({group_id for group_id, _ in matches})
        if not groups:
            raise self._not_found(word, plan_id)
        if len(groups) > 1:
            raise Ambiguous(
                wanted=word,
                count="several checkpoint groups",
                candidates=", ".join(sorted({id for _, id in matches})),
                **({"hint": "several have that label: name one by its id"} if named else {}),
            )
        group = self.get(groups[0])
        only = matches[0][1] if len(matches) == 1 else None
        checkpoint = next((c for c in group.checkpoints if c.checkpoint_id == only), None)
        return FoundCheckpoint(group=group, checkpoint=checkpoint)

    def list(
        self, plan_id: PlanId, *, superseded: bool, limit: int | None = None
    ) -> Sequence[CheckpointGroup]:
        """Return the plan's groups, oldest first, with or without superseded ones; of more than `limit` the newest."""
        statement = _GROUPS if superseded else _LIVE_GROUPS
        groups = self._db.rows(statement, (plan_id, ALL if limit is None else limit))[::-1]
        members = self._members(plan_id, groups)
        return [self._group(row, members[row["group_id"]]) for row in groups]

    def outlines(self, plan_id: PlanId, *, limit: int) -> Sequence[GroupOutline]:
        """Return the plan's groups without their states, live or not, oldest first; of more than `limit` the newest."""
        groups = self._db.rows(_OUTLINES, (plan_id, limit))[::-1]
        members = self._members(plan_id, groups)
        return [
            GroupOutline(
                group_id=GroupId(row["group_id"]),
                seq=row["seq"],
                type=CheckpointType(row["checkpoint_type"]),
                label=row["label"],
                step_index=row["step_index"],
                parent_group_id=cast("GroupId | None", row["parent_group_id"]),
                superseded=bool(row["superseded"]),
                checkpoints=tuple(_checkpoint(member) for member in members[row["group_id"]]),
                created_at=time_value(row["created_at"]),
            )
            for row in groups
        ]

    def _members(self, plan_id: PlanId, groups: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
        """The checkpoints of these groups, which are in order, and of all after the first."""
        members: dict[str, list[Row]] = {}
        for row in self._db.rows(_CHECKPOINTS_SINCE, (plan_id, groups[0]["seq"] if groups else 0)):
            members.setdefault(row["group_id"], []).append(row)
        return members

    def newest_between_steps(self, plan_id: PlanId) -> CheckpointGroup | None:
        """Return the newest live group between two steps."""
        return self._one(_BETWEEN_STEPS, plan_id)

    def newest_before(self, plan_id: PlanId, seq: int) -> CheckpointGroup | None:
        """Return the newest live group between two steps that was recorded before that sequence number."""
        return self._one(_BETWEEN_STEPS_BEFORE, plan_id, seq)

    def last_of_attempt(self, plan_id: PlanId, attempt: int) -> CheckpointGroup | None:
        """Return the newest group of an attempt, live or not; None: all of them were pruned."""
        return self._one(_LAST_OF_ATTEMPT, plan_id, attempt)

    def first(self, plan_id: PlanId) -> CheckpointGroup | None:
        """Return the oldest live group of the sandboxes."""
        return self._one(_FIRST, plan_id)

    def count(self, plan_id: PlanId, *, superseded: bool) -> int:
        """Count the groups of a plan."""
        return self._count(_COUNT if superseded else _COUNT_LIVE, (plan_id,))

    def count_labelled(self, plan_id: PlanId, label: str) -> int:
        """Count the live groups of a plan with that label."""
        return self._count(_COUNT_LABELLED, (plan_id, label))

    def ids(self, plan_id: PlanId) -> Collection[CheckpointId]:
        """Return the ids of all checkpoints of a plan."""
        return frozenset(CheckpointId(row["checkpoint_id"]) for row in self._db.rows(_IDS, (plan_id,)))

    def summaries(self, plan_id: PlanId) -> Sequence[GroupSummary]:
        """Return what retention needs to know of all groups, oldest first."""
        return summaries(self._db, plan_id)

    def expendable(self, plan_id: PlanId, attempts: int, count: int) -> Sequence[GroupSummary]:
        """Return as many groups as pruning `count` of them must look at, oldest first; cost follows `count`.

        Those that retention lets go first, and those that are the first, the newest, the newest live one
        between two steps, or the last of one of the plan's attempts.
        """
        return expendable(self._db, plan_id, attempts, count)

    def snapshots(self) -> Sequence[Snapshot]:
        """Return the snapshots of all checkpoints of all plans, each once."""
        return [Snapshot.from_text(row["snapshot"]) for row in self._db.rows(_SNAPSHOTS)]

    def rename(self, names: Mapping[CheckpointId, str]) -> None:
        """Record the names (`sandbox_ref`) that other programs know checkpoints by from now on."""
        for checkpoint_id, name in names.items():
            self._db.execute(_RENAME, (name, checkpoint_id))

    def remove(self, group_ids: Sequence[GroupId]) -> None:
        """Remove whole groups; their children get their parents."""
        for group_id in group_ids:
            row = self._db.row(_PARENT, (group_id,))
            parent = row["parent_group_id"] if row else None
            self._db.execute(_ADOPT_GROUPS, (parent, group_id))
            self._db.execute(_ADOPT_CHECKPOINTS, (parent, group_id))
            self._db.execute(_REMOVE, (group_id,))

    def _named(self, word: str, plan_id: PlanId | None) -> Sequence[tuple[GroupId, str]]:
        """The live groups that a label means, or one of the words that mean another each time."""
        if plan_id is None:
            rows = self._db.rows(_LABELLED_ANYWHERE, (word,))
        elif word in _WORDS:
            rows = self._db.rows(_WORDS[word], (plan_id,))
        else:
            rows = self._db.rows(_LABELLED, (plan_id, word))
        return [(GroupId(row["group_id"]), row["group_id"]) for row in rows]

    def _beginning_with(self, word: str) -> Sequence[tuple[GroupId, str]]:
        """The groups whose ids, or whose checkpoints' ids, begin like that; each with that id."""
        prefix = as_id_prefix(word)
        if prefix is None:
            return []
        rows = self._db.rows(_BY_PREFIX, (prefix + "%", prefix + "%"))
        return [(GroupId(row["group_id"]), row["id"]) for row in rows]

    def _not_found(self, word: str, plan_id: PlanId | None) -> CheckpointNotFound:
        """Return the hint for an unknown label: the id of a group that was left behind, or the nearest label."""
        if plan_id is not None and not self.count(plan_id, superseded=True):
            return CheckpointNotFound(wanted=word, hint=self._why_none(plan_id))
        rows = self._db.rows(_LEFT_BEHIND, (word, plan_id, plan_id))
        if not rows:
            from mulligan.rows.tables.id_hints import hint_of_other_kind

            labels = (row["label"] for row in self._db.rows(_LABELS, (plan_id, plan_id)))
            near = nearest_word(word, (known for known in (*_WORDS, *labels) if known != word))
            hint = CheckpointNotFound.usual_advice()
            if plan_id:
                all_of_it = NextStep("checkpoints.list", plan=plan_id, superseded=True)
                hint = Advice(all_of_it, " shows all of the plan")
            if near:
                return CheckpointNotFound(wanted=word, hint=Advice(f"did you mean {near!r}? ", hint))
            return CheckpointNotFound(wanted=word, **({"hint": hint} | hint_of_other_kind(self._db, word)))
        ids = ", ".join(row["group_id"] for row in rows)
        return CheckpointNotFound(
            wanted=word, hint=f"that label was left behind by a rollback: name it by its id, {ids}"
        )

    def _why_none(self, plan_id: PlanId) -> Advice:
        from mulligan.rows.tables.plan_rows import PlanRepository

        if not PlanRepository(self._db).get(plan_id).definition.rollback_policy.enabled:
            return Advice(
                f"plan {plan_id} takes none, its rollback_policy is disabled; ",
                NextStep("checkpoints.list", plan=...),
                " shows those of another plan",
            )
        return Advice(f"plan {plan_id} has none yet: execute it with ", NextStep("execute", plan=plan_id))

    def _one(self, statement: str, plan_id: PlanId, *more: int) -> CheckpointGroup | None:
        row = self._db.row(statement, (plan_id, *more))
        return self.get(row["group_id"]) if row else None

    def _group(self, row: Row, members: Sequence[Row]) -> CheckpointGroup:
        plan_id = PlanId(row["plan_id"])
        return CheckpointGroup(
            group_id=GroupId(row["group_id"]),
            plan_id=plan_id,
            seq=row["seq"],
            line=row["line"],
            attempt=row["attempt"],
            reason=Reason(
                type=CheckpointType(row["checkpoint_type"]),
                label=row["label"],
                between_steps=bool(row["between_steps"]),
                decision_id=cast("DecisionId | None", row["decision_id"]),
                metadata=json_object(row["metadata_json"]),
            ),
            parent_group_id=cast("GroupId | None", row["parent_group_id"]),
            superseded=bool(row["superseded"]),
            state=state_from_text(self._db, plan_id, row["state_json"]),
            state_hash=row["state_hash"],
            checkpoints=tuple(_checkpoint(member) for member in members),
            created_at=time_value(row["created_at"]),
        )


def _checkpoint(row: Row) -> Checkpoint:
    return Checkpoint(
        checkpoint_id=CheckpointId(row["checkpoint_id"]),
        resource=row["resource"],
        snapshot=Snapshot.from_text(row["snapshot"]),
        sandbox_ref=row["sandbox_ref"],
        filesystem_path=row["filesystem_path"],
        size_bytes=row["size_bytes"],
        modified=bool(row["modified"]),
    )
