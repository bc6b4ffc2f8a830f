"""The step, the tool call and the decision behind the difference between two checkpoint groups of a plan."""

from msgspec import Struct

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.lines import is_live, live_segments
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.step import about_call
from mulligan.domain.text.json_value import JsonObject
from mulligan.rows.transaction import Transaction


class Culprit(Struct, frozen=True, kw_only=True):
    """The cause of the difference between two groups."""

    step: str | None  # None: nothing that ran, such as an edit by hand
    tool_call: JsonObject | None
    decision: JsonObject | None  # the newest one at that time


def culprit_of(db: Transaction, plan: Plan, before: CheckpointGroup, after: CheckpointGroup) -> Culprit:
    """Find what happened between two groups of one line of history; `after` follows `before`."""
    segments = live_segments(db.history.lines(plan.plan_id), after.line, after.seq)
    at_work = [
        call
        for call in db.tool_calls.each(plan.plan_id)
        if call.seq <= after.seq
        and (call.done_seq is None or call.done_seq > before.seq)
        and is_live(segments, call.line, call.seq)
    ]
    call = at_work[-1] if at_work else None
    numbered = list(enumerate(db.decisions.list(plan.plan_id), start=1))
    made = [(number, each) for number, each in numbered if is_live(segments, each.line, each.seq)]
    number, decision = made[-1] if made else (0, None)
    return Culprit(
        step=call.step_name if call else _step_between(plan, before, after),
        tool_call=None
        if call is None
        else {"call_id": call.call_id, "tool": call.tool, "about": about_call(call.tool, call.arguments)},
        decision=None
        if decision is None
        else {
            "decision_id": decision.decision_id,
            "handle": f"{plan.handle}/d{number}",
            "step": decision.step_name,
            "question": decision.choice.question,
            "chosen": decision.choice.chosen,
        },
    )


def _step_between(plan: Plan, before: CheckpointGroup, after: CheckpointGroup) -> str | None:
    """Return the step that ended between two groups without a tool call, as the steps of sessions do."""
    if after.step_index <= before.step_index:
        return None
    index = after.step_index - 1
    if plan.definition.session:
        return after.state.steps[index] if index < len(after.state.steps) else None
    return plan.definition.steps[index].name
