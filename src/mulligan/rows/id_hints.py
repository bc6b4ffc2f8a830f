"""Hints for an id that names another kind of thing than the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.text.ids import as_id_prefix
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from mulligan.rows.sql_connection import SqlConnection

_TELLING = 12  # characters: fewer are the same for all that was made in one moment
_KINDS = (
    (
        "SELECT plan_id AS id, name FROM plans WHERE plan_id LIKE ?",
        Advice(
            "that is plan {name!r}: ", NextStep("tree", plan="{id}"), " shows its decisions and checkpoints"
        ),
    ),
    (
        "SELECT checkpoint_id AS id, name FROM checkpoints JOIN plans USING (plan_id) WHERE checkpoint_id LIKE ?",
        Advice(
            "that is a checkpoint of plan {name!r}: ",
            NextStep("checkpoints.show", checkpoint="{id}"),
            " shows it",
        ),
    ),
    (
        "SELECT group_id AS id, name FROM checkpoint_groups JOIN plans USING (plan_id) WHERE group_id LIKE ?",
        Advice(
            "that is a checkpoint group of plan {name!r}: ",
            NextStep("checkpoints.show", checkpoint="{id}"),
            " shows it",
        ),
    ),
    (
        "SELECT decision_id AS id, name FROM decisions JOIN plans USING (plan_id) WHERE decision_id LIKE ?",
        Advice(
            "that is a decision of plan {name!r}: ",
            NextStep("correct", decision="{id}", mode="revert", guidance=...),
            " takes it",
        ),
    ),
    (
        "SELECT correction_id AS id, name FROM corrections JOIN plans USING (plan_id) WHERE correction_id LIKE ?",
        Advice(
            "that is a correction of plan {name!r}: ",
            NextStep("diff_of_correction", correction="{id}"),
            " shows what it changed",
        ),
    ),
)


def hint_of_other_kind(db: SqlConnection, word: str) -> dict[str, Advice]:
    """The hint that says what the id names, where it names something."""
    prefix = as_id_prefix(word)
    if prefix is None or len(prefix) < _TELLING:
        return {}
    for statement, told in _KINDS:
        if (row := db.row(statement, (f"{prefix}%",))) is not None:
            return {"hint": told.filled({"id": row["id"], "name": row["name"]})}
    return {}
