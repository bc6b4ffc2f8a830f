"""Which step `undo` undoes, where the plan does not stand between two steps."""

from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, PlanState
from mulligan.domain.history.last_step import step_back
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import GroupId
from tests.unit.examples import a_group, a_plan

PLAN_ID = "01K00000000000000000000001"


def _state(done: int) -> PlanState:
    return PlanState(step_index=done, outputs={}, memory={}, decisions=())


def _group(seq: int, done: int, *, inside: bool = False, holds: str = "") -> CheckpointGroup:
    type = CheckpointType.AFTER_SUBPLAN if inside else CheckpointType.BEFORE_STEP
    made = a_group(PLAN_ID, f"G{seq}", seq, type=type, state=_state(done), between_steps=not inside)
    return replace(made, state_hash=holds or f"state {done}")


def _plan(done: int, at: CheckpointGroup, state: State = State.QUEUED) -> Plan:
    return replace(
        a_plan(PLAN_ID),
        phase=Phase.EXECUTE,
        state=state,
        progress=_state(done),
        current_group_id=GroupId(at.group_id),
    )


def test_a_plan_inside_a_step_goes_to_before_that_step() -> None:
    groups = [_group(1, 0), _group(2, 1), _group(3, 1, inside=True, holds="more")]
    back = step_back(_plan(1, groups[-1]), groups, ())
    assert (back.step_index, back.target, back.nearest) == (1, groups[1], None)


def test_a_plan_inside_a_step_that_did_nothing_yet_goes_one_further() -> None:
    groups = [_group(1, 0), _group(2, 1), _group(3, 1, inside=True)]
    assert step_back(_plan(1, groups[-1]), groups, ()).target == groups[0]


def test_conflicts_that_wait_are_what_an_unfinished_step_left() -> None:
    groups = [_group(1, 0), _group(2, 1)]
    plan = _plan(1, groups[-1], State.CONSTRAINED)
    assert step_back(plan, groups, ()).target == groups[1]
    assert step_back(replace(plan, phase=Phase.APPLY), groups, ()).target == groups[0]


def test_a_step_without_a_group_before_it_names_the_nearest() -> None:
    groups = [_group(1, 0), _group(2, 2, inside=True, holds="more")]
    back = step_back(_plan(2, groups[-1]), groups, ())
    assert (back.step_index, back.target, back.nearest) == (2, None, groups[0])


def test_nothing_is_nearer_than_nothing() -> None:
    group = _group(1, 3)
    back = step_back(_plan(3, group), [group], ())
    assert (back.step_index, back.target, back.nearest) == (2, None, None)
