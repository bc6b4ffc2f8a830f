"""Rows of the folder's timeline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan import errors
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.timeline_entry import CLEARS, DeedKind, DeedStatus, TimelineEntry
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.rows.columns import ALL, FLAG, OBJECT, TIME, Format, Layout, at_most, word
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
    from mulligan.domain.text.ids import GroupId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.sql_connection import Row


def _flag_number(value: object) -> int | None:
    return None if value is None else int(bool(value))


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


_ENTRY = Layout(
    TimelineEntry,
    kind=word(DeedKind),
    status=word(DeedStatus),
    created_at=TIME,
    superseded=FLAG,
    undone=FLAG,
    changed=Format(_flag_number, _flag),
    detail=OBJECT,
)
_USED = "SELECT used AS count FROM counters WHERE name = 'entries'"
_LAST_REDO = "SELECT COALESCE(MAX(redo), 0) AS count FROM entries WHERE redo IS NOT NULL"
_CLEAR = "UPDATE entries SET redo = NULL, undone_from = NULL, undone_to = NULL WHERE redo IS NOT NULL"
_BETWEEN_STEPS = """
SELECT group_id, step_index FROM checkpoint_groups
WHERE plan_id = ? AND superseded = 0 AND between_steps = 1 ORDER BY seq DESC LIMIT 1
"""
_END = "UPDATE entries SET status = ? WHERE plan_id = ? AND step_index = ? AND status = 'running'"
_INTERRUPT = "UPDATE entries SET status = 'interrupted' WHERE plan_id = ? AND status = 'running'"
_OPEN = """
SELECT number, before_group FROM entries
WHERE plan_id = ? AND step_index = ? AND superseded = 0 AND after_group IS NULL ORDER BY number DESC LIMIT 1
"""
_LEFT_OPEN = """
SELECT * FROM entries
WHERE superseded = 0 AND undone = 0 AND status IN ('running', 'interrupted') AND after_group IS NULL
AND before_group IS NOT NULL ORDER BY number
"""
_LEFT_OPEN_OF_PLAN = """
SELECT number, before_group FROM entries
WHERE plan_id = ? AND superseded = 0 AND undone = 0 AND status = 'interrupted' AND after_group IS NULL
AND before_group IS NOT NULL
"""
_SNAPSHOTS = "SELECT resource, snapshot FROM checkpoints WHERE group_id = ?"
_GET = "SELECT * FROM entries WHERE number = ?"
_NEWEST = "SELECT * FROM entries ORDER BY number DESC LIMIT ?"
_BEFORE = "SELECT * FROM entries WHERE number < ? ORDER BY number DESC LIMIT ?"
_BEGAN = "SELECT created_at FROM entries WHERE number >= ? ORDER BY number LIMIT 1"
_BEGUN = "SELECT number, created_at FROM entries WHERE number >= ? AND number < ? ORDER BY number"
_COUNT = "SELECT COUNT(*) AS count FROM entries"
_LIVE = (
    "SELECT * FROM entries WHERE superseded = 0 AND undone = 0 AND number < ? ORDER BY number DESC LIMIT ?"
)
_PROMPTS_AFTER = """
SELECT * FROM entries WHERE number > ? AND kind = 'prompt' AND superseded = 0 AND undone = 0
"""
_LIVE_OF_PLAN = """
SELECT * FROM entries WHERE plan_id = ? AND superseded = 0 AND undone = 0 ORDER BY number DESC
"""
# A restore of paths belongs to the plan whose checkpoint they come from, and is not work of that plan.
_LAST_OF_PLAN = (
    "SELECT COALESCE(MAX(number), 0) AS count FROM entries WHERE plan_id = ? AND kind <> 'restore'"
)
_RESTORES_SINCE = """
SELECT COUNT(*) AS count FROM entries
WHERE plan_id = ? AND kind = 'restore' AND superseded = 0 AND undone = 0 AND number > ?
"""
_NEWER_PLANS = """
SELECT DISTINCT plan_id FROM entries WHERE superseded = 0 AND undone = 0 AND number > ? AND plan_id <> ?
"""
# A command that changed nothing leaves nothing to take back.
_TO_UNDO = (
    """
