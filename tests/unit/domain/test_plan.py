"""A plan changes its state only along the table of legal transitions."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.domain.plans.plan import LEGAL, Phase, Plan, State
from mulligan.errors import TransitionIllegal
from tests.unit.examples import a_plan

LATER = datetime(2026, 1, 2, tzinfo=UTC)


def test_the_way_of_a_plan_that_succeeds() -> None:
    plan = a_plan()
    for phase, state in [
        (Phase.EXECUTE, State.QUEUED),
        (Phase.EXECUTE, State.PROCESSING),
        (Phase.EXECUTE, State.COMPLETE),
        (Phase.APPLY, State.PROCESSING),
        (Phase.APPLY, State.APPLIED),
    ]:
        plan = plan.moved_to(phase, state, LATER)
    assert (plan.phase, plan.state, plan.updated_at) == (Phase.APPLY, State.APPLIED, LATER)
    assert plan.is_final


@given(st.sampled_from(sorted(LEGAL)), st.sampled_from(Phase), st.sampled_from(State))
def test_what_the_table_does_not_have_is_refused(
    start: tuple[Phase, State], phase: Phase, state: State
) -> None:
    plan = replace(a_plan(), phase=start[0], state=start[1])
    if (phase, state) in LEGAL[start]:
        assert _moved(plan, phase, state) == (phase, state)
    else:
        with pytest.raises(TransitionIllegal) as refusal:
            plan.moved_to(phase, state, LATER)
        assert refusal.value.exit_code == 3
        assert refusal.value.facts["target"] == f"{phase}/{state}"


def _moved(plan: Plan, phase: Phase, state: State) -> tuple[Phase, State]:
    moved = plan.moved_to(phase, state, LATER)
    return moved.phase, moved.state


def test_every_state_a_transition_leads_to_has_its_own_row() -> None:
    assert {target for targets in LEGAL.values() for target in targets} <= set(LEGAL)


def test_a_cancelled_plan_stays_cancelled() -> None:
    assert LEGAL[(Phase.EXECUTE, State.CANCELLED)] == ()
