"""Rows of steps, tool calls and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.text.ids import CallId, DecisionId, PlanId, as_id_prefix
from mulligan.errors import Ambiguous, DecisionNotFound
from mulligan.rows.columns import (
    json_as_given,
    json_object,
    json_text,
    json_texts,
    json_value,
    texts_json,
    time_text,
    time_value,
)
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.plans.tool import ToolCall, Undo
    from mulligan.rows.sql_connection import Row

_ADD_STEP = "INSERT INTO steps (plan_id, step_index, name, status, duration_ms) VALUES (?, ?, ?, ?, ?)"
_FORGET_STEPS = "DELETE FROM steps WHERE plan_id = ? AND step_index >= ?"
_SAVE_STEP = f"""
{_ADD_STEP}
ON CONFLICT (plan_id, step_index)
DO UPDATE SET name = excluded.name, status = excluded.status, duration_ms = excluded.duration_ms
"""
_STEPS = "SELECT * FROM steps WHERE plan_id = ? ORDER BY step_index"

_ADD_CALL = """
INSERT INTO tool_calls (
    call_id, plan_id, seq, line, done_seq, step_index, step_name, tool, resource, arguments_json, status,
    output_json, detail_json, error, superseded, started_at, duration_ms, undo
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SAVE_CALL = """
UPDATE tool_calls SET done_seq = ?, status = ?, output_json = ?, detail_json = ?, error = ?, duration_ms = ?
WHERE call_id = ?
"""
_SET_UNDO = "UPDATE tool_calls SET undo = ? WHERE call_id = ?"
_INTERRUPT = "UPDATE tool_calls SET status = 'interrupted' WHERE plan_id = ? AND status = 'running'"
_COUNT_CALLS = (
    "SELECT COUNT(*) AS count FROM tool_calls WHERE plan_id = ? AND superseded = 0 AND status = 'done'"
)
_CALLS = "SELECT * FROM tool_calls WHERE plan_id = ? ORDER BY seq"
_EXTERNAL_CALLS = "SELECT * FROM tool_calls WHERE plan_id = ? AND undo <> 'not_needed' ORDER BY seq"

_ADD_DECISION = """
INSERT INTO decisions (
    decision_id, plan_id, seq, line, parent_decision_id, type, step_index, step_name, question, chosen,
    alternatives_json, rationale, superseded, created_at
) VALUES (
    ?, ?, ?, ?,
    COALESCE(?, (
        SELECT decision_id FROM decisions
        WHERE plan_id = ? AND step_index = ? AND superseded = 0 ORDER BY seq LIMIT 1
    )),
    ?, ?, ?, ?, ?, ?, ?, ?, ?
)
"""
_COUNT_DECISIONS = "SELECT COUNT(*) AS count FROM decisions WHERE plan_id = ? AND superseded = 0"
_DECISIONS = "SELECT * FROM decisions WHERE plan_id = ? ORDER BY seq"
_DECISIONS_BY_PREFIX = "SELECT * FROM decisions WHERE decision_id LIKE ? ORDER BY decision_id LIMIT 10"


class StepRepository(RowRepository):
    """Keeps how far each step got."""

    def add(self, plan_id: PlanId, steps: Sequence[StepRecord]) -> None:
        """Record the steps of a new plan."""
        for step in steps:
            self._db.execute(_ADD_STEP, (plan_id, step.index, step.name, step.status, step.duration_ms))

    def replace(self, plan_id: PlanId, start: int, steps: Sequence[StepRecord]) -> None:
        """Record other steps from that index on."""
        self._db.execute(_FORGET_STEPS, (plan_id, start))
        self.add(plan_id, steps)

    def save(self, plan_id: PlanId, step: StepRecord) -> None:
        """Record how far a step got; a session's step comes with its first record."""
        self._db.execute(_SAVE_STEP, (plan_id, step.index, step.name, step.status, step.duration_ms))

    def list(self, plan_id: PlanId) -> Sequence[StepRecord]:
        """The plan's steps in order."""
        return [
            StepRecord(
                index=row["step_index"],
                name=row["name"],
                status=StepStatus(row["status"]),
                duration_ms=row["duration_ms"],
            )
            for row in self._db.rows(_STEPS, (plan_id,))
        ]


class ToolCallRepository(RowRepository):
    """Keeps tool calls."""

    def add(self, call: ToolCall) -> None:
        """Record a call that is about to run."""
        self._db.execute(
            _ADD_CALL,
            (
                call.call_id,
                call.plan_id,
                call.seq,
                call.line,
                call.done_seq,
                call.step_index,
                call.step_name,
                call.tool,
                call.resource,
                json_text(dict(call.arguments)),
                call.status,
                json_as_given(call.output),
                json_text(call.detail),
                call.error,
                int(call.superseded),
                time_text(call.started_at),
                call.duration_ms,
                call.undo,
            ),
        )

    def save(self, call: ToolCall) -> None:
        """Record how it ended."""
        self._db.execute(
            _SAVE_CALL,
            (
                call.done_seq,
                call.status,
                json_as_given(call.output),
                json_text(call.detail),
                call.error,
                call.duration_ms,
                call.call_id,
            ),
        )

    def set_undo(self, call_id: CallId, undo: Undo) -> None:
        """Record what became of taking a call back."""
        self._db.execute(_SET_UNDO, (undo, call_id))

    def count_done(self, plan_id: PlanId) -> int:
        """Count the live calls that succeeded."""
        return self._count(_COUNT_CALLS, (plan_id,))

    def interrupt(self, plan_id: PlanId) -> None:
        """Mark calls that never came to an end as interrupted."""
        self._db.execute(_INTERRUPT, (plan_id,))

    def list(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """The plan's calls in order."""
        return [_call(row) for row in self._db.rows(_CALLS, (plan_id,))]

    def each(self, plan_id: PlanId) -> Iterator[ToolCall]:
        """Return the same, read one by one inside the transaction: what a call printed can be megabytes."""
        return map(_call, self._db.each(_CALLS, (plan_id,)))

    def list_external(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """The plan's calls that had effects outside the sandboxes, or may have had, in order."""
        return [_call(row) for row in self._db.rows(_EXTERNAL_CALLS, (plan_id,))]


class DecisionRepository(RowRepository):
    """Keeps decisions."""

    def add(self, decision: Decision) -> None:
        """Record a decision as a child of the one that it names, or of the first live one of its step."""
        choice = decision.choice
        self._db.execute(
            _ADD_DECISION,
            (
                decision.decision_id,
                decision.plan_id,
                decision.seq,
                decision.line,
                decision.parent_decision_id,
                decision.plan_id,
                decision.step_index,
                decision.type,
                decision.step_index,
                decision.step_name,
                choice.question,
                choice.chosen,
                texts_json(choice.alternatives),
                choice.rationale,
                int(decision.superseded),
                time_text(decision.created_at),
            ),
        )

    def count_live(self, plan_id: PlanId) -> int:
        """Count the live decisions."""
        return self._count(_COUNT_DECISIONS, (plan_id,))

    def list(self, plan_id: PlanId) -> Sequence[Decision]:
        """The plan's decisions in order, superseded ones too."""
        return [_decision(row) for row in self._db.rows(_DECISIONS, (plan_id,))]

    def resolve(self, word: str) -> Decision:
        """Return the decision of any plan that an id or a unique prefix means; else DecisionNotFound or Ambiguous."""
        prefix = as_id_prefix(word)
        rows = self._db.rows(_DECISIONS_BY_PREFIX, (prefix + "%",)) if prefix else ()
        if not rows:
            from mulligan.rows.tables.id_hints import hint_of_other_kind

            raise DecisionNotFound(wanted=word, **hint_of_other_kind(self._db, word))
        if len(rows) > 1:
            raise Ambiguous(
                wanted=word,
                count="several decisions",
                candidates=", ".join(row["decision_id"] for row in rows),
                hint="name one with more characters of its id",
            )
        return _decision(rows[0])


def _call(row: Row) -> ToolCall:
    from mulligan.domain.plans.tool import (  # here: to count calls takes none of them
        CallStatus,
        ToolCall,
        Undo,
    )

    return ToolCall(
        call_id=CallId(row["call_id"]),
        plan_id=PlanId(row["plan_id"]),
        seq=row["seq"],
        line=row["line"],
        done_seq=row["done_seq"],
        step_index=row["step_index"],
        step_name=row["step_name"],
        tool=row["tool"],
        resource=row["resource"],
        arguments=json_object(row["arguments_json"]),
        status=CallStatus(row["status"]),
        output=json_value(row["output_json"]),
        detail=json_object(row["detail_json"]),
        error=row["error"],
        superseded=bool(row["superseded"]),
        started_at=time_value(row["started_at"]),
        duration_ms=row["duration_ms"],
        undo=Undo(row["undo"]),
    )


def _decision(row: Row) -> Decision:
    return Decision(
        decision_id=DecisionId(row["decision_id"]),
        plan_id=PlanId(row["plan_id"]),
        seq=row["seq"],
        line=row["line"],
        parent_decision_id=cast("DecisionId | None", row["parent_decision_id"]),
        type=DecisionType(row["type"]),
        step_index=row["step_index"],
        step_name=row["step_name"],
        choice=Choice(
            question=row["question"],
            chosen=row["chosen"],
            alternatives=json_texts(row["alternatives_json"]),
            rationale=row["rationale"],
        ),
        superseded=bool(row["superseded"]),
        created_at=time_value(row["created_at"]),
    )
