"""The words that name plans, checkpoints, decisions and corrections, for a shell that completes one."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from mulligan.domain.plans.plan import State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import as_id_prefix
from mulligan.domain.text.json_value import read_json
from mulligan.rows.tables.plan_rows import IDLE

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import SqlConnection

Word: TypeAlias = tuple[str, str]  # what can be typed, and what it is

_MOST = 300  # a longer list helps nobody
_NEWEST = 20  # entries of the timeline
_NAMESAKES = 10  # plans whose labels are offered where several have the name that was typed
_PLANS = f"""
SELECT plan_id, handle, parent_plan_id, phase, state, ({IDLE}) AS idle FROM plans ORDER BY ordinal DESC LIMIT ?
"""  # noqa: S608 - our own text
_LATEST = "SELECT plan_id FROM plans WHERE parent_plan_id IS NULL ORDER BY ordinal DESC LIMIT 1"
_CALLED = "SELECT plan_id FROM plans WHERE handle = ? AND handle <> ''"
_NAMED = "SELECT plan_id FROM plans WHERE name = ? OR plan_id LIKE ? ORDER BY ordinal DESC LIMIT ?"
_LABELS = """
SELECT label, MIN(step_index) AS step_index FROM checkpoint_groups
WHERE label IS NOT NULL AND superseded = 0 AND (CAST(? AS TEXT) IS NULL OR plan_id = ?)
GROUP BY label HAVING COUNT(*) = 1 ORDER BY MAX(seq) DESC
"""
_GROUPS = """
SELECT p.handle, g.number, g.checkpoint_type, g.label, g.step_index
FROM checkpoint_groups AS g JOIN plans AS p ON p.plan_id = g.plan_id
WHERE g.plan_id = ? AND g.superseded = 0 AND g.checkpoint_type <> 'pre_apply' ORDER BY g.seq DESC LIMIT ?
"""
_CHECKPOINTS = """
SELECT checkpoint_id, checkpoint_type, resource, step_index FROM checkpoints
WHERE checkpoint_id LIKE ? ORDER BY checkpoint_id DESC LIMIT ?
"""
_DECISIONS = """
SELECT p.handle, d.decision_id, d.question, d.chosen,
    (SELECT COUNT(*) FROM decisions AS e WHERE e.plan_id = d.plan_id AND e.seq <= d.seq) AS number
FROM decisions AS d JOIN plans AS p ON p.plan_id = d.plan_id
WHERE d.superseded = 0 AND p.state NOT IN ('applied', 'cancelled') ORDER BY d.decision_id DESC LIMIT ?
"""
_CORRECTIONS = """
SELECT p.handle, c.correction_id, c.attempt, c.guidance,
    (SELECT COUNT(*) FROM corrections AS e WHERE e.plan_id = c.plan_id AND e.attempt <= c.attempt) AS number
