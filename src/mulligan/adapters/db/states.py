"""The plan's own state as a document: long outputs are kept once and named by their hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mulligan.adapters.db.columns import json_object, json_text, json_value
from mulligan.domain.checkpoint import PlanState

if TYPE_CHECKING:
    from mulligan.adapters.db.connection import Connection
    from mulligan.domain.ids import PlanId
    from mulligan.domain.json_value import Json, JsonObject

# Every group repeats the whole state; outputs longer than this would make each group cost what exists.
_INLINE_LIMIT = 2048
_SURELY_SHORT = 160  # characters: in JSON none of them takes more than twelve
_REFERENCE = "$output"

_ADD_OUTPUT = """
INSERT INTO outputs (plan_id, sha256, value_json) VALUES (?, ?, ?)
ON CONFLICT (plan_id, sha256) DO NOTHING
"""
_GET_OUTPUT = "SELECT value_json FROM outputs WHERE plan_id = ? AND sha256 = ?"


def state_to_text(connection: Connection, plan_id: PlanId, state: PlanState) -> str:
    """Write a state for a column, its long outputs into their own table."""
    document = state.to_json()
    document["outputs"] = {
        name: v if type(v) is str and len(v) <= _SURELY_SHORT else _shortened(connection, plan_id, v)
        for name, v in state.outputs.items()
    }
    return json_text(document)


def state_from_text(connection: Connection, plan_id: PlanId, text: str) -> PlanState:
    """Read back what `state_to_text` wrote."""
    document = json_object(text)
    outputs = cast("JsonObject", document["outputs"])
    return PlanState(
        step_index=cast("int", document["step_index"]),
        outputs={name: _full(connection, plan_id, v) for name, v in outputs.items()},
        memory=cast("JsonObject", document["state"]),
        decisions=tuple(cast("list[JsonObject]", document["decisions"])),
        merged=tuple(cast("list[str]", document.get("merged", []))),
        steps=tuple(cast("list[str]", document.get("steps", []))),
    )


def _shortened(connection: Connection, plan_id: PlanId, value: Json) -> Json:
    text = json_text(value)
    looks_like_reference = isinstance(value, dict) and _REFERENCE in value
    if len(text) <= _INLINE_LIMIT and not looks_like_reference:
        return value
    import hashlib  # here: it loads OpenSSL, and whoever only reads hashes nothing

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    connection.execute(_ADD_OUTPUT, (plan_id, digest, text))
    return {_REFERENCE: digest}


def _full(connection: Connection, plan_id: PlanId, value: Json) -> Json:
    if not (isinstance(value, dict) and _REFERENCE in value):
        return value
    row = connection.row(_GET_OUTPUT, (plan_id, cast("str", value[_REFERENCE])))
    assert row is not None, "an output that a state names is recorded in the same transaction"
    return json_value(row["value_json"])