SELECT * FROM entries WHERE plan_id = ? AND superseded = 0 AND undone = 0
AND (kind = 'step' OR kind IN ('run', 'prompt') AND COALESCE(changed, 1) <> 0) ORDER BY number DESC LIMIT 1
""",
    """
SELECT * FROM entries WHERE plan_id = ? AND superseded = 0 AND undone = 0
AND kind IN ('restore', 'sandbox_restore') ORDER BY number DESC LIMIT 1
""",
)
_TO_REDO = "SELECT * FROM entries WHERE redo IS NOT NULL ORDER BY redo DESC"
_OF_KIND = "SELECT * FROM entries WHERE plan_id = ? AND kind = ? ORDER BY number DESC LIMIT 1"
_EXACTLY = """
UPDATE entries SET undone = CASE WHEN undone_seq < ? THEN 1 ELSE 0 END
WHERE plan_id = ? AND kind NOT IN ('apply', 'unapply', 'undo') AND seq > 0
"""
_PAGE = 50


class EntryRepository(RowRepository):
    """Keeps the timeline."""

    def add(self, entry: TimelineEntry) -> int:
        """Record that something is done, under the next number; nothing can be redone from then on.

        A prompt changed nothing yet: it notes what can be redone, which its first change clears.
        """
        if entry.kind is not DeedKind.PROMPT:
            self.clear_redo()
        elif redoable := [each.undo_name for each in self.to_redo()]:
            entry = replace(entry, detail={**entry.detail, CLEARS: list[Json](redoable)})
        columns = _ENTRY.columns(entry)
        columns["number"] = number = self.last() + 1
        if entry.kind.is_step and entry.before_group is None:
            row = self._db.row(_BETWEEN_STEPS, (entry.plan_id,))
            here = row is not None and row["step_index"] == entry.step_index
            columns["before_group"] = row["group_id"] if row is not None and here else None
        self._insert("entries", columns)
        self._update("counters", {"used": number}, name="entries")
        return number

    def add_undo(self, entry: TimelineEntry) -> int:
        """Record an undo as an entry, under the next number: it can be redone, as what was undone before it."""
        columns = _ENTRY.columns(entry)
        columns["number"] = number = self.last() + 1
        columns["redo"] = self._count(_LAST_REDO) + 1
        self._insert("entries", columns)
        self._update("counters", {"used": number}, name="entries")
        return number

    def bring_back(self, entry: TimelineEntry) -> None:
        """Record that an undo that is an entry was taken back."""
        gone = dict.fromkeys(("redo", "undone_from", "undone_to"))
        self._update("entries", {**gone, "undone": 1}, number=entry.number)

    def count_no_longer(self, number: int, seq: int) -> None:
        """Record that an entry was undone by another one, after that sequence number of its plan."""
        self._update("entries", {"undone": 1, "undone_seq": seq}, number=number)

    def count_again(self, number: int) -> None:
        """Record that the undo that is another entry was taken back."""
        self._update("entries", {"undone": 0, "undone_seq": None}, number=number)

    def note(self, entry: TimelineEntry, facts: JsonObject) -> None:
        """Add facts to the detail of an entry."""
        columns = _ENTRY.some(replace(entry, detail={**entry.detail, **facts}), ("detail",))
        self._update("entries", columns, number=entry.number)

    def end(self, plan_id: PlanId, step_index: int, status: DeedStatus) -> None:
        """Record how the running step ended."""
        self._db.execute(_END, (status, plan_id, step_index))

    def interrupt(self, plan_id: PlanId) -> None:
        """Record that the process of a running step is gone."""
        self._db.execute(_INTERRUPT, (plan_id,))

    def close(self, plan_id: PlanId, step_index: int, group: CheckpointGroup) -> None:
        """Record the group that holds the state right after a step."""
        if (row := self._db.row(_OPEN, (plan_id, step_index))) is not None:
            self._close(row, group)

    def close_cut_off(self, group: CheckpointGroup) -> None:
        """Record the group as the end of steps of its plan that were cut off: later changes are not their own."""
        for row in self._db.rows(_LEFT_OPEN_OF_PLAN, (group.plan_id,)):
            self._close(row, group)

    def begin_again(self, number: int) -> None:
        """Record that the agent does something for a prompt: until its next event, what changes belongs to that."""
        columns = {"status": DeedStatus.RUNNING, "after_group": None, "changed": None}
        self._update("entries", columns, number=number)

    def start_from(self, number: int, group_id: GroupId) -> None:
        """Record that a prompt, for which nothing was changed yet, starts from another group."""
        self._update("entries", {"before_group": group_id}, number=number)

    def reach(self, number: int, status: DeedStatus, group_id: GroupId) -> None:
        """Record how far the answer to a prompt got: the group that holds the files then."""
        row = self._db.row(_GET, (number,))
        if row is None or row["superseded"] or row["undone"]:
            return
        sides = (
            {r["resource"]: Snapshot.from_text(r["snapshot"]) for r in self._db.rows(_SNAPSHOTS, (group,))}
            for group in (row["before_group"], group_id)
        )
        before, after = sides
        same = all(name in before and snapshot.same_as(before[name]) for name, snapshot in after.items())
        columns = {
            "status": status,
            "after_group": group_id,
            "changed": _flag_number(not same if before else None),
        }
        self._update("entries", columns, number=number)

    def changed_nothing(self, number: int) -> None:
        """Record that an entry changed nothing: what differs is what mulligan itself did meanwhile."""
        self._update("entries", {"changed": 0}, number=number)

    def _close(self, row: Row, group: CheckpointGroup) -> None:
        before = {r["resource"]: r["snapshot"] for r in self._db.rows(_SNAPSHOTS, (row["before_group"],))}
        same = [
            c.snapshot.same_as(Snapshot.from_text(before[c.resource])) for c in group.checkpoints if before
        ]
        changed = _flag_number(not all(same) if before else None)
        self._update("entries", {"after_group": group.group_id, "changed": changed}, number=row["number"])

    def get(self, number: int) -> TimelineEntry:
        """Return the entry of that number, or raise EntryNotFound."""
        row = self._db.row(_GET, (number,)) if number <= ALL else None
        if row is None:
            raise errors.EntryNotFound(number=number)
        return _ENTRY.value(row)

    def newest(self, limit: int | None) -> Sequence[TimelineEntry]:
        """Return the newest entries, newest first."""
        return [_ENTRY.value(row) for row in self._db.rows(_NEWEST, (at_most(limit),))]

    def before(self, number: int | None, limit: int) -> Sequence[TimelineEntry]:
        """Return the newest entries before that number, newest first; None: of all."""
        rows = self._db.rows(_BEFORE, (ALL if number is None else min(number, ALL), limit))
        return [_ENTRY.value(row) for row in rows]

    def began(self, number: int) -> datetime | None:
        """Return when the first entry from that number on began; None: the number is 0, or there is none."""
        row = self._db.row(_BEGAN, (min(number, ALL),)) if number else None
        return datetime.fromisoformat(row["created_at"]) if row else None

    def begun(self, low: int, before: int | None) -> Sequence[tuple[datetime, int]]:
        """Return the entries from a number on and before another one, each with the time at which it began."""
        rows = self._db.rows(_BEGUN, (min(low, ALL), ALL if before is None else min(before, ALL)))
        return [(datetime.fromisoformat(row["created_at"]), row["number"]) for row in rows]

    def last(self) -> int:
        """Return the last number that an entry got, although its plan may be forgotten; 0: there was none."""
        return self._count(_USED)

    def count(self) -> int:
        """Count all entries."""
        return self._count(_COUNT)

    def live(self) -> Iterator[TimelineEntry]:
        """Yield the live entries, newest first; read as far as the caller goes."""
        before = ALL
        while rows := self._db.rows(_LIVE, (before, _PAGE)):
            yield from map(_ENTRY.value, rows)
            before = rows[-1]["number"]

    def prompts_after(self, number: int) -> Sequence[TimelineEntry]:
        """Return the live prompts after that number."""
        return [_ENTRY.value(row) for row in self._db.rows(_PROMPTS_AFTER, (number,))]

    def live_of(self, plan_id: PlanId) -> Sequence[TimelineEntry]:
        """Return the live entries of a plan, newest first."""
        return [_ENTRY.value(row) for row in self._db.rows(_LIVE_OF_PLAN, (plan_id,))]

    def last_of(self, plan_id: PlanId) -> int:
        """Return the number of the newest entry of the plan's own work; 0: it has none."""
        return self._count(_LAST_OF_PLAN, (plan_id,))

    def has_restored_since(self, plan_id: PlanId, number: int) -> bool:
        """Return whether real paths came back from a checkpoint of the plan after that number."""
        return self._count(_RESTORES_SINCE, (plan_id, number)) > 0

    def left_open(self) -> Sequence[TimelineEntry]:
        """Return the live steps without an end: they run, or were cut off."""
        return [_ENTRY.value(row) for row in self._db.rows(_LEFT_OPEN)]

    def newest_of_kind(self, plan_id: PlanId, kind: DeedKind) -> TimelineEntry | None:
        """Return the plan's newest entry of a kind, live or not."""
        row = self._db.row(_OF_KIND, (plan_id, kind))
        return _ENTRY.value(row) if row else None

    def plans_after(self, number: int, plan_id: PlanId) -> Sequence[PlanId]:
        """Return the other plans with live entries after that number."""
        return [PlanId(row["plan_id"]) for row in self._db.rows(_NEWER_PLANS, (number, plan_id))]

    def to_redo(self) -> Sequence[TimelineEntry]:
        """Return the entries that can be redone, the one that was undone last first."""
        return [_ENTRY.value(row) for row in self._db.rows(_TO_REDO)]

    def to_undo(self, plan_id: PlanId) -> Sequence[TimelineEntry]:
        """Return the newest step of a plan that an undo can take back, and the newest restore of paths from it."""
        return [_ENTRY.value(row) for text in _TO_UNDO for row in self._db.rows(text, (plan_id,))]

    def undo(self, entry: TimelineEntry) -> None:
        """Record that an entry was undone, and can be redone: `undone`, both groups and the detail are its own."""
        order = self._count(_LAST_REDO) + 1
        columns = _ENTRY.some(
            entry,
            ("undone", "undone_from", "undone_to", "undone_seq", "after_group", "changed", "detail"),
        )
        self._update("entries", {**columns, "redo": order}, number=entry.number)

    def undone_to(self, number: int, group_id: GroupId) -> None:
        """Record the group of what an undo left."""
        self._update("entries", {"undone_to": group_id}, number=number)

    def redo(self, entry: TimelineEntry) -> None:
        """Record that an entry was redone; the detail is its own."""
        gone = dict.fromkeys(("redo", "undone_from", "undone_to", "undone_seq"))
        columns = _ENTRY.some(entry, ("detail",))
        self._update("entries", {**columns, **gone, "undone": 0}, number=entry.number)

    def clear_redo(self) -> None:
        """Record that nothing can be redone any longer."""
        self._db.execute(_CLEAR)

    def clear_redo_of(self, number: int) -> None:
        """Record that an entry that was undone cannot be redone any longer."""
        self._update("entries", dict.fromkeys(("redo", "undone_from", "undone_to")), number=number)

    def restored(self, plan_id: PlanId, group: CheckpointGroup) -> None:
        """Record that a plan was brought to a group exactly: what was undone alone later than that is there again."""
        self._db.execute(_EXACTLY, (group.seq, plan_id))
