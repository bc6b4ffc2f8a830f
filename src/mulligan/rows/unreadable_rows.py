"""Rows that cannot be read, looked for when a command has failed, and by `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.text.ids import PlanId
    from mulligan.rows.transaction import Transaction


def unreadable_rows(db: Transaction) -> Iterator[str]:
    """List the tables with words, times or documents that mulligan did not write; nothing is changed."""
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
            except Exception as exc:  # noqa: BLE001 - any error means that the rows cannot be read
                yield _told(table, exc)
                break
    try:
        yield from db.graphs.check()
    except Exception as exc:  # noqa: BLE001 - as above
        yield _told("graph_states", exc)


def _strangers(db: Transaction, plan: Plan) -> Iterator[str]:
    """Checkpoints and sandboxes of resources that the plan does not have."""
    known = {resource.name for resource in plan.definition.resources}
    try:
        groups = db.checkpoints.list(plan.plan_id, superseded=True)
        found = {"sandboxes": {s.resource for s in db.sandboxes.list(plan.plan_id)}}
    except Exception:  # noqa: BLE001 - the reader of single rows reports it
        return
    found["checkpoints"] = {c.resource for group in groups for c in group.checkpoints}
    for table, resources in found.items():
        if resources - known:
            yield f"a row of {table} names a resource that plan {plan.plan_id} does not have"


def _told(table: str, exc: Exception) -> str:
    return f"a row of {table} cannot be read: {type(exc).__name__}: {exc}"
