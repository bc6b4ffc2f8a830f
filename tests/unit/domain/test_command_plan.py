"""A command as a plan: its words stay what they are, its name can be read."""

import pytest

from mulligan.domain.plans.command_plan import command_plan
from mulligan.domain.plans.plan import PlanDefinition
from mulligan.domain.text.names import name_problem, plan_name_problem
from mulligan.errors import UsageWrong
from tests.unit.examples import WORKSPACE


def _plan(*words: str, name: str | None = None) -> PlanDefinition:
    return command_plan(words, resource=WORKSPACE, folder=".", name=name)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["make", "test"], "make test"),
        (["sh", "-c", "a && b"], "sh -c 'a && b'"),
        (["printf", "a\n\n\tb"], "printf 'a b'"),
        (["latest"], "run latest"),
        (["x" * 100], "x" * 59 + "…"),
        (["\udcff"], "' '"),
        (["\u202e\u202e"], "' '"),
    ],
)
def test_a_plan_is_called_like_its_command(words: list[str], name: str) -> None:
    plan = _plan(*words)
    assert plan.name == name
    assert plan_name_problem(plan.name) is None
    assert name_problem(plan.steps[0].name) is None


def test_what_the_name_does_not_say_the_description_does() -> None:
    assert _plan("make", "test").description == ""
    assert _plan("make", "test", name="try").description == "make test"
    assert _plan("echo", "x" * 100).description == "echo " + "x" * 100


@pytest.mark.parametrize("words", [[], [""]])
def test_an_empty_command_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageWrong, match="empty"):
        _plan(*words)
