"""Rows of lines of history, intents and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from msgspec import convert, to_builtins
from msgspec.structs import replace

from mulligan.domain.history.lines import Line, Segment
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.intent import Intent, SandboxWork, Work
from mulligan.domain.text.ids import GroupId, IntentId, PlanId
from mulligan.rows.columns import OBJECT, TIME, Format, Layout, at_most, json_object, json_text, word
from mulligan.rows.definition_document import definition_from_text, definition_to_text
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.plans.plan import PlanDefinition
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.sql_connection import Row

_LINE = Layout(Line)
_LINES = "SELECT * FROM lines WHERE plan_id = ? ORDER BY line"
# Each kind of row has its own column for when it was recorded; a call that never ended has no place.
_TOLD_BY = (
    ("checkpoint_groups", "seq"),
    ("decisions", "seq"),
    ("tool_calls", "done_seq"),
    ("entries", "seq"),
)
_SUPERSEDE = "UPDATE {table} SET superseded = 1 WHERE plan_id = ? AND superseded = 0"
_REVIVE = "UPDATE {table} SET superseded = 0 WHERE plan_id = ? AND line = ? AND {seq} <= ?"
_FOLLOW = """
UPDATE checkpoints SET superseded = (
    SELECT g.superseded FROM checkpoint_groups AS g WHERE g.group_id = checkpoints.group_id
) WHERE plan_id = ?
"""


def _definition_text(definition: PlanDefinition | None) -> str | None:
    return definition_to_text(definition) if definition else None


def _definition(text: str | None) -> PlanDefinition | None:
    return definition_from_text(text) if text else None


_INTENT = Layout(
    Intent,
    apart=["work"],
    created_at=TIME,
    definition=Format(_definition_text, _definition, "_json"),
)
_LAST_INTENT = "SELECT COALESCE(MAX(seq), 0) AS count FROM intents"
_CLOSE_INTENT = "DELETE FROM intents WHERE intent_id = ?"
_INTENTS = "SELECT * FROM intents WHERE plan_id = ? ORDER BY seq"
_ALL_INTENTS = "SELECT * FROM intents ORDER BY seq"

_EVENT = Layout(Event, type=word(EventType), data=OBJECT, created_at=TIME)
_EVENTS = "SELECT * FROM events WHERE plan_id = ? AND seq > ? ORDER BY seq DESC LIMIT ?"
_NEWEST_EVENT = "SELECT * FROM events WHERE plan_id = ? AND type = ? ORDER BY seq DESC LIMIT 1"
_COUNT_EVENTS = "SELECT COUNT(*) AS count FROM events WHERE plan_id = ? AND seq > ?"


class HistoryRepository(RowRepository):
    """Keeps the lines of history and what is live on them."""

    def start(self, plan_id: PlanId, line: Line) -> None:
        """Start a line."""
        self._insert("lines", {**_LINE.columns(line), "plan_id": plan_id})

    def lines(self, plan_id: PlanId) -> Sequence[Line]:
        """Return all lines of the plan."""
        return [_LINE.value(row) for row in self._db.rows(_LINES, (plan_id,))]

    def make_live(self, plan_id: PlanId, segments: Sequence[Segment]) -> None:
        """Make what lies on the segments live, and all else of the plan superseded: groups, decisions and so on."""
        for table, seq in _TOLD_BY:
            self._db.execute(_SUPERSEDE.format(table=table), (plan_id,))
            for segment in segments:
                revive = _REVIVE.format(table=table, seq=seq)
                self._db.execute(revive, (plan_id, segment.line, segment.up_to_seq))
        self._db.execute(_FOLLOW, (plan_id,))

    def spare(self, group_id: GroupId) -> None:
        """Make one group live in spite of where it lies."""
        for table in ("checkpoint_groups", "checkpoints"):
            self._update(table, {"superseded": 0}, group_id=group_id)

    def leave_behind(self, group_id: GroupId) -> None:
        """Make one group superseded: what it was taken for did not happen."""
        for table in ("checkpoint_groups", "checkpoints"):
            self._update(table, {"superseded": 1}, group_id=group_id)

    def rest_at(self, group_id: GroupId) -> None:
        """Make a group one that a run may start from, wherever it was taken: the one a rollback went to."""
        self._update("checkpoint_groups", {"between_steps": 1}, group_id=group_id)


class IntentRepository(RowRepository):
    """Keeps what is under way."""

    def add(self, intent: Intent) -> None:
        """Record what is about to be done."""
        # What is on a server can be finished by any machine.
        anywhere = bool(intent.locations) and all(map(self._places.is_clone, intent.locations))
        host = None if anywhere else self._places.host
        work = {"kind": intent.kind, "data_json": self._work_text(intent), "host": host}
        seq = self._count(_LAST_INTENT) + 1
        self._insert("intents", {**_INTENT.columns(intent), **work, "seq": seq})

    def save(self, intent: Intent) -> None:
        """Record how far it is."""
        self._update("intents", {"data_json": self._work_text(intent)}, intent_id=intent.intent_id)

    def close(self, intent_id: IntentId) -> None:
        """Remove what is done."""
        self._db.execute(_CLOSE_INTENT, (intent_id,))

    def list(self, plan_id: PlanId) -> Sequence[Intent]:
        """Return the open intents of a plan, oldest first."""
        return [self._intent(row) for row in self._db.rows(_INTENTS, (plan_id,))]

    def all(self) -> Sequence[Intent]:
        """Return the open intents of all plans, oldest first."""
        return [self._intent(row) for row in self._db.rows(_ALL_INTENTS)]

    def of_real_resources(self) -> Sequence[Intent]:
        """Return the open intents of any plan that change real resources, oldest first."""
        return [intent for intent in self.all() if intent.locations]

    def _work_text(self, intent: Intent) -> str:
        """Write the work without its tag, which has a column of its own."""
        work = intent.work
        if not isinstance(work, SandboxWork):
            work = replace(work, locations=tuple(map(self._places.kept, work.locations)))
        document = cast("JsonObject", to_builtins(work))
        del document["kind"]
        return json_text(document)

    def _intent(self, row: Row) -> Intent:
        work = convert({"kind": row["kind"], **json_object(row["data_json"])}, Work)
        if not isinstance(work, SandboxWork):
            whole = tuple(self._places.whole_at(row["host"], location) for location in work.locations)
            work = replace(work, locations=whole)
        return _INTENT.value(row, work=work)


class EventRepository(RowRepository):
    """Keeps the log of each plan."""

    def add(self, event: Event) -> None:
        """Write one entry."""
        self._insert("events", _EVENT.columns(event))

    def list(self, plan_id: PlanId, *, limit: int | None = None, after: int = 0) -> Sequence[Event]:
        """Return the plan's log after that sequence number, in order; of more than `limit` entries the newest."""
        rows = self._db.rows(_EVENTS, (plan_id, after, at_most(limit)))
        return [_EVENT.value(row) for row in rows[::-1]]

    def newest(self, plan_id: PlanId, type: EventType) -> Event | None:
        """Return the newest entry of that type."""
        row = self._db.row(_NEWEST_EVENT, (plan_id, type))
        return _EVENT.value(row) if row else None

    def count(self, plan_id: PlanId, *, after: int = 0) -> int:
        """Count the entries of the plan's log after that sequence number."""
        return self._count(_COUNT_EVENTS, (plan_id, after))
