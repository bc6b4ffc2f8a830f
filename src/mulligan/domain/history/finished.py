"""The definition of a plan at a group, and whether the plan was complete there."""

from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.plans.plan import PlanDefinition, State
from mulligan.domain.plans.trigger import CheckpointType

FINISHED = "finished"  # in the metadata of a group: the plan was complete when it was taken


def definition_at(definition: PlanDefinition, group: CheckpointGroup) -> PlanDefinition:
    """Return the definition without the steps that a user added after the group was taken.

    The group right before such a step is what was there when the user added it.
    """
    steps = tuple(
        step
        for index, step in enumerate(definition.steps)
        if step.added is None or (step.added < group.seq and not _begins(group, index))
    )
    return definition if steps == definition.steps else replace(definition, steps=steps)


def _begins(group: CheckpointGroup, index: int) -> bool:
    return group.reason.type is CheckpointType.BEFORE_STEP and group.step_index == index


def state_at(definition: PlanDefinition, group: CheckpointGroup) -> State:
    """Return the state of a plan of that definition after a return to the group: complete, or with steps left."""
    if definition.session:  # only its program knows how many steps it has
        ended = group.reason.type is CheckpointType.POST_EXECUTE or FINISHED in group.reason.metadata
    else:
        ended = group.step_index >= len(definition.steps)
    return State.COMPLETE if ended else State.QUEUED
