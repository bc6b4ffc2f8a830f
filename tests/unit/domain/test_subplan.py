"""Child plans: the order of merging, who may start, and who goes when their parent goes back."""

import pytest
from msgspec.structs import replace

from mulligan.domain.history.lines import Segment
from mulligan.domain.plans.step import ChildPlan, MergeStrategy, StepRecord, StepStatus, SubplanMode, Subplans
from mulligan.domain.plans.subplan import (
    Child,
    Spawn,
    built_on,
    left_behind,
    may_start,
    merge_order,
    next_to_merge,
    with_steps_of_child,
)
from mulligan.domain.text.ids import PlanId
from tests.unit.examples import a_definition, a_plan, a_step


def subplans(
    *children: tuple[str, tuple[str, ...]],
    mode: SubplanMode = SubplanMode.PARALLEL,
    merge: MergeStrategy = MergeStrategy.THREE_WAY,
) -> Subplans:
    return Subplans(
        mode=mode,
        max_parallel=None,
        merge_strategy=merge,
        fail_fast=False,
        max_retries=0,
        plans=tuple(ChildPlan(name=name, depends_on=needs, steps=()) for name, needs in children),
    )


DIAMOND = (("d", ("b", "c")), ("c", ("a",)), ("b", ("a",)), ("a", ()), ("e", ()))


def test_children_are_merged_as_listed() -> None:
    assert [c.name for c in merge_order(subplans(("b", ()), ("a", ()), ("c", ())))] == ["b", "a", "c"]


def test_dependencies_are_merged_first_and_else_the_list_decides() -> None:
    order = merge_order(subplans(*DIAMOND, mode=SubplanMode.DEPENDENCY_ORDERED))
    assert [c.name for c in order] == ["a", "c", "b", "d", "e"]


@pytest.mark.parametrize(
    ("mode", "merge", "merged", "starting"),
    [
        (SubplanMode.PARALLEL, MergeStrategy.THREE_WAY, (), "a b c"),
        (SubplanMode.SEQUENTIAL, MergeStrategy.THREE_WAY, (), "a"),
        (SubplanMode.SEQUENTIAL, MergeStrategy.THREE_WAY, ("a",), "a b"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.LAST_WINS, (), "a b"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.LAST_WINS, ("a",), "a b c"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.SEQUENTIAL_APPLY, (), "a"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.SEQUENTIAL_APPLY, ("a",), "a b"),
    ],
)
def test_a_child_starts_when_what_it_builds_on_is_merged(
    mode: SubplanMode, merge: MergeStrategy, merged: tuple[str, ...], starting: str
) -> None:
    needs = ("a",) if mode is SubplanMode.DEPENDENCY_ORDERED else ()
    plans = subplans(("a", ()), ("b", ()), ("c", needs), mode=mode, merge=merge)
    assert [c.name for c in plans.plans if may_start(c, plans, merged)] == starting.split()


def test_the_next_to_merge_is_the_first_that_was_not() -> None:
    order = merge_order(subplans(("a", ()), ("b", ())))
    assert next_to_merge(order, {"b"}) is order[0]
    assert next_to_merge(order, {"a"}) is order[1]
    assert next_to_merge(order, {"a", "b"}) is None


def a_child(seq: int, step_index: int, name: str = "upgrade", number: int = 0) -> Child:
    spawn = Spawn(
        parent_plan_id=PlanId("parent"), step_index=step_index, number=number, position=0, line=1, seq=seq
    )
    plan = replace(a_plan(), plan_id=PlanId(name), definition=a_definition(name))
    return Child(plan=plan, spawn=spawn)


def test_going_back_ends_what_was_spawned_since_and_a_rollback_that_of_the_open_step_too() -> None:
    before, of_done, of_open = a_child(5, 0), a_child(15, 1), a_child(25, 2)
    steps = [
        StepRecord(index=index, name=str(index), status=status, duration_ms=None)
        for index, status in enumerate((StepStatus.DONE, StepStatus.DONE, StepStatus.RUNNING))
    ]
    gone = left_behind([before, of_done, of_open], [Segment(1, 10)], steps, unfinished_too=False)
    assert gone == (of_done,)
    gone = left_behind([before, of_done, of_open], [Segment(1, 10)], steps, unfinished_too=True)
    assert gone == (of_done, of_open)
    gone = left_behind(
        [of_done, of_open], [Segment(1, 10)], steps, unfinished_too=True, spared={of_done.plan_id}
    )
    assert gone == ()  # they are one plan here


@pytest.mark.parametrize(
    ("mode", "merge", "gone"),
    [
        (SubplanMode.PARALLEL, MergeStrategy.THREE_WAY, ""),
        (SubplanMode.SEQUENTIAL, MergeStrategy.THREE_WAY, "c d e"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.THREE_WAY, "c d"),
        (SubplanMode.DEPENDENCY_ORDERED, MergeStrategy.SEQUENTIAL_APPLY, "c d e"),
    ],
)
def test_who_was_built_on_a_child_goes_where_it_goes_back(
    mode: SubplanMode, merge: MergeStrategy, gone: str
) -> None:
    needs = {"c": ("b",), "d": ("c",)} if mode is SubplanMode.DEPENDENCY_ORDERED else {}
    plans = subplans(*((name, needs.get(name, ())) for name in "abcde"), mode=mode, merge=merge)
    children = [a_child(1, 0, name) for name in "acde"]
    assert [c.name for c in built_on(a_child(1, 0, "b"), children, plans, 0)] == gone.split()


def test_of_children_that_a_tool_spawned_those_that_came_after_its_merge_go() -> None:
    children = [a_child(5, 0, "before"), a_child(15, 0, "after"), a_child(7, 0, "later", number=1)]
    gone = built_on(a_child(5, 0, "it"), children, a_step("tool").action, 10)
    assert [c.name for c in gone] == ["after", "later"]


def test_other_steps_of_a_child_are_part_of_its_parent() -> None:
    plan = replace(a_definition(), steps=(a_step("one"), a_step("parts", subplans(("a", ()), ("b", ())))))
    changed = with_steps_of_child(plan, 1, "b", (a_step("new"),))
    assert changed is not None
    action = changed.steps[1].action
    assert isinstance(action, Subplans)
    assert [[s.name for s in c.steps] for c in action.plans] == [[], ["new"]]
    assert with_steps_of_child(plan, 0, "b", ()) is None
