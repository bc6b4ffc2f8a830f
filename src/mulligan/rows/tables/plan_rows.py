"""Rows of plans."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, convert

from mulligan import errors
from mulligan.domain.plans.handle import free_handle, handles_for, numbered_handles
from mulligan.domain.plans.plan import Conflict, Phase, Plan, PlanDefinition, PlanFailure, State
from mulligan.domain.text.ids import PlanId, as_id_prefix
from mulligan.domain.text.json_value import read_json
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Advice
from mulligan.rows.columns import TEXTS, TIME, Format, Layout, at_most, is_text, json_text, time_text, word
from mulligan.rows.definition_document import definition_from_text, definition_to_text
from mulligan.rows.row_repository import RowRepository
from mulligan.rows.state_document import state_from_text, state_to_text

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row, Value


def _failure_text(failure: PlanFailure | None) -> str | None:
    return json_text(failure.to_json()) if failure else None


def _failure(text: str | None) -> PlanFailure | None:
    return convert(read_json(text), PlanFailure) if text is not None else None


def _conflicts_text(conflicts: Sequence[Conflict]) -> str:
    return json_text([conflict.to_json() for conflict in conflicts])


def _conflicts(text: str) -> tuple[Conflict, ...]:
    return tuple(Conflict(**each) for each in read_json(text))


_PLAN = Layout(
    Plan,
    apart=["definition", "progress"],
    phase=word(Phase),
    state=word(State),
    failure=Format(_failure_text, _failure, "_json"),
    messages=TEXTS,
    hidden=TEXTS,
    conflicts=Format(_conflicts_text, _conflicts, "_json"),
    created_at=TIME,
    updated_at=TIME,
)
# What changes while a plan runs, beside its progress: neither the definition nor the fence.
_CHANGING = (
    *("phase", "state", "attempt", "line", "current_group_id", "last_checkpoint_id"),
    *("failure", "messages", "conflicts", "hidden", "updated_at"),
)
_OVER = (
    State.COMPLETE,
    State.CONSTRAINED,
    State.APPLIED,
    State.CANCELLED,
)  # no worker has anything to do then
_CLOSE_SUBMISSION = "UPDATE submissions SET closed = 1 WHERE plan_id = ?"
_NO_STATE = "{}"
_LAST_ORDINAL = "SELECT COALESCE(MAX(ordinal), 0) AS count FROM plans"
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
# Every plan has a handle; what is said of it lets SQLite use the index.
_BY_HANDLE = f"{_PLANS} WHERE handle = ? AND handle <> ''"
_BY_NAME = f"{_PLANS} WHERE name = ? ORDER BY ordinal LIMIT 10"
_LATEST = f"{_PLANS} WHERE parent_plan_id IS NULL ORDER BY ordinal DESC LIMIT 1"
_WITHOUT_GROUP = f"""
{_PLANS} WHERE current_group_id IS NULL AND parent_plan_id IS NULL AND state NOT IN ('applied', 'cancelled')
"""
_LIST = f"{_PLANS} ORDER BY ordinal DESC LIMIT ?"
_LIST_IN_STATE = f"{_PLANS} WHERE state = ? ORDER BY ordinal DESC LIMIT ?"
_NEWEST_APPLIED = """
SELECT plan_id FROM plans WHERE phase = 'apply' AND state = 'applied'
AND EXISTS (SELECT 1 FROM real_changes WHERE real_changes.plan_id = plans.plan_id AND act = 'apply')
ORDER BY ordinal DESC LIMIT 1
"""
# Rows know that all steps of a finished plan changed nothing.
IDLE = """
state IN ('complete', 'applied') AND phase <> 'strategize'
AND EXISTS (
    SELECT 1 FROM entries AS e
    WHERE e.plan_id = plans.plan_id AND e.superseded = 0 AND e.step_index IS NOT NULL
) AND NOT EXISTS (
    SELECT 1 FROM entries AS e
    WHERE e.plan_id = plans.plan_id AND e.superseded = 0 AND e.step_index IS NOT NULL
    AND (e.changed IS NULL OR e.changed <> 0)
) AND NOT EXISTS (
    SELECT 1 FROM checkpoints AS c
    WHERE c.plan_id = plans.plan_id AND c.superseded = 0 AND c.parent_group_id IS NOT NULL AND c.modified <> 0
)
"""
_LATEST_NOT_IDLE = (
    f"SELECT plan_id FROM plans WHERE parent_plan_id IS NULL AND NOT ({IDLE}) ORDER BY ordinal DESC LIMIT 1"  # noqa: S608 - our own text
)
_LATEST_WITH_GROUPS = """
SELECT plan_id FROM plans WHERE parent_plan_id IS NULL AND (
    SELECT COUNT(*) FROM checkpoint_groups AS g WHERE g.plan_id = plans.plan_id AND g.superseded = 0
) >= ? ORDER BY ordinal DESC LIMIT 1
"""
_COUNT = "SELECT COUNT(*) AS count FROM plans"
_COUNT_IN_STATE = "SELECT COUNT(*) AS count FROM plans WHERE state = ?"
_COUNT_CHILDREN = """
SELECT COUNT(*) AS count FROM spawns AS s JOIN plans AS p ON p.plan_id = s.plan_id
WHERE s.parent_plan_id = ? AND p.state <> 'cancelled'
"""
_COUNTERS = "SELECT seq, groups FROM plans WHERE plan_id = ?"
_HANDLE = "SELECT handle FROM plans WHERE plan_id = ?"
_HANDLES_BETWEEN = "SELECT handle FROM plans WHERE handle >= ? AND handle < ? AND handle <> ''"
_RAISE_FENCE = "UPDATE plans SET fence = fence + ? WHERE plan_id = ? RETURNING fence AS number"
_HANDLES = "SELECT handle FROM plans ORDER BY ordinal DESC LIMIT 500"


_ANY_INTENT = "SELECT 1 AS found FROM intents LIMIT 1"
_KINDS_OF_INTENTS = "SELECT kind FROM intents WHERE plan_id = ?"
# The tables with rows of a plan: each before those that it refers to.
OWNED = (
    *(
        "checkpoints",
        "corrections",
        "checkpoint_groups",
        "decisions",
        "tool_calls",
        "steps",
        "lines",
        "outputs",
    ),
    *(
        "agent_moments",
        "agent_sessions",
        "graph_positions",
        "intents",
        "events",
        "sandboxes",
        "definitions",
        "earlier_definitions",
        "real_changes",
        "entries",
        "spawns",
        "submissions",
        "plans",
    ),
)


class Counters(Struct):
    """The numbers that a plan used last."""

    seq: int  # in the order of all that happened to it
    groups: int  # of its checkpoint groups


class PlanRepository(RowRepository):
    """Keeps plans."""

    def add(self, plan: Plan) -> None:
        """Record a new plan."""
        new: dict[str, Value] = {
            "ordinal": self._count(_LAST_ORDINAL) + 1,
            "name": plan.name,
            "step_index": plan.progress.step_index,
            "steps_total": len(plan.definition.steps),
            "progress_json": _NO_STATE,
            "seq": 0,
        }
        self._insert("plans", {**_PLAN.columns(plan), **new})
        definition = definition_to_text(plan.definition)
        self._insert("definitions", {"plan_id": plan.plan_id, "definition_json": definition})
        self.save(plan)  # long outputs that it begins with are rows of their own, which name the plan

    def get(self, plan_id: PlanId) -> Plan:
        """Return the plan of that id, or raise PlanNotFound."""
        row = self._db.row(_GET, (plan_id,))
        if row is None:
            raise errors.PlanNotFound(wanted=plan_id)
        return self._plan(row)

    def save(self, plan: Plan) -> None:
        """Record the present state of the plan; the definition and the fence are not written."""
        columns = _PLAN.some(plan, _CHANGING)
        columns["step_index"] = plan.progress.step_index
        columns["progress_json"] = state_to_text(self._db, plan.plan_id, plan.progress)
        self._update("plans", columns, plan_id=plan.plan_id)
        if plan.state in _OVER and plan.phase is not Phase.STRATEGIZE:
            self._db.execute(_CLOSE_SUBMISSION, (plan.plan_id,))

    def redefine(self, plan: Plan) -> None:
        """Record another definition of the plan; earlier lines of its history keep the one they had."""
        text = definition_to_text(plan.definition)
        counted: dict[str, Value] = {
            "steps_total": len(plan.definition.steps),
            "updated_at": time_text(plan.updated_at),
        }
        self._db.execute(_KEEP_DEFINITION, (plan.line, plan.plan_id))
        self._update("definitions", {"definition_json": text}, plan_id=plan.plan_id)
        self._update("plans", counted, plan_id=plan.plan_id)

    def definition_on(self, plan_id: PlanId, line: int) -> PlanDefinition:
        """Return the definition at the end of that line; of the present line, the present one."""
        earlier = self._db.row(_EARLIER_DEFINITION, (plan_id, line))
        if earlier is None:
            return self.get(plan_id).definition
        return definition_from_text(earlier["definition_json"])

    def resolve(self, word: str) -> Plan:
        """Return the plan that a handle, unique name, id, unique prefix or `latest` means.

        Else PlanNotFound, or Ambiguous with the candidates.
        """
        if not is_text(word):
            raise errors.PlanNotFound(wanted=word)
        if word == "latest":
            rows = self._db.rows(_LATEST)
        else:
            rows = self._db.rows(_BY_HANDLE, (word,)) or self._db.rows(_BY_NAME, (word,))
        prefix = as_id_prefix(word)
        if not rows and prefix is not None:
            rows = self._db.rows(_BY_PREFIX, (prefix + "%",))
        if not rows and word == "latest":
            raise errors.NoPlansYet(wanted=word)
        if not rows:
            raise errors.PlanNotFound(wanted=word, **self._meant(word))
        if len(rows) > 1:
            found = [self._plan(row) for row in rows]
            told = "; ".join(f"{plan.handle} is {plan.phase}/{plan.state}" for plan in found)
            raise errors.Ambiguous(
                wanted=word,
                count="several plans",
                candidates=", ".join(plan.plan_id for plan in found),
                hint=f"{told}. Name one by its handle, or the newest of all by `latest`",
            )
        return self._plan(rows[0])

    def newest_that_changed(self) -> PlanId | None:
        """Return the newest plan that is not a child, nor finished without any change; None: there is none."""
        row = self._db.row(_LATEST_NOT_IDLE)
        return PlanId(row["plan_id"]) if row else None

    def newest_with_groups(self, count: int) -> PlanId | None:
        """Return the newest plan that is not a child and has as many live groups; None: there is none."""
        row = self._db.row(_LATEST_WITH_GROUPS, (count,))
        return PlanId(row["plan_id"]) if row else None

    def newest_in(self, states: Sequence[tuple[Phase, State]], *, idle: bool = True) -> PlanId | None:
        """Return the newest plan in one of these states that is not a child; None: there is none.

        Without `idle`, plans that finished without any change are left out.
        """
        wanted = " OR ".join(["phase = ? AND state = ?"] * len(states))
        if not idle:
            wanted = f"({wanted}) AND NOT ({IDLE})"
        row = self._db.row(
            f"SELECT plan_id FROM plans WHERE parent_plan_id IS NULL AND ({wanted}) ORDER BY ordinal DESC LIMIT 1",  # noqa: S608 - marks only
            tuple(word for pair in states for word in pair),
        )
        return PlanId(row["plan_id"]) if row else None

    def newest_to_unapply(self) -> PlanId | None:
        """Return the newest plan whose result was merged into real resources; what was done in place was not."""
        row = self._db.row(_NEWEST_APPLIED)
        return PlanId(row["plan_id"]) if row else None

    def _meant(self, word: str) -> dict[str, Advice]:
        """Return the hint for a word that names no plan."""
        from mulligan.rows.id_hints import hint_of_other_kind

        near = nearest_word(word, [row["handle"] for row in self._db.rows(_HANDLES)])
        if near:
            return {"hint": Advice(f"did you mean `{near}`? ", errors.PlanNotFound.usual_advice())}
        return hint_of_other_kind(self._db, word)

    def list(self, state: State | None, *, limit: int | None = None) -> Sequence[Plan]:
        """Return the plans, oldest first; of more than `limit` the newest."""
        most = at_most(limit)
        rows = (
            self._db.rows(_LIST, (most,)) if state is None else self._db.rows(_LIST_IN_STATE, (state, most))
        )
        return [self._plan(row) for row in rows[::-1]]

    def without_group(self) -> Sequence[Plan]:
        """Return the plans that have no group yet and have not ended; no child plans."""
        return [self._plan(row) for row in self._db.rows(_WITHOUT_GROUP)]

    def count(self, state: State | None) -> int:
        """Count the plans."""
        return self._count(_COUNT) if state is None else self._count(_COUNT_IN_STATE, (state,))

    def count_children(self, plan_id: PlanId) -> int:
        """Count the child plans of a plan that were not cancelled."""
        return self._count(_COUNT_CHILDREN, (plan_id,))

    def free_handle(self, plan: Plan) -> str:
        """Return the handle of a new plan: the first of those for its name that no plan has."""
        parent = self._one(_HANDLE, plan.parent_plan_id)["handle"] if plan.parent_plan_id else None
        best = next(handles_for(plan.name, parent))
        if self._db.row(_BY_HANDLE, (best,)) is None:
            return best
        rows = self._db.rows(_HANDLES_BETWEEN, numbered_handles(plan.name, parent))
        return free_handle(plan.name, parent, {best, *(row["handle"] for row in rows)})

    def acts_under_way(self, plan_id: PlanId) -> Collection[str]:
        """Return the kinds of the plan's intents as words: a look at a plan needs no more of them."""
        return frozenset(str(row["kind"]) for row in self._db.rows(_KINDS_OF_INTENTS, (plan_id,)))

    def are_acts_under_way(self) -> bool:
        """Return whether any plan has an intent: a look at all plans seldom needs the intents themselves."""
        return bool(self._db.rows(_ANY_INTENT))

    def remove(self, plan_ids: Sequence[PlanId]) -> None:
        """Forget plans with all that happened to them; those below them are among the plans."""
        marks = ", ".join("?" * len(plan_ids))
        for table in OWNED:
            self._db.execute(f"DELETE FROM {table} WHERE plan_id IN ({marks})", tuple(plan_ids))  # noqa: S608 - our own names

    def counters(self, plan_id: PlanId) -> Counters:
        """Return the numbers that the plan used last."""
        row = self._one(_COUNTERS, plan_id)
        return Counters(seq=row["seq"], groups=row["groups"])

    def set_counters(self, plan_id: PlanId, used: Counters) -> None:
        """Record the numbers that the plan used last."""
        self._update("plans", {"seq": used.seq, "groups": used.groups}, plan_id=plan_id)

    def raise_fence(self, plan_id: PlanId) -> int:
        """Lock out every earlier claimant, and return the new fence."""
        row = self._db.row(_RAISE_FENCE, (self._db.fence_step(), plan_id))
        if row is None:
            raise errors.PlanNotFound(wanted=plan_id)
        return int(row["number"])

    def _one(self, statement: str, plan_id: PlanId) -> Row:
        row = self._db.row(statement, (plan_id,))
        if row is None:
            raise errors.PlanNotFound(wanted=plan_id)
        return row

    def _plan(self, row: Row) -> Plan:
        return _PLAN.value(
            row,
            definition=definition_from_text(row["definition_json"]),
            progress=state_from_text(self._db, PlanId(row["plan_id"]), row["progress_json"]),
        )
