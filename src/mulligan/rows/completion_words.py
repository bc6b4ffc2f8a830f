"""The words that name plans, checkpoints, decisions and corrections, for a shell that completes one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from mulligan.domain.plans.plan import State
from mulligan.domain.text.ids import as_id_prefix

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import SqlConnection

Word: TypeAlias = tuple[str, str]  # what can be typed, and what it is

_MOST = 300  # a longer list helps nobody
_NAMESAKES = 10  # plans whose labels are offered where several have the name that was typed
_ENDED = (State.APPLIED, State.CANCELLED)
_PLANS = "SELECT plan_id, handle, phase, state FROM plans ORDER BY ordinal DESC LIMIT ?"
_LATEST = "SELECT plan_id FROM plans WHERE parent_plan_id IS NULL ORDER BY ordinal DESC LIMIT 1"
_CALLED = "SELECT plan_id FROM plans WHERE handle = ? AND handle <> ''"
_NAMED = "SELECT plan_id FROM plans WHERE name = ? OR plan_id LIKE ? ORDER BY ordinal DESC LIMIT ?"
_LABELS = """
SELECT label, MIN(step_index) AS step_index FROM checkpoint_groups
WHERE label IS NOT NULL AND superseded = 0 AND (CAST(? AS TEXT) IS NULL OR plan_id = ?)
GROUP BY label HAVING COUNT(*) = 1 ORDER BY MAX(seq) DESC
"""
_CHECKPOINTS = """
SELECT checkpoint_id, checkpoint_type, resource, step_index FROM checkpoints
WHERE (CAST(? AS TEXT) IS NULL OR plan_id = ?) ORDER BY checkpoint_id DESC LIMIT ?
"""
_DECISIONS = """
SELECT decision_id, question, chosen FROM decisions WHERE superseded = 0 ORDER BY decision_id DESC LIMIT ?
"""
_CORRECTIONS = "SELECT correction_id, attempt, guidance FROM corrections ORDER BY correction_id DESC LIMIT ?"
_CONFLICTS = "SELECT conflicts_json FROM plans WHERE plan_id = ?"


class KnownWords(Struct, frozen=True, eq=False):
    """Words that a database holds, read and never written."""

    db: SqlConnection

    def plans(self, typed: str, *, ended: bool) -> Iterator[Word]:
        """Handles; ids too where something is typed that may be one."""
        yield "latest", "the newest plan"
        for row in self.db.rows(_PLANS, (_MOST,)):
            if not ended and row["state"] in _ENDED:
                continue
            about = f"{row['phase']}/{row['state']}"
            yield row["handle"], about
            if typed:
                yield row["plan_id"], f"{row['handle']}, {about}"

    def checkpoints(self, plan: str | None, typed: str) -> Iterator[Word]:
        """Labels and the two words, of the plans that are called so or of all; ids where one may be typed."""
        plans = [None] if plan is None else self._plan_ids(plan)
        yield "latest", "the newest checkpoint"
        yield "first", "the oldest checkpoint"
        steps: dict[str, int] = {}
        for plan_id in plans:
            for row in self.db.rows(_LABELS, (plan_id, plan_id)):
                steps.setdefault(row["label"], row["step_index"])
        yield from ((label, f"at step {step}") for label, step in steps.items())
        for plan_id in plans if typed else ():
            for row in self.db.rows(_CHECKPOINTS, (plan_id, plan_id, _MOST)):
                kind = f"{row['checkpoint_type']} of {row['resource']}"
                yield row["checkpoint_id"], f"{kind} at step {row['step_index']}"

    def decisions(self) -> Iterator[Word]:
        """Live decisions."""
        for row in self.db.rows(_DECISIONS, (_MOST,)):
            yield row["decision_id"], f"{row['question']} {row['chosen']}"

    def corrections(self) -> Iterator[Word]:
        """Corrections."""
        for row in self.db.rows(_CORRECTIONS, (_MOST,)):
            yield row["correction_id"], f"attempt {row['attempt']}: {row['guidance']}"

    def conflicts(self, plan: str) -> Iterator[Word]:
        """The paths in which a plan has conflicts."""
        for plan_id in self._plan_ids(plan)[:1]:
            for row in self.db.rows(_CONFLICTS, (plan_id,)):
                for conflict in json.loads(row["conflicts_json"]):
                    yield conflict["path"], conflict["reason"]

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
