"""Rows of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from mulligan.domain.plans.plan import Conflict, Phase, Plan, PlanDefinition, PlanFailure, State
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId, as_id_prefix
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Ambiguous, NoPlansYet, PlanNotFound
from mulligan.rows.columns import (
    ALL,
    is_text,
    json_object,
    json_text,
    json_texts,
    json_value,
    texts_json,
    time_text,
    time_value,
)
from mulligan.rows.definition_document import definition_from_text, definition_to_text
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.state_document import state_from_text, state_to_text

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row
from mulligan.errors import Advice

_ADD = """
INSERT INTO plans (
    plan_id, ordinal, parent_plan_id, name, phase, state, attempt, step_index, steps_total, progress_json, line,
    current_group_id, last_checkpoint_id, failure_json, messages_json, conflicts_json, fence, seq, created_at,
    updated_at
) VALUES (?, (SELECT COALESCE(MAX(ordinal), 0) + 1 FROM plans), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
"""
_NO_STATE = "{}"
_DEFINE = "INSERT INTO definitions (plan_id, definition_json) VALUES (?, ?)"
_SAVE = """
UPDATE plans SET phase = ?, state = ?, attempt = ?, step_index = ?, progress_json = ?, line = ?,
    current_group_id = ?, last_checkpoint_id = ?, failure_json = ?, messages_json = ?, conflicts_json = ?,
    updated_at = ?
WHERE plan_id = ?
"""
_REDEFINE = "UPDATE definitions SET definition_json = ? WHERE plan_id = ?"
_RECOUNT = "UPDATE plans SET steps_total = ?, updated_at = ? WHERE plan_id = ?"
_KEEP_DEFINITION = """
INSERT INTO earlier_definitions (plan_id, before_line, definition_json)
SELECT plan_id, ?, definition_json FROM definitions WHERE plan_id = ?
ON CONFLICT (plan_id, before_line) DO NOTHING
"""
_EARLIER_DEFINITION = """
SELECT definition_json FROM earlier_definitions
WHERE plan_id = ? AND before_line > ? ORDER BY before_line LIMIT 1
"""
_PLANS = "SELECT plans.*, definition_json FROM plans JOIN definitions ON definitions.plan_id = plans.plan_id"
_GET = f"{_PLANS} WHERE plans.plan_id = ?"
_BY_PREFIX = f"{_PLANS} WHERE plans.plan_id LIKE ? ORDER BY ordinal LIMIT 10"
_BY_NAME = f"{_PLANS} WHERE name = ? ORDER BY ordinal LIMIT 10"
_LATEST = f"{_PLANS} WHERE parent_plan_id IS NULL ORDER BY ordinal DESC LIMIT 1"
_LIST = f"{_PLANS} ORDER BY ordinal DESC LIMIT ?"
_LIST_IN_STATE = f"{_PLANS} WHERE state = ? ORDER BY ordinal DESC LIMIT ?"
_COUNT = "SELECT COUNT(*) AS count FROM plans"
_COUNT_IN_STATE = "SELECT COUNT(*) AS count FROM plans WHERE state = ?"
_COUNT_CHILDREN = """
SELECT COUNT(*) AS count FROM spawns AS s JOIN plans AS p ON p.plan_id = s.plan_id
WHERE s.parent_plan_id = ? AND p.state <> 'cancelled'
"""
_LAST_SEQ = "SELECT seq AS number FROM plans WHERE plan_id = ?"
_SET_LAST_SEQ = "UPDATE plans SET seq = ? WHERE plan_id = ?"
_RAISE_FENCE = "UPDATE plans SET fence = fence + 1 WHERE plan_id = ? RETURNING fence AS number"
_NAMES = "SELECT DISTINCT name FROM plans ORDER BY name LIMIT 1000"


class PlanRepository(RowRepository):
    """Keeps plans."""

    def add(self, plan: Plan) -> None:
        """Record a new plan."""
        self._db.execute(
            _ADD,
            (
                plan.plan_id,
                plan.parent_plan_id,
                plan.name,
                plan.phase,
                plan.state,
                plan.attempt,
                plan.progress.step_index,
                len(plan.definition.steps),
                _NO_STATE,
                plan.line,
                plan.current_group_id,
                plan.last_checkpoint_id,
                _failure_text(plan.failure),
                texts_json(plan.messages),
                json_text([conflict.to_json() for conflict in plan.conflicts]),
                plan.fence,
                time_text(plan.created_at),
                time_text(plan.updated_at),
            ),
        )
        self._db.execute(_DEFINE, (plan.plan_id, definition_to_text(plan.definition)))
        self.save(plan)  # long outputs that it begins with are rows of their own, which name the plan

    def get(self, plan_id: PlanId) -> Plan:
        """Return the plan of that id, or raise PlanNotFound."""
        row = self._db.row(_GET, (plan_id,))
        if row is None:
            raise PlanNotFound(wanted=plan_id)
        return self._plan(row)

    def save(self, plan: Plan) -> None:
        """Record the present state of the plan; the definition and the fence are not written."""
        self._db.execute(
            _SAVE,
            (
                plan.phase,
                plan.state,
                plan.attempt,
                plan.progress.step_index,
                state_to_text(self._db, plan.plan_id, plan.progress),
                plan.line,
                plan.current_group_id,
                plan.last_checkpoint_id,
                _failure_text(plan.failure),
                texts_json(plan.messages),
                json_text([conflict.to_json() for conflict in plan.conflicts]),
                time_text(plan.updated_at),
                plan.plan_id,
            ),
        )

    def redefine(self, plan: Plan) -> None:
        """Record another definition of the plan; earlier lines of its history keep the one they had."""
        definition = plan.definition
        self._db.execute(_KEEP_DEFINITION, (plan.line, plan.plan_id))
        self._db.execute(_REDEFINE, (definition_to_text(definition), plan.plan_id))
        self._db.execute(_RECOUNT, (len(definition.steps), time_text(plan.updated_at), plan.plan_id))

    def definition_on(self, plan_id: PlanId, line: int) -> PlanDefinition:
        """Return the definition at the end of that line; of the present line, the present one."""
        earlier = self._db.row(_EARLIER_DEFINITION, (plan_id, line))
        if earlier is None:
            return self.get(plan_id).definition
        return definition_from_text(earlier["definition_json"])

    def resolve(self, word: str) -> Plan:
        """Return the plan that an id, unique prefix, unique name or `latest` means; else PlanNotFound or Ambiguous."""
        if not is_text(word):
            raise PlanNotFound(wanted=word)
        rows = self._db.rows(_LATEST) if word == "latest" else self._db.rows(_BY_NAME, (word,))
        prefix = as_id_prefix(word)
        if not rows and prefix is not None:
            rows = self._db.rows(_BY_PREFIX, (prefix + "%",))
        if not rows and word == "latest":
            raise NoPlansYet(wanted=word)
        if not rows:
            raise PlanNotFound(wanted=word, **self._meant(word))
        if len(rows) > 1:
            found = [self._plan(row) for row in rows]
            told = "; ".join(f"{plan.plan_id} is {plan.phase}/{plan.state}" for plan in found)
            raise Ambiguous(
                wanted=word,
                count="several plans",
                candidates=", ".join(plan.plan_id for plan in found),
                hint=f"{told}. Name one by its id (more characters of it), or the newest of all by `latest`",
            )
        return self._plan(rows[0])

    def _meant(self, word: str) -> dict[str, Advice]:
        """The hint for a word that names no plan."""
        from mulligan.rows.tables.id_hints import hint_of_other_kind

        near = nearest_word(word, [row["name"] for row in self._db.rows(_NAMES)])
        if near:
            return {"hint": Advice(f"did you mean {near!r}? ", PlanNotFound.usual_advice())}
        return hint_of_other_kind(self._db, word)

    def list(self, state: State | None, *, limit: int | None = None) -> Sequence[Plan]:
        """Return the plans, oldest first; of more than `limit` the newest."""
        most = ALL if limit is None else limit
        rows = (
            self._db.rows(_LIST, (most,)) if state is None else self._db.rows(_LIST_IN_STATE, (state, most))
        )
        return [self._plan(row) for row in rows[::-1]]

    def count(self, state: State | None) -> int:
        """Count the plans."""
        return self._count(_COUNT) if state is None else self._count(_COUNT_IN_STATE, (state,))

    def count_children(self, plan_id: PlanId) -> int:
        """Count the child plans of a plan that were not cancelled."""
        return self._count(_COUNT_CHILDREN, (plan_id,))

    def last_seq(self, plan_id: PlanId) -> int:
        """Return the sequence number that the plan used last."""
        return self._number(_LAST_SEQ, plan_id)

    def set_last_seq(self, plan_id: PlanId, seq: int) -> None:
        """Record the sequence number that the plan used last."""
        self._db.execute(_SET_LAST_SEQ, (seq, plan_id))

    def raise_fence(self, plan_id: PlanId) -> int:
        """Lock out every earlier claimant, and return the new fence."""
        return self._number(_RAISE_FENCE, plan_id)

    def _number(self, statement: str, plan_id: PlanId) -> int:
        row = self._db.row(statement, (plan_id,))
        if row is None:
            raise PlanNotFound(wanted=plan_id)
        return int(row["number"])

    def _plan(self, row: Row) -> Plan:
        plan_id = PlanId(row["plan_id"])
        return Plan(
            plan_id=plan_id,
            parent_plan_id=row["parent_plan_id"],
            definition=definition_from_text(row["definition_json"]),
            phase=Phase(row["phase"]),
            state=State(row["state"]),
            attempt=row["attempt"],
            progress=state_from_text(self._db, plan_id, row["progress_json"]),
            line=row["line"],
            current_group_id=cast("GroupId | None", row["current_group_id"]),
            last_checkpoint_id=cast("CheckpointId | None", row["last_checkpoint_id"]),
            failure=_failure(row["failure_json"]),
            messages=json_texts(row["messages_json"]),
            conflicts=_conflicts(row["conflicts_json"]),
            fence=row["fence"],
            created_at=time_value(row["created_at"]),
            updated_at=time_value(row["updated_at"]),
        )


def _failure_text(failure: PlanFailure | None) -> str | None:
    return json_text(failure.to_json()) if failure else None


def _failure(text: str | None) -> PlanFailure | None:
    if text is None:
        return None
    document = json_object(text)
    return PlanFailure(
        message=str(document["message"]),
        step=cast("str | None", document["step"]),
        tool=cast("str | None", document["tool"]),
        checkpoint=cast("str | None", document["checkpoint"]),
    )


def _conflicts(text: str) -> tuple[Conflict, ...]:
    return tuple(Conflict(**each) for each in cast("list[dict[str, str]]", json_value(text)))
