"""Rows of checkpoint groups and their checkpoints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.domain.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointGroup,
    FoundCheckpoint,
    GroupOutline,
    Reason,
)
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.handle import GroupReference, group_reference
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId, as_id_prefix
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Advice, NextStep
from mulligan.rows.columns import FLAG, OBJECT, SNAPSHOT, TIME, Layout, at_most, is_text, word
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.state_document import state_from_text, state_to_text

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.retention import GroupSummary
    from mulligan.rows.sql_connection import Row

_CHECKPOINT = Layout(Checkpoint, snapshot=SNAPSHOT, modified=FLAG)
_TYPE = word(CheckpointType).called("checkpoint_type")
_REASON = Layout(Reason, type=_TYPE, between_steps=FLAG, metadata=OBJECT)
_GROUP = Layout(
    CheckpointGroup,
    apart=["state", "checkpoints"],
    reason=_REASON,
    superseded=FLAG,
    created_at=TIME,
)
_OUTLINE = Layout(GroupOutline, apart=["checkpoints"], type=_TYPE, superseded=FLAG, created_at=TIME)
# What each checkpoint repeats of its group.
_REPEATED = (
    *("group_id", "plan_id", "seq", "decision_id", "checkpoint_type", "label", "step_index", "state_hash"),
    *("parent_group_id", "superseded", "metadata_json", "created_at"),
)
_GET = "SELECT * FROM checkpoint_groups WHERE group_id = ?"
_CHECKPOINTS_OF = "SELECT * FROM checkpoints WHERE group_id = ? ORDER BY position"
_GROUPS = "SELECT * FROM checkpoint_groups WHERE plan_id = ? ORDER BY seq DESC LIMIT ?"
_LIVE_GROUPS = (
    "SELECT * FROM checkpoint_groups WHERE plan_id = ? AND superseded = 0 ORDER BY seq DESC LIMIT ?"
)
_OUTLINES = """
SELECT group_id, number, seq, checkpoint_type, label, step_index, parent_group_id, superseded, created_at
FROM checkpoint_groups WHERE plan_id = ? ORDER BY seq DESC LIMIT ?
"""
_CHECKPOINTS_SINCE = "SELECT * FROM checkpoints WHERE plan_id = ? AND seq >= ? ORDER BY seq, position"
_IDS = "SELECT checkpoint_id FROM checkpoints WHERE plan_id = ?"
_COUNT = "SELECT COUNT(*) AS count FROM checkpoint_groups WHERE plan_id = ?"
_COUNT_LIVE = f"{_COUNT} AND superseded = 0"
_COUNT_LABELLED = f"{_COUNT_LIVE} AND label = ?"
_IDS_OF_PLAN = "SELECT group_id FROM checkpoint_groups WHERE plan_id = ?"
_LIVE = f"{_IDS_OF_PLAN} AND superseded = 0"
_STATES = f"{_LIVE} AND checkpoint_type NOT IN ('pre_apply', 'pre_restore', 'post_restore')"
_FIRST = f"{_STATES} ORDER BY seq LIMIT 1"
_LATEST = f"""
{_STATES} AND checkpoint_type <> 'on_error'
AND (between_steps = 1 OR checkpoint_type NOT IN ('on_quiet', 'on_interval')) ORDER BY seq DESC LIMIT 1
"""
_NUMBERED = f"{_IDS_OF_PLAN} AND number = ?"
_NEWEST_FIRST = """
SELECT group_id, checkpoint_type, label, between_steps, decision_id, metadata_json FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 ORDER BY seq DESC
"""
_WORDS = {"first": _FIRST, "latest": _LATEST}
_BETWEEN_STEPS = f"{_LIVE} AND between_steps = 1 ORDER BY seq DESC LIMIT 1"
_BETWEEN_STEPS_BEFORE = f"{_LIVE} AND between_steps = 1 AND seq < ? ORDER BY seq DESC LIMIT 1"
_BETWEEN_STEPS_UP_TO = f"{_LIVE} AND between_steps = 1 AND step_index < ? ORDER BY seq DESC LIMIT 1"
_LAST_OF_ATTEMPT = f"{_IDS_OF_PLAN} AND attempt = ? ORDER BY seq DESC LIMIT 1"
_LABELLED = f"{_LIVE} AND label = ? ORDER BY seq LIMIT 10"
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
_BY_PREFIX = """
SELECT group_id, group_id AS id FROM checkpoint_groups WHERE group_id LIKE ?
UNION SELECT group_id, checkpoint_id AS id FROM checkpoints WHERE checkpoint_id LIKE ?
ORDER BY id LIMIT 10
"""
_HOLDING = "SELECT group_id FROM checkpoints WHERE checkpoint_id = ?"
_SNAPSHOTS = "SELECT DISTINCT snapshot FROM checkpoints"
_PARENT = "SELECT parent_group_id FROM checkpoint_groups WHERE group_id = ?"
_REMOVE = "DELETE FROM checkpoint_groups WHERE group_id = ?"

# Few groups are read for retention, however many a plan has.
_ANY_SUMMARY = """
SELECT seq, group_id, attempt, superseded, label, between_steps, checkpoint_type
FROM checkpoint_groups WHERE plan_id = ?
"""
_AT_WORK = "(between_steps = 0 AND checkpoint_type IN ('on_quiet', 'on_interval'))"  # no run starts from them
_SUMMARIES = f"{_ANY_SUMMARY} ORDER BY seq"
_SUMMARY = f"{_ANY_SUMMARY} AND NOT {_AT_WORK}"
_OLDEST_AT_WORK = f"{_ANY_SUMMARY} AND {_AT_WORK} ORDER BY superseded DESC, seq LIMIT ?"
_COUNT_AT_WORK = f"{_COUNT} AND {_AT_WORK}"
_OUTSTANDING = (  # spared by retention because of its position
    f"{_SUMMARY} ORDER BY seq LIMIT 1",
    f"{_SUMMARY} ORDER BY seq DESC LIMIT 1",
    f"{_SUMMARY} AND superseded = 0 AND between_steps = 1 ORDER BY seq DESC LIMIT 1",
)
_SUMMARY_OF_ATTEMPT = f"{_SUMMARY} AND attempt = ? ORDER BY seq DESC LIMIT 1"
_EXPENDABLE = (  # in the order in which retention lets go
    f"{_SUMMARY} AND superseded = 1 AND label IS NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 0 AND label IS NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 1 AND label IS NOT NULL ORDER BY seq LIMIT ?",
    f"{_SUMMARY} AND superseded = 0 AND label IS NOT NULL ORDER BY seq LIMIT ?",
)


class CheckpointRepository(RowRepository):
    """Keeps checkpoint groups and their checkpoints."""

    def add(self, group: CheckpointGroup) -> None:
        """Record a group with its checkpoints and state."""
        columns = _GROUP.columns(group)
        columns["step_index"] = group.step_index
        columns["state_json"] = state_to_text(self._db, group.plan_id, group.state)
        self._insert("checkpoint_groups", columns)
        repeated = {name: columns[name] for name in _REPEATED}
        for position, checkpoint in enumerate(group.checkpoints):
            own = _CHECKPOINT.columns(checkpoint)
            own["filesystem_path"] = self._places.kept(checkpoint.filesystem_path)
            self._insert("checkpoints", {**repeated, **own, "position": position})

    def get(self, group_id: GroupId) -> CheckpointGroup:
        """Return the group of that id, or raise CheckpointNotFound."""
        row = self._db.row(_GET, (group_id,))
        if row is None:
            raise errors.CheckpointNotFound(wanted=group_id)
        return self._group(row, self._db.rows(_CHECKPOINTS_OF, (group_id,)))

    def holding(self, checkpoint_id: CheckpointId) -> CheckpointGroup | None:
        """Return the group of a checkpoint; None: it was pruned."""
        row = self._db.row(_HOLDING, (checkpoint_id,))
        return self.get(GroupId(row["group_id"])) if row else None

    def resolve(self, word: str, plan_id: PlanId | None) -> FoundCheckpoint:
        """Return what a number, label, `first`, `latest`, id or unique prefix means: a group, or a checkpoint.

        Ids are looked for in all plans, words and live labels in the given one, numbers there or in the newest plan.
        Else CheckpointNotFound, or Ambiguous with the candidates.
        """
        if not is_text(word):
            raise errors.CheckpointNotFound(wanted=word)
        named = self._named(word, plan_id)
        if not named and (reference := group_reference(word)) is not None:
            return FoundCheckpoint(group=self._numbered(word, reference, plan_id), checkpoint=None)
        matches = named or self._beginning_with(word)
        groups = sorted({group_id for group_id, _ in matches})
        if not groups:
            raise self._not_found(word, plan_id)
        if len(groups) > 1:
            raise errors.Ambiguous(
                wanted=word,
                count="several checkpoint groups",
                candidates=", ".join(sorted({id for _, id in matches})),
                **({"hint": "several have that label: name one by its number"} if named else {}),
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
        groups = self._db.rows(statement, (plan_id, at_most(limit)))[::-1]
        members = self._members(plan_id, groups)
        return [self._group(row, members[row["group_id"]]) for row in groups]

    def outlines(self, plan_id: PlanId, *, limit: int) -> Sequence[GroupOutline]:
        """Return the plan's groups without their states, live or not, oldest first; of more than `limit` the newest."""
        groups = self._db.rows(_OUTLINES, (plan_id, limit))[::-1]
        members = self._members(plan_id, groups)
        return [
            _OUTLINE.value(row, checkpoints=self._checkpoints(members[row["group_id"]])) for row in groups
        ]

    def _members(self, plan_id: PlanId, groups: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
        """Return the checkpoints of these groups, which are in order, and of all after the first."""
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

    def nearest_before(self, plan_id: PlanId, step_index: int) -> CheckpointGroup | None:
        """Return the newest live group between two steps with fewer steps complete."""
        return self._one(_BETWEEN_STEPS_UP_TO, plan_id, step_index)

    def last_of_attempt(self, plan_id: PlanId, attempt: int) -> CheckpointGroup | None:
        """Return the newest group of an attempt, live or not; None: all of them were pruned."""
        return self._one(_LAST_OF_ATTEMPT, plan_id, attempt)

    def first(self, plan_id: PlanId) -> CheckpointGroup | None:
        """Return the oldest live group of the sandboxes."""
        return self._one(_FIRST, plan_id)

    def latest(self, plan_id: PlanId) -> CheckpointGroup | None:
        """Return the newest live group of the sandboxes that a step left behind or began with."""
        return self._one(_LATEST, plan_id)

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
        return [_summary(row) for row in self._db.rows(_SUMMARIES, (plan_id,))]

    def count_at_work(self, plan_id: PlanId) -> int:
        """Count the groups of a plan that were taken while programs were at work, live or not."""
        return self._count(_COUNT_AT_WORK, (plan_id,))

    def at_work(self, plan_id: PlanId, count: int) -> Sequence[GroupSummary]:
        """Return so many of these groups: those that retention lets go first."""
        return [_summary(row) for row in self._db.rows(_OLDEST_AT_WORK, (plan_id, count))]

    def expendable(self, plan_id: PlanId, attempts: int, count: int) -> Sequence[GroupSummary]:
        """Return as many groups as pruning `count` of them must look at, oldest first; cost follows `count`.

        None of those that were taken while programs were at work. Those that retention lets go first, and those that
        are the first, the newest, the newest live one between two steps, or the last of one of the plan's attempts.
        """
        spared = [row for statement in _OUTSTANDING for row in self._db.rows(statement, (plan_id,))]
        for attempt in range(1, attempts + 1):
            spared += self._db.rows(_SUMMARY_OF_ATTEMPT, (plan_id, attempt))
        found = {row["seq"]: row for row in spared}
        missing = count + len(found)
        for statement in _EXPENDABLE:
            rows = self._db.rows(statement, (plan_id, missing))
            found |= {row["seq"]: row for row in rows}
            missing -= len(rows)
            if missing <= 0:
                break
        return [_summary(found[seq]) for seq in sorted(found)]

    def snapshots(self) -> Sequence[Snapshot]:
        """Return the snapshots of all checkpoints of all plans, each once."""
        return [Snapshot.from_text(row["snapshot"]) for row in self._db.rows(_SNAPSHOTS)]

    def rewrite(self, group: CheckpointGroup) -> None:
        """Record other snapshots of a group's checkpoints, with its hash and metadata."""
        shared = {name: _GROUP.columns(group)[name] for name in ("state_hash", "metadata_json")}
        self._update("checkpoint_groups", shared, group_id=group.group_id)
        for checkpoint in group.checkpoints:
            own = _CHECKPOINT.columns(checkpoint)
            changed = {name: own[name] for name in ("snapshot", "sandbox_ref")}
            self._update("checkpoints", {**shared, **changed}, checkpoint_id=checkpoint.checkpoint_id)

    def rename(self, names: Mapping[CheckpointId, str]) -> None:
        """Record the names (`sandbox_ref`) that other programs know checkpoints by from now on."""
        for checkpoint_id, name in names.items():
            self._update("checkpoints", {"sandbox_ref": name}, checkpoint_id=checkpoint_id)

    def remove(self, group_ids: Sequence[GroupId]) -> None:
        """Remove whole groups; their children get their parents."""
        for group_id in group_ids:
            row = self._db.row(_PARENT, (group_id,))
            parent = row["parent_group_id"] if row else None
            for table in ("checkpoint_groups", "checkpoints"):
                self._update(table, {"parent_group_id": parent}, parent_group_id=group_id)
            self._db.execute(_REMOVE, (group_id,))

    def _numbered(self, word: str, wanted: GroupReference, plan_id: PlanId | None) -> CheckpointGroup:
        from mulligan.rows.tables.plan_rows import PlanRepository

        if wanted.plan or plan_id is None:
            plan_id = PlanRepository(self._db).resolve(wanted.plan or "latest").plan_id
        if wanted.number > 0:
            found = self._one(_NUMBERED, plan_id, wanted.number)
        else:
            found = self._counted_back(plan_id, -wanted.number)
        if found is None:
            all_of_it = NextStep("checkpoints.list", plan=plan_id, superseded=True)
            hint = Advice(all_of_it, " shows the checkpoints of the plan; a pruned one is gone")
            raise errors.CheckpointNotFound(wanted=word, hint=hint)
        return found

    def _counted_back(self, plan_id: PlanId, count: int) -> CheckpointGroup | None:
        """Return the live group that many from the end, of those that hold the plan's sandboxes."""
        rows = self._db.rows(_NEWEST_FIRST, (plan_id,))
        ids = (row["group_id"] for row in rows if _REASON.value(row).is_of_sandboxes)
        found = next(islice(ids, count - 1, None), None)
        return self.get(found) if found else None

    def _named(self, word: str, plan_id: PlanId | None) -> Sequence[tuple[GroupId, str]]:
        """Return the live groups that a label means, or one of the words that mean another each time."""
        if plan_id is None:
            rows = self._db.rows(_LABELLED_ANYWHERE, (word,))
        elif word in _WORDS:
            rows = self._db.rows(_WORDS[word], (plan_id,))
        else:
            rows = self._db.rows(_LABELLED, (plan_id, word))
        return [(GroupId(row["group_id"]), row["group_id"]) for row in rows]

    def _beginning_with(self, word: str) -> Sequence[tuple[GroupId, str]]:
        """Return the groups whose ids, or whose checkpoints' ids, begin like that; each with that id."""
        prefix = as_id_prefix(word)
        if prefix is None:
            return []
        rows = self._db.rows(_BY_PREFIX, (prefix + "%", prefix + "%"))
        return [(GroupId(row["group_id"]), row["id"]) for row in rows]

    def _not_found(self, word: str, plan_id: PlanId | None) -> errors.CheckpointNotFound:
        """Return the hint for an unknown label: the id of a group that was left behind, or the nearest label."""
        if plan_id is not None and not self.count(plan_id, superseded=True):
            return errors.CheckpointNotFound(wanted=word, hint=self._why_none(plan_id))
        rows = self._db.rows(_LEFT_BEHIND, (word, plan_id, plan_id))
        if not rows:
            from mulligan.rows.id_hints import hint_of_other_kind

            labels = (row["label"] for row in self._db.rows(_LABELS, (plan_id, plan_id)))
            near = nearest_word(word, (known for known in (*_WORDS, *labels) if known != word))
            hint = errors.CheckpointNotFound.usual_advice()
            if plan_id:
                all_of_it = NextStep("checkpoints.list", plan=plan_id, superseded=True)
                hint = Advice(all_of_it, " shows all of the plan")
            if near:
                return errors.CheckpointNotFound(wanted=word, hint=Advice(f"did you mean {near!r}? ", hint))
            return errors.CheckpointNotFound(
                wanted=word, **({"hint": hint} | hint_of_other_kind(self._db, word))
            )
        ids = ", ".join(row["group_id"] for row in rows)
        return errors.CheckpointNotFound(
            wanted=word, hint=f"that label was left behind by a rollback: name it by its number, {ids}"
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
        return _GROUP.value(
            row,
            state=state_from_text(self._db, PlanId(row["plan_id"]), row["state_json"]),
            checkpoints=self._checkpoints(members),
        )

    def _checkpoints(self, rows: Sequence[Row]) -> tuple[Checkpoint, ...]:
        whole = self._places.whole
        return tuple(_CHECKPOINT.value(row, filesystem_path=whole(row["filesystem_path"])) for row in rows)


def _summary(row: Row) -> GroupSummary:
    from mulligan.domain.checkpoints.retention import GroupSummary

    return GroupSummary(
        group_id=GroupId(row["group_id"]),
        attempt=row["attempt"],
        superseded=bool(row["superseded"]),
        labelled=row["label"] is not None,
        between_steps=bool(row["between_steps"]),
        at_work=not row["between_steps"] and CheckpointType(row["checkpoint_type"]).is_at_work,
    )
