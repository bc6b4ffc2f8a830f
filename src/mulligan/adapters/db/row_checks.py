"""Rows that make no sense, by whatever hand or accident: looked for when something failed, and by `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mulligan.adapters.db.connection import Connection
    from mulligan.adapters.db.database import SqlTransaction
    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.text.ids import PlanId

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
_LARGEST = 1 << 53  # what every reader of JSON holds exactly; nothing here is counted so far
_TEXT = "typeof({0}) = 'text'"
_NUMBER = f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN 0 AND {_LARGEST}"
_DOCUMENT = "typeof({0}) = 'text' AND json_valid({0})"
_LISTS = (
    *("messages_json", "conflicts_json", "alternatives_json", "excluded_json"),
    *("superseded_decisions_json", "cancelled_child_plans_json"),
)
_ANYTHING = ("output_json", "value_json")


def unsound_rows(connection: Connection, db: SqlTransaction) -> list[str]:
    """What is wrong, a line for each place; nothing is changed."""
    return [*_columns(connection), *_documents(db)]


def _columns(connection: Connection) -> Iterator[str]:
    """Values that are of no use in their column."""
    for (table,) in connection.rows(_TABLES):
        for column in connection.rows(f"PRAGMA table_info({table})"):
            name, sound = column["name"], _sound(column["name"], column["type"])
            allowed = sound if column["notnull"] or column["pk"] else f"{name} IS NULL OR {sound}"
            question = f"SELECT COUNT(*) FROM {table} WHERE NOT ({allowed.format(name)})"  # noqa: S608 - our own names
            row = connection.row(question)
            if row and row[0]:
                rows = counted(row[0], "row has", "rows have")
                yield f"of {table} {rows} nonsense for {name}"


def _sound(name: str, type: str) -> str:
    """What a value of a column must be, as SQL says it."""
    if not name.endswith("_json"):
        return _NUMBER if "INT" in type else _TEXT
    if name in _ANYTHING:
        return _DOCUMENT
    return f"{_DOCUMENT} AND json_type({{0}}) = '{'array' if name in _LISTS else 'object'}'"


def _documents(db: SqlTransaction) -> Iterator[str]:
    """Rows that cannot be read: words, times or documents that nobody here wrote."""
    try:
        plans = db.plans.list(None)
    except Exception as exc:  # noqa: BLE001 - whatever a row that makes no sense leads to is what is looked for
        yield _told("plans", exc)
        return
    for plan in plans:
        yield from _strangers(db, plan)
    readers: dict[str, Callable[[PlanId], object]] = {
        "steps": db.steps.list,
        "tool_calls": db.tool_calls.list,
        "decisions": db.decisions.list,
        "checkpoints": lambda plan_id: db.checkpoints.list(plan_id, superseded=True),
        "lines": db.history.lines,
        "intents": db.intents.list,
        "events": lambda plan_id: db.events.list(plan_id, limit=None),
        "sandboxes": db.sandboxes.list,
        "real_changes": db.real_changes.list,
        "corrections": db.corrections.list,
    }
    for table, read in readers.items():
        for plan in plans:
            try:
                read(plan.plan_id)
            except Exception as exc:  # noqa: BLE001 - likewise
                yield _told(table, exc)
                break


def _strangers(db: SqlTransaction, plan: Plan) -> Iterator[str]:
    """Checkpoints and sandboxes of resources that the plan does not have."""
    known = {resource.name for resource in plan.definition.resources}
    try:
        groups = db.checkpoints.list(plan.plan_id, superseded=True)
        found = {"sandboxes": {s.resource for s in db.sandboxes.list(plan.plan_id)}}
    except Exception:  # noqa: BLE001 - told by who reads them one by one
        return
    found["checkpoints"] = {c.resource for group in groups for c in group.checkpoints}
    for table, resources in found.items():
        if resources - known:
            yield f"a row of {table} names a resource that plan {plan.plan_id} does not have"


def _told(table: str, exc: Exception) -> str:
    return f"a row of {table} cannot be read: {type(exc).__name__}: {exc}"
