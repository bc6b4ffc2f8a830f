"""Decisions of child plans: taken back in the child, and the plans above find it again; or appended to."""

from typing import Any

import pytest

from mulligan.application.corrections.correction_result import Corrected
from mulligan.application.queries.plan_queries import PlanStatus
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.errors import (
    NothingToChoose,
    PlanBusy,
    PlanCancelled,
    PlanFileDiffers,
)
from mulligan.ports import Unobserved
from tests.faults.projects import services_of
from tests.subplans.corrections import PICK, append, decision, decisions, file_of, guidance_id
from tests.subplans.families import Family, Steps, children, note, shell

CHILD: Steps = [
    shell(f"{note('a.begin')}; echo 1 > begun", "begin"),
    PICK,
    shell(f'{note("a.end")}; echo "$MULLIGAN_OUTPUT_PICK [$MULLIGAN_GUIDANCE]" > end', "end"),
]
OTHER: Steps = [shell(f"{note('b')}; echo b > b", "do")]
AFTER = shell(f'{note("after")}; echo "$(cat end) [$MULLIGAN_GUIDANCE]" > after', "after")


def executed(family: Family, **options: Any) -> Family:
    parts = options.pop("parts", {"a": CHILD, "b": OTHER})
    status = family.project().execute(family.write(children(parts, **options), AFTER))
    assert status.state is State.COMPLETE, status.error
    return family


def correct(family: Family, **options: Any) -> tuple[PlanStatus, Corrected]:
    return family.project().correct(decision(family), guidance="go by that", **options)


def test_only_what_followed_runs_again_in_the_child_and_above(family: Family) -> None:
    executed(family)
    child = family.project().status("a").plan_id
    dry = correct(family, dry_run=True)[1]
    assert family.project().status("p").state is State.COMPLETE

    status, corrected = correct(family)

    assert status.name == "p"
    assert status.state is State.COMPLETE
    assert sorted(family.noted("ran")) == ["a.begin", "a.end", "a.end", "after", "after", "b"]
    assert family.files()["end"] == "this [go by that]\n"
    assert family.files()["after"] == "this [go by that] []\n"
    assert family.files().keys() == {"text", "begun", "end", "b", "after"}
    assert family.states() == dict.fromkeys(("p", "a", "b"), "execute/complete")
    own = family.project().status(child)
    assert (own.attempt, status.attempt) == (2, 1)
    assert [c.correction_id for c in own.corrections] == [corrected.correction.correction_id]
    assert (dry.impact, dry.changes_reverted) == (corrected.impact, corrected.changes_reverted)
    assert dry.superseded == corrected.superseded
    assert sorted(c.file for c in corrected.changes_reverted) == ["after", "b", "begun", "end"]
    assert corrected.correction.cancelled_child_plans == ()
    assert corrected.correction.correction_id is not None
    difference = family.project().diff_of_correction(corrected.correction.correction_id)
    assert [f.path for f in difference.files] == ["end"]
    assert corrected.pre_rollback_checkpoint is not None
    family.project().rollback("p", corrected.pre_rollback_checkpoint)
    assert family.files()["after"] == "this [] []\n"


def test_another_choice_reaches_the_child(family: Family) -> None:
    executed(family)
    status, _ = correct(family, choose="that")
    assert status.state is State.COMPLETE
    assert family.files()["end"] == "that [go by that]\n"
    assert [plan.name for plan in family.project().plans()] == ["p", "a", "b"]
    assert family.noted("ran").count("a.begin") == 1


@pytest.mark.parametrize(
    "options", [{"mode": "sequential"}, {"mode": "dependency_ordered", "needs": {"b": ["a"]}}]
)
def test_children_that_were_built_on_it_run_again(family: Family, options: dict[str, Any]) -> None:
    parts = {"a": CHILD, "b": [shell(f"{note('b')}; cp end b", "do")]}
    executed(family, parts=parts, **options)
    gone = family.project().status("b").plan_id
    status, corrected = correct(family)
    assert status.state is State.COMPLETE
    assert corrected.correction.cancelled_child_plans == (gone,)
    assert family.files()["b"] == "this [go by that]\n"
    assert family.noted("ran").count("b") == 2


def test_one_that_does_not_depend_on_it_does_not(family: Family) -> None:
    parts = {"a": CHILD, "b": OTHER}
    executed(family, parts=parts, mode="dependency_ordered", needs={"a": ["b"]})
    status, corrected = correct(family)
    assert status.state is State.COMPLETE
    assert corrected.correction.cancelled_child_plans == ()
    assert family.noted("ran").count("b") == 1


def test_children_of_children_and_what_waits(family: Family) -> None:
    executed(
        family, parts={"outer": [children({"a": CHILD}), shell(f"{note('outer')}; cp end outer", "copy")]}
    )
    status, _ = correct(family, execute=False, choose="that")
    assert (status.name, status.state) == ("p", State.QUEUED)
    assert family.states() == dict.fromkeys(("p", "outer", "a"), "execute/queued")
    assert family.files().keys() == {"text"}

    status, _ = family.project().resume("p")

    assert status.state is State.COMPLETE
    assert family.files()["outer"] == "that [go by that]\n"
    assert family.noted("ran").count("a.begin") == 1
    assert family.noted("ran").count("outer") == 2


