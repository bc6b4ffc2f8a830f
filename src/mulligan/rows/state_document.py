"""The plan's own state as a document: long outputs are kept once and named by their hash."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import PlanState
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json, read_json
from mulligan.rows.columns import json_object, json_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mulligan.domain.text.json_value import JsonObject
    from mulligan.rows.sql_connection import SqlConnection

# Every group repeats the whole state; outputs longer than this would make each group cost what exists.
_INLINE_LIMIT = 2048
_REFERENCE = "$output"

_ADD_OUTPUT = """
INSERT INTO outputs (plan_id, sha256, value_json) VALUES (?, ?, ?)
ON CONFLICT (plan_id, sha256) DO NOTHING
"""
_GET_OUTPUT = "SELECT value_json FROM outputs WHERE plan_id = ? AND sha256 = ?"


class _Written(Struct, frozen=True):
    """The outputs of a plan as they were written last: the next state has them too, and mostly one more."""

    names: list[str]
    values: list[Json]
    text: str
    long: tuple[tuple[str, str], ...]  # hash and JSON of those that are kept apart


_NOTHING = _Written([], [], "", ())
_MOST_PLANS = 16  # whose outputs are remembered; parallel child plans take turns
_written: dict[PlanId, _Written] = {}
# A group and its plan have the same state, and are written one by one.
_last: tuple[PlanState, str] | None = None


def state_to_text(connection: SqlConnection, plan_id: PlanId, state: PlanState) -> str:
    """Write a state for a column, its long outputs into their own table."""
    global _last  # noqa: PLW0603 - as `_written` is, for all connections
    written = _outputs(plan_id, state.outputs)
    for digest, text in written.long:  # a transaction that was undone took them with it
        connection.execute(_ADD_OUTPUT, (plan_id, digest, text))
    if (last := _last) is not None and last[0] is state:
        return last[1]
    document = replace(state, outputs={}).to_json()
    del document["outputs"]
    text = f'{{"outputs":{{{written.text}}},{json_text(document)[1:]}'
    _last = (state, text)
    return text


def _outputs(plan_id: PlanId, outputs: Mapping[str, Json]) -> _Written:
    """Return the outputs as JSON; those that were written before are not spelled again."""
    names, values = list(outputs), list(outputs.values())
    before = _written.get(plan_id, _NOTHING)
    known = len(before.names)
    if names[:known] != before.names or not all(map(is_, values, before.values)):
        before, known = _NOTHING, 0
    elif known == len(names):
        return before
    pieces, long = [before.text] if known else [], list(before.long)
    for name, value in zip(names[known:], values[known:], strict=True):
        text = json_text(value)
        if len(text) > _INLINE_LIMIT or (isinstance(value, dict) and _REFERENCE in value):
            digest = _digest(text)
            long.append((digest, text))
            text = json_text({_REFERENCE: digest})
        pieces.append(f"{json_text(name)}:{text}")
    if len(_written) >= _MOST_PLANS and plan_id not in _written:
        _written.clear()
    written = _written[plan_id] = _Written(names, values, ",".join(pieces), tuple(long))
    return written  # another thread may have cleared the table since


def state_from_text(connection: SqlConnection, plan_id: PlanId, text: str) -> PlanState:
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
        taken=tuple(cast("list[str]", document.get("taken", []))),
    )


def _digest(text: str) -> str:
    import hashlib  # here: it loads OpenSSL, and a command that only reads hashes nothing

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _full(connection: SqlConnection, plan_id: PlanId, value: Json) -> Json:
    if not (isinstance(value, dict) and _REFERENCE in value):
        return value
    row = connection.row(_GET_OUTPUT, (plan_id, cast("str", value[_REFERENCE])))
    assert row is not None, "an output that a state names is recorded in the same transaction"
    return cast("Json", read_json(row["value_json"]))
