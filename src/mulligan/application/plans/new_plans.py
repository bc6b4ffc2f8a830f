"""The rows of new plans: of a plan file, of a session, and of a step with child plans."""

from datetime import datetime

from msgspec.structs import replace

from mulligan.application.runs.commit import Entry, write_records
from mulligan.domain.checkpoints.checkpoint import PlanState
from mulligan.domain.history.lines import FIRST_LINE, Line
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.rows.transaction import Transaction


def new_plan(
    plan_id: PlanId, definition: PlanDefinition, parent: PlanId | None, start: PlanState, at: datetime
) -> Plan:
    """Return a plan that has not started."""
    return Plan(
        plan_id=plan_id,
        handle="",
        parent_plan_id=parent,
        definition=definition,
        phase=Phase.STRATEGIZE,
        state=State.COMPLETE,
        attempt=1,
        progress=start,
        line=FIRST_LINE,
        current_group_id=None,
        last_checkpoint_id=None,
        failure=None,
        conflicts=(),
        messages=(),
        fence=0,
        created_at=at,
        updated_at=at,
    )


def add_plan(db: Transaction, plan: Plan) -> Plan:
    """Write the rows of a new plan; return it with its handle."""
    plan = replace(plan, handle=db.plans.free_handle(plan))
    steps = [
        StepRecord(index=index, name=step.name, status=StepStatus.PENDING, duration_ms=None)
        for index, step in enumerate(plan.definition.steps)
    ]
    fork = plan.definition.fork
    ancestry: JsonObject = {"forked_from": fork.to_json()} if fork else {}
    data: JsonObject = {"name": plan.name, **ancestry}
    created = Entry(type=EventType.PLAN_CREATED, data=data, at=plan.created_at)
    db.plans.add(plan)
    db.steps.add(plan.plan_id, steps)
    db.history.start(plan.plan_id, Line(line=FIRST_LINE, parent_line=None, fork_seq=0))
    write_records(db, plan.plan_id, created)
    return plan