def test_a_child_that_failed_after_it_decided_goes_on_from_there(family: Family) -> None:
    failing = [*CHILD[:2], shell('test -n "$MULLIGAN_GUIDANCE" && echo 1 > end', "end")]
    status = family.project().execute(family.write(children({"a": failing, "b": OTHER}), AFTER))
    assert status.state is State.ERRORED
    status, _ = correct(family)
    assert status.state is State.COMPLETE
    assert sorted(family.noted("ran")) == ["a.begin", "after", "b"]


def test_a_child_that_a_tool_spawned_is_found_again(family: Family) -> None:
    (family.real / "agent.py").write_text(
        "def spread(context):\n"
        "    steps = [{'name': 'pick', 'decision': {'question': 'Which?', 'chosen': 'this'}},\n"
        "        {'name': 'end', 'tool': 'write_file',\n"
        "         'args': {'path': 'end', 'content': '${{ guidance }}'}}]\n"
        "    context.spawn([{'name': 'a', 'steps': steps}])\n"
        "    more = {'name': 'do', 'tool': 'write_file', 'args': {'path': 'two', 'content': '${{ guidance }}'}}\n"
        "    context.spawn([{'name': 'b', 'steps': [more]}])\n"
    )
    spread = {"name": "spread", "tool": "python", "args": {"function": "agent:spread"}}
    assert family.project().execute(family.write(spread)).state is State.COMPLETE
    with pytest.raises(NothingToChoose, match="spawns it"):
        correct(family, choose="that")
    gone = family.project().status("b").plan_id
    status, corrected = correct(family)
    assert status.state is State.COMPLETE
    assert corrected.correction.cancelled_child_plans == (gone,)
    assert family.files()["end"] == "go by that"
    assert len([plan for plan in family.project().plans() if plan.name == "a"]) == 1


def test_killed_between_parent_and_child_nothing_is_lost(family: Family) -> None:
    """The parent went back and the child did not: the plan runs on as it did, or is corrected once more."""
    executed(family)

    class Killed(BaseException):
        pass

    def die(event: Event) -> None:
        if event.type is EventType.ROLLBACK:
            raise Killed

    with pytest.raises(Killed):
        family.project(die).correct(decision(family), guidance="go by that")
    assert family.project().status("p").state is State.QUEUED
    assert family.project().status("a").attempt == 1
    status, _ = correct(family)
    assert status.state is State.COMPLETE
    assert family.files()["after"] == "this [go by that] []\n"
    assert family.noted("ran").count("b") == 1


def test_what_cannot_be_is_refused_and_changes_nothing(family: Family) -> None:
    executed(family)
    picked = decision(family)
    with pytest.raises(PlanFileDiffers, match="child plan"):
        correct(family, corrected=family.folder / "plan.yaml")
    child = family.project().status("a").plan_id
    with services_of(family.folder).claims.look(child, Unobserved()), pytest.raises(PlanBusy):
        correct(family)
    assert family.project().status("p").state is State.COMPLETE
    family.project().rollback("p", "first")
    with pytest.raises(PlanCancelled):
        family.project().correct(picked, guidance="g")
    with pytest.raises(PlanCancelled):
        append(family, to=picked)


def test_work_appended_to_a_decision_of_a_child_comes_into_the_plan_above(family: Family) -> None:
    think = shell(f'{note("think")}; echo "$MULLIGAN_OUTPUT_BEGIN [$MULLIGAN_GUIDANCE]" >> thought', "think")
    begin = shell("echo begun", "begin")
    executed(family, parts={"a": [begin, PICK, *CHILD[2:]]})
    status, corrected = append(family, [think], guidance="more")
    assert (status.name, status.state, status.attempt) == ("p", State.COMPLETE, 2)
    assert family.files()["thought"] == "begun [more]\n"
    assert family.noted("ran") == ["a.end", "after", "think"]
    assert [s.name for s in status.steps] == ["parts", "after", "append to pick"]
    assert family.project().status("a").attempt == 1
    assert guidance_id(corrected) in [d.id for d in decisions(family)]
    again, _ = append(family, None, guidance="and again")
    assert again.state is State.COMPLETE


def test_a_step_of_what_was_appended_finds_its_variables_when_it_runs_once_more(family: Family) -> None:
    (family.real / "agent.py").write_text(
        "def think(context):\n"
        "    context.record_decision('How?', chosen=context.variables['how'])\n"
        "    with (context.path() / 'thought').open('a') as file:\n"
        "        file.write(context.variables['how'] + ' ' + context.outputs['begin'] + '\\n')\n"
    )
    think = {"name": "think", "tool": "python", "args": {"function": "agent:think"}}
    executed(family)
    file = file_of(family, [shell("echo begun", "begin"), think], variables={"how": "slowly"})
    family.project().correct(decision(family), guidance="g", mode="append", corrected=file)
    status, corrected = append(family, None, decision(family, "How?"))
    assert status.state is State.COMPLETE
    assert family.files()["thought"] == "slowly begun\n" * 2
    assert corrected.appended is not None
    assert corrected.appended.child_plan == "think again"
