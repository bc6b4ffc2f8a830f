"""Work that cannot be appended: refused by name, with the next command to try, and nothing has changed."""

from typing import Any

import pytest

import mulligan
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.errors import (
    NextStep,
    NotBuiltYet,
    NothingToAppend,
    NothingToChoose,
    PlanAlreadyApplied,
    PlanBusy,
    PlanFileInvalid,
    PlanNotReady,
    RollbackDisabled,
    UsageWrong,
)
from tests.subplans.corrections import (
    ADDED,
    PICK,
    append,
    decision,
    decisions,
    file_of,
)
from tests.subplans.families import Family, shell
from tests.support.git_world import run_git


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"resources": {"d": {"type": "fs-directory", "location": "d"}}}, "resources"),
        ({"config": {}}, "config"),
        ({"rollback_policy": {}}, "rollback_policy"),
        ({"name": "p"}, "name"),
        ({"steps": [{"tool": "write_file", "args": {"path": "x", "content": "${{ nothing }}"}}]}, "steps"),
    ],
)
def test_a_file_that_cannot_be_appended_is_refused_with_the_place(
    done: Family, more: dict[str, Any], path: str
) -> None:
    with pytest.raises(PlanFileInvalid) as refused:
        done.project().correct(
            decision(done), guidance="g", mode="append", corrected=file_of(done, **({"steps": ADDED} | more))
        )
    assert path in str(refused.value.facts["path"])
    assert done.project().status("p").attempt == 1


def test_what_makes_no_sense_is_refused_and_changes_nothing(done: Family) -> None:
    picked = decision(done)
    with pytest.raises(NothingToChoose, match="appended") as refused:
        append(done, choose="that")
    assert NextStep("again", mode="revert") in refused.value.next_step.steps
    with pytest.raises(UsageWrong):
        append(done, guidance=" ")
    with pytest.raises(UsageWrong):
        done.project().correct(picked, guidance="g", mode="both")
    busy: list[bool] = []

    def meanwhile(event: Event) -> None:
        if event.type is EventType.SUBPLAN_SPAWNED:
            with pytest.raises(PlanBusy):
                append(done, guidance="in between")
            busy.append(True)

    status, _ = append(done, act=meanwhile)
    assert (busy, status.attempt) == ([True], 2)
    done.project().apply("p")
    with pytest.raises(PlanAlreadyApplied):
        append(done, to=picked)


def test_plans_without_checkpoints_and_checkouts_in_place_are_refused(family: Family) -> None:
    family.project().execute(family.write(PICK, rollback_policy={"enabled": False}))
    with pytest.raises(RollbackDisabled):
        append(family)
    family.project().cancel("p")
    run_git(family.real, "init", "-q")
    plan = family.write(
        PICK, resources={"d": {"type": "git-checkout", "location": "d", "strategy": "in_place"}}
    )
    status = family.project().execute(plan)
    (picked,) = decisions(family, status.plan_id)
    with pytest.raises(NotBuiltYet):
        append(family, to=picked.id)
    assert family.project().status(status.plan_id).attempt == 1


def test_a_step_that_did_not_end_or_is_gone_has_nothing_to_append_to(family: Family) -> None:
    (family.real / "agent.py").write_text(
        "def think(context):\n    context.record_decision('Which?', chosen='this')\n    raise ValueError('no')\n"
    )
    think = {"name": "think", "tool": "python", "args": {"function": "agent:think"}}
    family.project().execute(family.write(think, rollback_policy={"on_failure": "keep"}))
    picked = decision(family)
    for dry_run in (True, False):
        with pytest.raises(PlanNotReady, match="did not complete") as refused:
            append(family, dry_run=dry_run)
    assert NextStep("again", mode="revert") in refused.value.next_step.steps

    inside = [c for c in family.project().checkpoints.list("p") if c.checkpoint_type == "decision"]
    family.project().rollback("p", inside[0].checkpoint_id)
    status, _ = family.project().resume("p", corrected=family.write(shell("true", "other")))
    assert status.state is State.COMPLETE
    with pytest.raises(NothingToAppend, match="'think'") as gone:
        append(family, None, picked)
    assert NextStep("again", corrected=...) in gone.value.next_step.steps
    status, _ = append(family, to=picked)
    assert (status.state, family.files()["more"]) == (State.COMPLETE, "and more\n")


def test_a_session_has_no_steps_to_append(family: Family) -> None:
    project = family.project()
    with project.session("s", resources={"d": mulligan.directory(str(family.real))}) as session:
        with session.step("think"):
            session.record_decision("Which?", chosen="this")
        plan = session.plan_id
    (picked,) = decisions(family, plan)
    with pytest.raises(NothingToAppend, match="session") as refused:
        append(family, to=picked.id)
    assert NextStep("again", mode="revert") in refused.value.next_step.steps
