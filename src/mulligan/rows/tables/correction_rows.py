"""Rows of corrections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.domain.history.correction import Correction, CorrectionMode
from mulligan.domain.plans.handle import member_number
from mulligan.errors import CorrectionNotFound
from mulligan.rows.columns import FLAG, TEXTS, TIME, Layout, word
from mulligan.rows.row_repository import RowRepository

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId

_CORRECTION = Layout(
    Correction,
    mode=word(CorrectionMode),
    redefines=FLAG,
    superseded_decisions=TEXTS,
    cancelled_child_plans=TEXTS,
    created_at=TIME,
)
_LIST = "SELECT * FROM corrections WHERE plan_id = ? ORDER BY attempt"


class CorrectionRepository(RowRepository):
    """Keeps corrections."""

    def add(self, correction: Correction) -> None:
        """Record a correction that was carried out."""
        self._insert("corrections", _CORRECTION.columns(correction))

    def list(self, plan_id: PlanId) -> Sequence[Correction]:
        """Return the plan's corrections in order."""
        return [_CORRECTION.value(row) for row in self._db.rows(_LIST, (plan_id,))]

    def resolve(self, word: str) -> Correction:
        """Return the correction that a handle (`tune/c1`), an id or a unique prefix means.

        Else CorrectionNotFound, or Ambiguous with the candidates.
        """
        if (member := member_number(word, "c")) is not None:
            from mulligan.rows.tables.plan_rows import PlanRepository

            listed = self.list(PlanRepository(self._db).resolve(member[0]).plan_id)
            if 0 < member[1] <= len(listed):
                return listed[member[1] - 1]
        return _CORRECTION.value(self._by_prefix("corrections", "correction_id", word, CorrectionNotFound))
