"""What people type: `run:` for a command, durations, questions; and a tab where a space belongs."""

import pytest

from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.plans.step import ToolUse
from mulligan.errors import PlanFileInvalid
from mulligan.rows.definition_document import definition_from_text, definition_to_text
from tests.support.planfiles import read


def _plan(steps: str, head: str = "") -> PlanDefinition:
    return read(f"name: p\n{head}steps:\n{steps}")


def test_run_is_a_shell_command() -> None:
    plan = _plan("  - {run: make test, timeout: 1h30m, retries: 1, checkpoint: made}\n")
    (step,) = plan.steps
    assert step.action == ToolUse(tool="shell", resource=None, args={"command": "make test"})
    assert (step.timeout, step.retries, step.label) == (5400.0, 1, "made")


def test_a_decision_without_a_choice_is_a_question() -> None:
    plan = _plan("  - {name: q, decision: {question: Which?, alternatives: [a, b]}}\n")
    assert plan.steps[0].action == Question(question="Which?", alternatives=("a", "b"))
    assert definition_from_text(definition_to_text(plan)) == plan


@pytest.mark.parametrize(
    ("steps", "head", "reason"),
    [
        ("  - {decision: {question: a}}\n", "rollback_policy: {enabled: false}\n", "without checkpoints"),
        (
            "  - subplans: {plans: [{name: c, steps: [{decision: {question: a}}]}]}\n",
            "",
            "a child plan cannot",
        ),
        ("\t- {run: a}\n", "", "a tab"),
        ("  - run:\n    \t- a\n", "", "a tab"),
        ("  - {run: [a]}\n", "", "expected"),
        ("  - {run: 'echo ${{ guidance }}'}\n", "", "environment"),
    ],
)
def test_what_is_refused(steps: str, head: str, reason: str) -> None:
    with pytest.raises(PlanFileInvalid) as refused:
        _plan(steps, head)
    assert reason in str(refused.value.facts["reason"])
