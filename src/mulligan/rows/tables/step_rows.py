"""Rows of steps, tool calls and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan import errors
from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.handle import member_number
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.errors import Advice, NextStep
from mulligan.rows.columns import (
    AS_GIVEN,
    FLAG,
    OBJECT,
    PLAIN,
    TEXTS,
    TIME,
    Layout,
    is_text,
    json_object,
    word,
)
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.plans.tool import ToolCall, Undo
    from mulligan.domain.text.ids import CallId, PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.sql_connection import Row

_STEP = Layout(StepRecord, index=PLAIN.called("step_index"), status=word(StepStatus))
_FORGET_STEPS = "DELETE FROM steps WHERE plan_id = ? AND step_index >= ?"
_SAVE_STEP = """
INSERT INTO steps (plan_id, step_index, name, status, duration_ms) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (plan_id, step_index)
DO UPDATE SET name = excluded.name, status = excluded.status, duration_ms = excluded.duration_ms
"""
_STEPS = "SELECT * FROM steps WHERE plan_id = ? ORDER BY step_index"
# From the log, which has the ends of what a call printed; all of it may be megabytes.
_LOGGED_CALLS = (
    "SELECT data_json FROM events WHERE plan_id = ? AND type = 'tool_called' ORDER BY seq DESC LIMIT ?"
)

_INTERRUPT = "UPDATE tool_calls SET status = 'interrupted' WHERE plan_id = ? AND status = 'running'"
_COUNT_CALLS = (
    "SELECT COUNT(*) AS count FROM tool_calls WHERE plan_id = ? AND superseded = 0 AND status = 'done'"
)
_CALLS = "SELECT * FROM tool_calls WHERE plan_id = ? ORDER BY seq"
_CALL = "SELECT * FROM tool_calls WHERE call_id = ?"
_RUNNING_CALLS = "SELECT * FROM tool_calls WHERE plan_id = ? AND status = 'running' ORDER BY seq"
_IN_BACKGROUND = """
SELECT COUNT(*) AS count FROM tool_calls WHERE plan_id = ? AND step_index = ? AND detail_json LIKE '%"background":true%'
"""
_EXTERNAL_CALLS = "SELECT * FROM tool_calls WHERE plan_id = ? AND undo <> 'not_needed' ORDER BY seq"

_DECISION = Layout(
    Decision,
    type=word(DecisionType),
    choice=Layout(Choice, alternatives=TEXTS),
    superseded=FLAG,
    created_at=TIME,
)
_FIRST_OF_STEP = """
SELECT decision_id FROM decisions
WHERE plan_id = ? AND step_index = ? AND superseded = 0 ORDER BY seq LIMIT 1
"""
_COUNT_DECISIONS = "SELECT COUNT(*) AS count FROM decisions WHERE plan_id = ? AND superseded = 0"
_DECISIONS = "SELECT * FROM decisions WHERE plan_id = ? ORDER BY seq"
_NTH_DECISION = "SELECT * FROM decisions WHERE plan_id = ? ORDER BY seq LIMIT 1 OFFSET ?"
_STEPS_DECIDED = """
SELECT step_name FROM decisions WHERE superseded = 0 ORDER BY decision_id DESC LIMIT 500
"""
_NEWEST_OF_STEP = """
SELECT plan_id FROM decisions JOIN plans USING (plan_id)
WHERE step_name = ? AND superseded = 0 ORDER BY ordinal DESC LIMIT 1
"""
_OF_STEP = """
SELECT * FROM decisions WHERE plan_id = ? AND step_name = ? AND superseded = 0
ORDER BY type = 'user_intervention', seq LIMIT 10
"""
_OF_STEP_IN = """
SELECT decisions.* FROM decisions JOIN plans USING (plan_id)
WHERE handle = ? AND handle <> '' AND step_name = ? AND superseded = 0
ORDER BY type = 'user_intervention', decisions.seq LIMIT 10
"""


class StepRepository(RowRepository):
    """Keeps how far each step got."""

    def add(self, plan_id: PlanId, steps: Sequence[StepRecord]) -> None:
        """Record the steps of a new plan."""
        for step in steps:
            self._insert("steps", {"plan_id": plan_id, **_STEP.columns(step)})

    def replace(self, plan_id: PlanId, start: int, steps: Sequence[StepRecord]) -> None:
        """Record other steps from that index on."""
        self._db.execute(_FORGET_STEPS, (plan_id, start))
        self.add(plan_id, steps)

    def save(self, plan_id: PlanId, step: StepRecord) -> None:
        """Record how far a step got; a session's step comes with its first record."""
        self._db.execute(_SAVE_STEP, (plan_id, step.index, step.name, step.status, step.duration_ms))

    def list(self, plan_id: PlanId) -> Sequence[StepRecord]:
        """Return the plan's steps in order."""
        return [_STEP.value(row) for row in self._db.rows(_STEPS, (plan_id,))]

    def printed(self, plan_id: PlanId, limit: int) -> dict[int, JsonObject]:
        """Return what is logged of the newest call of each step, by the step's index; of the newest calls only."""
        logged = (json_object(row["data_json"]) for row in self._db.rows(_LOGGED_CALLS, (plan_id, limit)))
        found: dict[int, JsonObject] = {}
        for data in logged:
            if "stdout" in data:
                found.setdefault(int(str(data["index"])), data)
        return found


@cache
def _calls() -> Layout[ToolCall]:
    from mulligan.domain.plans.tool import (  # here: counting calls takes none of them
        CallStatus,
        ToolCall,
        Undo,
    )

    return Layout(
        ToolCall,
        arguments=OBJECT,
        status=word(CallStatus),
        output=AS_GIVEN,
        detail=OBJECT,
        superseded=FLAG,
        started_at=TIME,
        undo=word(Undo),
    )


