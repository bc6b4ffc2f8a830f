"""Rows of corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from mulligan.domain.history.correction import Correction, CorrectionMode
from mulligan.domain.text.ids import CheckpointId, CorrectionId, DecisionId, PlanId, as_id_prefix
from mulligan.errors import Ambiguous, CorrectionNotFound
from mulligan.rows.columns import json_texts, texts_json, time_text, time_value
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import Row

_ADD = """
INSERT INTO corrections (
    correction_id, plan_id, mode, decision_id, intervention_id, guidance, chosen, redefines, attempt,
    superseded_decisions_json, cancelled_child_plans_json, restored_checkpoint, created_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LIST = "SELECT * FROM corrections WHERE plan_id = ? ORDER BY attempt"
_BY_PREFIX = "SELECT * FROM corrections WHERE correction_id LIKE ? ORDER BY correction_id LIMIT 10"


class CorrectionRepository(RowRepository):
    """Keeps corrections."""

    def add(self, correction: Correction) -> None:
        """Record a correction that was carried out."""
        self._db.execute(
            _ADD,
            (
                correction.correction_id,
                correction.plan_id,
                correction.mode,
                correction.decision_id,
                correction.intervention_id,
                correction.guidance,
                correction.chosen,
                int(correction.redefines),
                correction.attempt,
                texts_json(correction.superseded_decisions),
                texts_json(correction.cancelled_child_plans),
                correction.restored_checkpoint,
                time_text(correction.created_at),
            ),
        )

    def list(self, plan_id: PlanId) -> Sequence[Correction]:
        """The plan's corrections in order."""
        return [_correction(row) for row in self._db.rows(_LIST, (plan_id,))]

    def resolve(self, word: str) -> Correction:
        """Return the correction that an id or a unique prefix means; else CorrectionNotFound or Ambiguous."""
        prefix = as_id_prefix(word)
        rows = self._db.rows(_BY_PREFIX, (prefix + "%",)) if prefix else ()
        if not rows:
            from mulligan.rows.tables.id_hints import hint_of_other_kind

            raise CorrectionNotFound(wanted=word, **hint_of_other_kind(self._db, word))
        if len(rows) > 1:
            raise Ambiguous(
                wanted=word,
                count="several corrections",
                candidates=", ".join(row["correction_id"] for row in rows),
                hint="name one with more characters of its id",
            )
        return _correction(rows[0])


def _correction(row: Row) -> Correction:
    return Correction(
        correction_id=CorrectionId(row["correction_id"]),
        plan_id=PlanId(row["plan_id"]),
        mode=CorrectionMode(row["mode"]),
        decision_id=DecisionId(row["decision_id"]),
        intervention_id=DecisionId(row["intervention_id"]),
        guidance=row["guidance"],
        chosen=row["chosen"],
        redefines=bool(row["redefines"]),
        attempt=row["attempt"],
        superseded_decisions=cast("tuple[DecisionId, ...]", json_texts(row["superseded_decisions_json"])),
        cancelled_child_plans=cast("tuple[PlanId, ...]", json_texts(row["cancelled_child_plans_json"])),
        restored_checkpoint=CheckpointId(row["restored_checkpoint"]),
        created_at=time_value(row["created_at"]),
    )