FROM corrections AS c JOIN plans AS p ON p.plan_id = c.plan_id ORDER BY c.correction_id DESC LIMIT ?
"""
_ENTRIES = """
SELECT e.number, e.kind, e.title, p.handle FROM entries AS e JOIN plans AS p ON p.plan_id = e.plan_id
WHERE e.superseded = 0 AND e.undone = 0 ORDER BY e.number DESC LIMIT ?
"""
_CHILDREN = """
SELECT p.name, p.handle, p.parent_plan_id, d.definition_json
FROM plans AS p JOIN definitions AS d ON d.plan_id = p.plan_id
WHERE p.parent_plan_id IS NOT NULL ORDER BY p.ordinal DESC LIMIT ?
"""
_FAILURE = "SELECT failure_json FROM plans WHERE plan_id = ? AND failure_json IS NOT NULL"
_CONFLICTS = "SELECT conflicts_json FROM plans WHERE plan_id = ?"


class NumberedGroup(Struct, frozen=True, kw_only=True):
    """A checkpoint group that can be named by its number."""

    handle: str  # of its plan
    number: int
    type: CheckpointType
    step_index: int
    label: str | None


class KnownWords(Struct, frozen=True, eq=False):
    """Words that a database holds, read and never written."""

    db: SqlConnection

    def plans(
        self, typed: str, states: Collection[tuple[str, str]] | None, *, idle: bool = True
    ) -> Iterator[Word]:
        """Handles of plans in these states; without states of all, children and cancelled ones once one is typed.

        Without `idle`, plans that finished without any change are left out. Ids are offered where something is typed
        that may be one.
        """
        if states is None:
            yield "latest", "the newest plan"
        id_typed = as_id_prefix(typed) is not None
        for row in self.db.rows(_PLANS, (_MOST,)):
            state = row["phase"], row["state"]
            if states is not None and (row["parent_plan_id"] or state not in states):
                continue
            if row["idle"] and not idle:
                continue
            if not typed and (row["parent_plan_id"] or row["state"] == State.CANCELLED):
                continue
            about = "/".join(state)
            yield row["handle"], about
            if id_typed:
                yield row["plan_id"], f"{row['handle']}, {about}"

    def entries(self) -> Iterator[Word]:
        """The numbers of the newest entries of the timeline that still count, the newest first."""
        for row in self.db.rows(_ENTRIES, (_NEWEST,)):
            yield str(row["number"]), f"{row['kind']} {row['title']} ({row['handle']})"

    def labels(self, plan: str | None) -> Iterator[Word]:
        """Labels and the two words, of the plans that are called so or of all."""
        yield "latest", "the newest checkpoint"
        yield "first", "the oldest checkpoint"
        steps: dict[str, int] = {}
        for plan_id in [None] if plan is None else self._plan_ids(plan):
            for row in self.db.rows(_LABELS, (plan_id, plan_id)):
                steps.setdefault(row["label"], row["step_index"])
        yield from (
            (label, f"after step {step}" if step else "at the start") for label, step in steps.items()
        )

    def groups(self, plan: str) -> Iterator[NumberedGroup]:
        """The live groups of a plan that its number names, the newest first."""
        for plan_id in self._plan_ids(plan)[:1]:
            for row in self.db.rows(_GROUPS, (plan_id, _MOST)):
                yield NumberedGroup(
                    handle=row["handle"],
                    number=row["number"],
                    type=CheckpointType(row["checkpoint_type"]),
                    step_index=row["step_index"],
                    label=row["label"],
                )

    def checkpoint_ids(self, typed: str) -> Iterator[Word]:
        """The ids of checkpoints that begin so."""
        prefix = as_id_prefix(typed)
        for row in self.db.rows(_CHECKPOINTS, (f"{prefix}%", _MOST)) if prefix else ():
            kind = f"{row['checkpoint_type']} of {row['resource']}"
            yield row["checkpoint_id"], f"{kind} at step {row['step_index']}"

    def decisions(self, typed: str) -> Iterator[Word]:
        """Live decisions of plans that are not over."""
        for row in self.db.rows(_DECISIONS, (_MOST,)):
            about = f"{row['question']} {row['chosen']}"
            yield f"{row['handle']}/d{row['number']}", about
            if as_id_prefix(typed):
                yield row["decision_id"], about

    def corrections(self, typed: str) -> Iterator[Word]:
        """Corrections."""
        for row in self.db.rows(_CORRECTIONS, (_MOST,)):
            about = f"attempt {row['attempt']}: {row['guidance']}"
            yield f"{row['handle']}/c{row['number']}", about
            if as_id_prefix(typed):
                yield row["correction_id"], about

    def conflicts(self, plan: str) -> Iterator[Word]:
        """The paths in which a plan has conflicts."""
        for plan_id in self._plan_ids(plan)[:1]:
            for row in self.db.rows(_CONFLICTS, (plan_id,)):
                for conflict in read_json(row["conflicts_json"]):
                    yield conflict["path"], conflict["reason"]

    def alternatives(self, plan: str) -> Iterator[Word]:
        """The answers to the question that a plan waits with."""
        for plan_id in self._plan_ids(plan)[:1]:
            for row in self.db.rows(_FAILURE, (plan_id,)):
                question = read_json(row["failure_json"]).get("question")
                for word in question["alternatives"] if question else ():
                    yield word, question["question"]

    def variants(self) -> Iterator[Word]:
        """The variants of the newest try by name, and of others by handle."""
        newest: str | None = None
        for row in self.db.rows(_CHILDREN, (_MOST,)):
            definition = read_json(row["definition_json"])
            if definition.get("variant"):
                newest = newest or row["parent_plan_id"]
                word = row["name"] if row["parent_plan_id"] == newest else row["handle"]
                yield word, definition["description"]

    def _plan_ids(self, word: str) -> list[str]:
        """The plans that a word may mean, the newest first."""
        prefix = as_id_prefix(word)
        rows = (
            self.db.rows(_LATEST)
            if word == "latest"
            else self.db.rows(_CALLED, (word,))
            or self.db.rows(_NAMED, (word, f"{prefix}%" if prefix else None, _NAMESAKES))
        )
        return [row["plan_id"] for row in rows]
