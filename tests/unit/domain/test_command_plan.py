"""A command as a plan: its words stay what they are, its name can be read."""

import pytest

from mulligan.domain.plans.command_plan import command_plan, with_command
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.text.names import name_problem, plan_name_problem
from mulligan.errors import UsageWrong
from tests.unit.examples import WORKSPACE


def _plan(*words: str, name: str | None = None) -> PlanDefinition:
    return command_plan(words, resource=WORKSPACE, folder=".", name=name)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["/usr/bin/make", "test"], "make"),
        (["sh", "-c", "a && b"], "sh"),
        (["printf", "a\n\n\tb"], "printf"),
        (["latest"], "run latest"),
        (["x" * 100], "x" * 60),
        (["\udcff"], "run"),
        (["\u202e\u202e"], "run"),
    ],
)
def test_a_plan_is_called_like_its_program(words: list[str], name: str) -> None:
    plan = _plan(*words)
    assert plan.name == name
    assert plan_name_problem(plan.name) is None
    assert name_problem(plan.steps[0].name) is None


def test_what_the_name_does_not_say_the_description_does() -> None:
    assert _plan("make").description == ""
    assert _plan("make", "test", name="try").description == "make test"
    assert _plan("echo", "x" * 100).description == "echo " + "x" * 100


@pytest.mark.parametrize("words", [[], [""]])
def test_an_empty_command_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageWrong, match="empty"):
        _plan(*words)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["sh", "-c", "a && b"], "sh -c 'a && b'"),
        (["echo", "it's"], 'echo "it\'s"'),
        (["echo", "it's $1"], "echo 'it'\"'\"'s $1'"),
        (["echo", "x" * 100], f"echo {'x' * 54}…"),
    ],
)
def test_a_step_is_called_like_its_command_as_one_would_type_it(words: list[str], name: str) -> None:
    assert _plan(*words).steps[0].name == name


def test_a_command_that_is_run_again_has_a_number_that_is_not_one_of_its_words() -> None:
    plan = _plan("make", "test")
    for _ in range(2):
        plan = with_command(plan, ["make", "test"], folder=".", keep=False)
    assert [step.name for step in plan.steps] == ["make test", "make test (2)", "make test (3)"]
