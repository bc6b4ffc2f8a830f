"""The step of a plan that `undo` takes back next, and the group to return to."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.plan import OnFailure, Phase, Plan, State
from mulligan.domain.plans.tool import CallStatus, ToolCall


class StepBack(Struct, frozen=True, kw_only=True):
    """The undo of one step: the step, and the group to return to."""

    step_index: int  # the step that is undone; -1: none was completed, and none left anything
    target: CheckpointGroup | None  # the state before that step; None: no group holds it
    nearest: CheckpointGroup | None  # where there is no such group: the newest one before


def step_back(plan: Plan, groups: Sequence[CheckpointGroup], calls: Sequence[ToolCall]) -> StepBack:
    """The last completed step of a plan, or the one after it where that was cut off or failed and left a mess.

    `groups` are the live ones, oldest first; `calls` the live tool calls.
    """
    between = [group for group in groups if group.reason.between_steps]
    done = plan.progress.step_index
    index = done if _left_a_mess(plan, groups, between, calls) else done - 1
    target = next((g for g in reversed(between) if g.step_index == index), None)
    nearest = next((g for g in reversed(between) if g.step_index < index), None)
    return StepBack(step_index=index, target=target, nearest=None if target else nearest)


def _left_a_mess(
    plan: Plan,
    groups: Sequence[CheckpointGroup],
    between: Sequence[CheckpointGroup],
    calls: Sequence[ToolCall],
) -> bool:
    """Return whether the sandboxes hold changes of an incomplete step."""
    if (plan.phase, plan.state) == (Phase.EXECUTE, State.CONSTRAINED):
        return True
    if plan.state is State.ERRORED and plan.definition.rollback_policy.on_failure is OnFailure.KEEP:
        return True
    if any(call.status is not CallStatus.DONE for call in calls):
        return True
    current = next((g for g in groups if g.group_id == plan.current_group_id), None)
    if current is None or current.reason.between_steps:
        return False
    # The plan is at a group that was taken inside a step, or that keeps the state before a rollback.
    start = next((g for g in reversed(between) if g.step_index == current.step_index), None)
    return start is None or start.state_hash != current.state_hash