class ToolCallRepository(RowRepository):
    """Keeps tool calls."""

    def add(self, call: ToolCall) -> None:
        """Record a call that is about to run."""
        self._insert("tool_calls", _calls().columns(call))

    def save(self, call: ToolCall) -> None:
        """Record how it ended, and the step that it belongs to by then."""
        ended = ("step_index", "step_name", "done_seq", "status", "output", "detail", "error", "duration_ms")
        self._update("tool_calls", _calls().some(call, ended), call_id=call.call_id)

    def mark_undone(self, call_id: CallId, number: int) -> None:
        """Record the entry that took a call of an agent back; a hook may have recorded its end meanwhile."""
        call = _calls().value(self._db.rows(_CALL, (call_id,))[0])
        marked = replace(call, detail={**call.detail, "undone": number})
        self._update("tool_calls", _calls().some(marked, ("detail",)), call_id=call_id)

    def set_undo(self, call_id: CallId, undo: Undo) -> None:
        """Record what became of taking a call back."""
        self._update("tool_calls", {"undo": undo}, call_id=call_id)

    def count_done(self, plan_id: PlanId) -> int:
        """Count the live calls that succeeded."""
        return self._count(_COUNT_CALLS, (plan_id,))

    def interrupt(self, plan_id: PlanId) -> None:
        """Mark calls that never came to an end as interrupted."""
        self._db.execute(_INTERRUPT, (plan_id,))

    def list(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """Return the plan's calls in order."""
        return list(map(_calls().value, self._db.rows(_CALLS, (plan_id,))))

    def each(self, plan_id: PlanId) -> Iterator[ToolCall]:
        """Return the same, read one by one inside the transaction: what a call printed can be megabytes."""
        return map(_calls().value, self._db.each(_CALLS, (plan_id,)))

    def running(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """Return the plan's calls without an end, the oldest first."""
        return list(map(_calls().value, self._db.rows(_RUNNING_CALLS, (plan_id,))))

    def any_in_background(self, plan_id: PlanId, step_index: int) -> bool:
        """Return whether a call of a step, when it ended, left something running."""
        return self._count(_IN_BACKGROUND, (plan_id, step_index)) > 0

    def list_external(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """Return the plan's calls that had effects outside the sandboxes, or may have had, in order."""
        return list(map(_calls().value, self._db.rows(_EXTERNAL_CALLS, (plan_id,))))


class DecisionRepository(RowRepository):
    """Keeps decisions."""

    def add(self, decision: Decision) -> None:
        """Record a decision as a child of the one that it names, or of the first live one of its step."""
        columns = _DECISION.columns(decision)
        if decision.parent_decision_id is None:
            first = self._db.row(_FIRST_OF_STEP, (decision.plan_id, decision.step_index))
            columns["parent_decision_id"] = first["decision_id"] if first else None
        self._insert("decisions", columns)

    def count_live(self, plan_id: PlanId) -> int:
        """Count the live decisions."""
        return self._count(_COUNT_DECISIONS, (plan_id,))

    def list(self, plan_id: PlanId) -> Sequence[Decision]:
        """Return the plan's decisions in order, superseded ones too."""
        return [_DECISION.value(row) for row in self._db.rows(_DECISIONS, (plan_id,))]

    def resolve(self, word: str) -> Decision:
        """Return the decision that a handle (`tune/d1`), its step's name, an id or a unique prefix means.

        A step's name means the live decision of the newest plan that has one of that step; `tune/STEP` that of a plan.
        Else DecisionNotFound, or Ambiguous with the candidates.
        """
        if not is_text(word):
            raise errors.DecisionNotFound(wanted=word)
        if rows := self._named(word):
            if len(rows) > 1:
                raise errors.Ambiguous(
                    wanted=word,
                    count="several decisions of that step",
                    candidates=", ".join(row["decision_id"] for row in rows),
                    hint=Advice(
                        "name one by its number: ", NextStep("tree", plan=rows[0]["plan_id"]), " shows them"
                    ),
                )
            return _DECISION.value(rows[0])
        try:
            return _DECISION.value(self._by_prefix("decisions", "decision_id", word, errors.DecisionNotFound))
        except errors.DecisionNotFound as exc:
            raise self._with_nearest(word, exc) from None

    def _with_nearest(self, word: str, exc: errors.DecisionNotFound) -> errors.DecisionNotFound:
        """Return the error with the step that was probably meant."""
        from mulligan.domain.text.names import nearest_word

        near = nearest_word(word, (row["step_name"] for row in self._db.rows(_STEPS_DECIDED)))
        if near is None:
            return exc
        return errors.DecisionNotFound(wanted=word, hint=Advice(f"did you mean {near!r}? ", exc.next_step))

    def _named(self, word: str) -> Sequence[Row]:
        """Return the decisions that a handle or the name of a step means."""
        from mulligan.rows.tables.plan_rows import PlanRepository

        if (member := member_number(word, "d")) is not None:
            plan_id = PlanRepository(self._db).resolve(member[0]).plan_id
            return self._db.rows(_NTH_DECISION, (plan_id, member[1] - 1)) if member[1] else ()
        newest = self._db.row(_NEWEST_OF_STEP, (word,))
        if newest is not None:
            return _own(self._db.rows(_OF_STEP, (newest["plan_id"], word)))
        plan, _, step = word.partition("/")
        return _own(self._db.rows(_OF_STEP_IN, (plan, step))) if step else ()


def _own(rows: Sequence[Row]) -> Sequence[Row]:
    """Return what a step decided, without the guidance of its corrections; a step may have nothing but guidance."""
    return [row for row in rows if row["type"] != DecisionType.USER_INTERVENTION] or rows
