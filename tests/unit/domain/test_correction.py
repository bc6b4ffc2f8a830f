"""Corrections as rules: what steps are told, what is recorded, what the plan is afterwards."""

from msgspec.structs import replace

from mulligan.domain.history.correction import (
    Correction,
    CorrectionMode,
    addition,
    again,
    appended_step,
    child_of,
    choosing,
    guidance_of,
    intervention,
    line_that_tells,
    with_appended,
    with_step,
)
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.step import MergeStrategy, Milestone, Step, Subplans
from mulligan.domain.text.ids import CheckpointId, CorrectionId, DecisionId, PlanId
from mulligan.domain.text.names import LONGEST_NAME, name_problem
from tests.unit.examples import NOON, a_definition, a_step

CHOICE = Choice(question="Which?", chosen="lark", alternatives=("ply", "own"), rationale="messages")
CORRECTION = Correction(
    correction_id=CorrectionId("c"),
    plan_id=PlanId("p"),
    mode=CorrectionMode.REVERT,
    decision_id=DecisionId("d"),
    intervention_id=DecisionId("i"),
    guidance="use ply",
    chosen="ply",
    redefines=True,
    attempt=2,
    superseded_decisions=(DecisionId("d"), DecisionId("e")),
    cancelled_child_plans=(PlanId("child"),),
    restored_checkpoint=CheckpointId("k"),
    created_at=NOON,
)


def a_decision(type: DecisionType, chosen: str) -> Decision:
    return Decision(
        decision_id=DecisionId("d"),
        plan_id=PlanId("p"),
        seq=7,
        line=1,
        parent_decision_id=None,
        type=type,
        step_index=3,
        step_name="choose",
        choice=replace(CHOICE, chosen=chosen),
        superseded=True,
        created_at=NOON,
    )


def test_guidance_is_what_users_said_in_order() -> None:
    said = [
        a_decision(DecisionType.USER_INTERVENTION, "one").content(),
        a_decision(DecisionType.CHOICE, "no guidance").content(),
        a_decision(DecisionType.USER_INTERVENTION, "two\nlines").content(),
    ]
    assert guidance_of(said) == "one\ntwo\nlines"
    assert guidance_of([]) == guidance_of(said[1:2]) == ""


def test_the_guidance_answers_the_question_that_was_decided_wrongly() -> None:
    made = intervention(CORRECTION, a_decision(DecisionType.CHOICE, "lark"), line=5)
    assert (made.decision_id, made.type, made.line) == ("i", DecisionType.USER_INTERVENTION, 5)
    assert (made.step_index, made.step_name, made.superseded) == (3, "choose", False)
    assert made.choice == Choice(question="Which?", chosen="use ply", alternatives=("lark",), rationale=None)
    assert guidance_of([made.content()]) == "use ply"


def test_another_choice_changes_its_step_and_nothing_else() -> None:
    plan = replace(
        a_definition(), steps=(a_step("before"), a_step("choose", CHOICE), a_step("after", Milestone()))
    )
    chosen = choosing(plan, "choose", "own", "its licence")
    assert chosen is not None
    assert chosen.steps[1].action == Choice(
        question="Which?", chosen="own", alternatives=("lark", "ply"), rationale="its licence"
    )
    assert replace(chosen, steps=plan.steps) == plan
    assert (chosen.steps[0], chosen.steps[2]) == (plan.steps[0], plan.steps[2])


def test_what_was_chosen_may_be_new_or_the_same() -> None:
    plan = replace(a_definition(), steps=(a_step("choose", CHOICE),))
    new, same = choosing(plan, "choose", "antlr", "why"), choosing(plan, "choose", "lark", "why")
    assert new is not None
    assert new.steps[0].action == replace(
        CHOICE, chosen="antlr", alternatives=("lark", "ply", "own"), rationale="why"
    )
    assert same is not None
    assert same.steps[0].action == replace(CHOICE, rationale="why")


def test_only_a_decision_step_can_choose() -> None:
    plan = replace(a_definition(), steps=(a_step("tool"), a_step("choose", CHOICE)))
    assert choosing(plan, "tool", "ply", "why") is None
    assert choosing(plan, "gone", "ply", "why") is None


def test_a_return_takes_back_the_earliest_change_of_the_steps_that_it_goes_past() -> None:
    decisions = [
        replace(
            a_decision(DecisionType.USER_INTERVENTION, name),
            decision_id=DecisionId(name),
            line=line,
            seq=line * 10,
        )
        for name, line in (("words", 2), ("choice", 3), ("file", 4), ("instead", 5))
    ]
    corrections = [
        replace(CORRECTION, intervention_id=d.decision_id, redefines=d.decision_id != "words")
        for d in decisions
    ]
    forks = ((1, None, 0), (2, 1, 15), (3, 2, 25), (4, 3, 35), (5, 2, 22))
    lines = [Line(line=number, parent_line=parent, fork_seq=seq) for number, parent, seq in forks]

    def tells(line: int, *seqs: int) -> list[int]:
        return [line_that_tells(lines, corrections, decisions, line, seq) for seq in seqs]

    assert tells(4, 0, 25, 30, 40, 49) == [2, 2, 3, 4, 4]
    assert tells(5, 12, 22, 50) == [2, 2, 5]  # the fifth left the third and fourth behind


def test_the_guidance_for_appended_work_hangs_on_the_decision_and_belongs_to_the_new_step() -> None:
    step = appended_step(a_definition(), CorrectionId("c"), "choose", again(a_step("choose")))
    made = addition(CORRECTION, a_decision(DecisionType.CHOICE, "lark"), 5, 7, step)
    assert (made.parent_decision_id, made.step_index, made.step_name) == ("d", 7, "append to choose")
    assert made.choice.chosen == "use ply"


def test_an_appended_step_has_a_name_that_no_other_has_nor_shares_a_variable_with() -> None:
    plan = replace(a_definition(), steps=(a_step("append to x"), a_step("append-to-x 2"), a_step("other")))
    child = again(a_step("x"))
    step = appended_step(plan, CorrectionId("c"), "x", child)
    assert (step.name, step.appended, child_of(step)) == ("append to x 3", "c", child)
    assert isinstance(step.action, Subplans)
    assert step.action.merge_strategy is MergeStrategy.THREE_WAY
    assert child_of(a_step("x")) is None
    long = "x" * LONGEST_NAME
    names = (again(a_step(long)).name, appended_step(plan, CorrectionId("c"), long, child).name)
    assert [name_problem(name) for name in names] == [None, None]


def test_a_mended_plan_keeps_what_was_appended_behind_as_many_steps_as_before() -> None:
    def named(name: str) -> Step:
        return appended_step(a_definition(), CorrectionId(name), name, again(a_step(name)))

    own = [a_step(name) for name in ("one", "two", "three")]
    plan = replace(a_definition(), steps=tuple(own[:1]))
    plan = with_step(with_step(plan, 1, named("a")), 2, named("b"))
    plan = replace(plan, steps=(*plan.steps, own[1], named("c")))
    mended = with_appended(replace(plan, steps=tuple(own)), plan)
    names = ["one", "append to a", "append to b", "two", "append to c", "three"]
    assert [step.name for step in mended.steps] == names
    shorter = with_appended(replace(plan, steps=tuple(own[:1])), plan)
    assert [step.name for step in shorter.steps] == ["one", "append to a", "append to b", "append to c"]
