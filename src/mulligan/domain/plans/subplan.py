"""Child plans: where they come from, in which order they are merged, and which of them may start."""

from collections.abc import Collection, Sequence
from graphlib import TopologicalSorter

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.lines import Segment, is_live
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.step import (
    Action,
    ChildPlan,
    MergeStrategy,
    Step,
    StepRecord,
    StepStatus,
    SubplanMode,
    Subplans,
)
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId


class Spawn(Struct, frozen=True, kw_only=True):
    """The origin of a child plan: a step of its parent, and the moment of the parent's history."""

    parent_plan_id: PlanId
    step_index: int
    number: int  # which spawn of that step, from 0: a tool may spawn more than once
    position: int  # in the order of merging
    line: int
    seq: int


class Child(Struct, frozen=True, kw_only=True):
    """A recorded child plan and where it comes from."""

    plan: Plan
    spawn: Spawn

    @property
    def plan_id(self) -> PlanId:
        """The child's own id."""
        return self.plan.plan_id

    @property
    def name(self) -> str:
        """Its name in the parent."""
        return self.plan.name

    @property
    def is_done(self) -> bool:
        """Return whether it ran to its end, so that its result can be merged."""
        return self.plan.phase is Phase.EXECUTE and self.plan.state is State.COMPLETE


def merged_name(number: int, name: str) -> str:
    """Return the name of a merged child in a group's state: ids and places would make equal states differ."""
    return f"{number}:{name}"


def merge_order(subplans: Subplans) -> tuple[ChildPlan, ...]:
    """The children in the order in which they are merged: as they are listed, dependencies first."""
    waiting = {child.name: child for child in subplans.plans}
    sorter = TopologicalSorter({child.name: child.depends_on for child in subplans.plans})
    sorter.prepare()
    order: list[ChildPlan] = []
    ready = set(sorter.get_ready())
    while ready:
        name = next(name for name in waiting if name in ready)
        order.append(waiting.pop(name))
        sorter.done(name)
        ready = (ready - {name}) | set(sorter.get_ready())
    return tuple(order)


def may_start(child: ChildPlan, subplans: Subplans, merged: Collection[str]) -> bool:
    """Return whether all that a child builds on was merged: it is forked from the parent's state of that moment."""
    in_turn = (
        subplans.mode is SubplanMode.SEQUENTIAL or subplans.merge_strategy is MergeStrategy.SEQUENTIAL_APPLY
    )
    if in_turn:
        order = [other.name for other in merge_order(subplans)]
        return all(name in merged for name in order[: order.index(child.name)])
    return all(name in merged for name in child.depends_on)


def next_to_merge(order: Sequence[ChildPlan], merged: Collection[str]) -> ChildPlan | None:
    """The child whose turn it is; None: all are merged."""
    return next((child for child in order if child.name not in merged), None)


def built_on(child: Child, siblings: Sequence[Child], action: Action, merged_at: int) -> tuple[Child, ...]:
    """Return the children of the same step that were forked from this one's result; they end when it goes back.

    `merged_at` is when it was first merged, for children that a tool spawned: their order is not recorded.
    """
    if not isinstance(action, Subplans):
        later = (child.spawn.number, merged_at)
        return tuple(s for s in siblings if s.spawn.number > later[0] or s.spawn.seq > later[1])
    order = merge_order(action)
    gone = {child.name}
    for other in order[[c.name for c in order].index(child.name) + 1 :]:
        if not may_start(other, action, {c.name for c in order} - gone):
            gone.add(other.name)
    return tuple(s for s in siblings if s.name in gone and s.name != child.name)


def with_steps_of_child(
    definition: PlanDefinition, step_index: int, name: str, steps: tuple[Step, ...]
) -> PlanDefinition | None:
    """The plan with other steps in a child of one of its steps; None: no step of the plan says what the child does."""
    step = definition.steps[step_index]
    if not isinstance(step.action, Subplans):
        return None
    plans = tuple(replace(c, steps=steps) if c.name == name else c for c in step.action.plans)
    changed = replace(step, action=replace(step.action, plans=plans))
    return replace(
        definition, steps=(*definition.steps[:step_index], changed, *definition.steps[step_index + 1 :])
    )


def newest_without(groups: Sequence[CheckpointGroup], child: Child) -> CheckpointGroup | None:
    """The newest of a plan's live groups, given oldest first, between two steps that has nothing of the child."""
    spawn, merged = child.spawn, merged_name(child.spawn.number, child.name)
    for group in reversed(groups):
        at_step = group.step_index == spawn.step_index and merged not in group.state.merged
        if group.reason.between_steps and (group.step_index < spawn.step_index or at_step):
            return group
    return None


def child_definition(
    parent: PlanDefinition, child: ChildPlan, sandboxes: Sequence[Sandbox]
) -> PlanDefinition:
    """Return the definition of a child plan: its own steps, over copies of its parent's resources."""
    # A child gets a copy of what its parent works on in place.
    strategies = {
        each.resource: each.type.traits.copying if each.strategy is Strategy.IN_PLACE else each.strategy
        for each in sandboxes
    }
    return replace(
        parent,
        name=child.name,
        description=child.description,
        resources=tuple(
            replace(each, strategy=strategies[each.name], from_revision=None) for each in parent.resources
        ),
        variables={**parent.variables, **child.variables},
        steps=child.steps,
        variant=child.variant,
        fork=None,
    )


def left_behind(
    children: Sequence[Child],
    segments: Sequence[Segment],
    steps: Sequence[StepRecord],
    *,
    unfinished_too: bool,
    spared: Collection[PlanId] = (),
) -> tuple[Child, ...]:
    """The children that end when the parent goes back to where the segments lead.

    A step that was not completed finds its children again when it runs on, unless they are to go as well; so it
    does with those that are spared.
    """
    done = {step.index for step in steps if step.status is StepStatus.DONE}
    return tuple(
        child
        for child in children
        if child.plan.state is not State.CANCELLED
        and child.plan_id not in spared
        and not is_live(segments, child.spawn.line, child.spawn.seq)
        and (unfinished_too or child.spawn.step_index in done)
    )
