"""Variants as plans, and the verdict on each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.step import Pick, Subplans
from mulligan.domain.resources.resource import Resource, ResourceType
from mulligan.domain.variants.variant_plan import (
    MOST_VARIANTS,
    TryWish,
    VariantCommand,
    different_commands,
    has_check,
    refuse_unfit_variants,
    same_command,
    try_definition,
    variants_of,
)
from mulligan.domain.variants.verdict import CheckResult, check_result, passes
from mulligan.errors import UsageWrong
from mulligan.rows.definition_document import definition_from_text, definition_to_text

WORKSPACE = Resource(
    name="workspace",
    type=ResourceType.FS_DIRECTORY,
    location=".",
    strategy=None,
    from_revision=None,
    create=False,
)
LINES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=40).filter(
    str.strip
)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,10}", fullmatch=True).filter(
    lambda name: name not in ("latest", "first")
)


def wish_of(
    variants: tuple[VariantCommand, ...], check: str | None = None, *, timeout: float | None = None
) -> TryWish:
    return TryWish(variants=variants, check=check, keep_going=False, timeout=timeout, name=None)


@given(st.dictionaries(NAMES, LINES, min_size=1, max_size=5), st.none() | LINES)
def test_a_try_is_read_back_as_it_was_recorded(lines: dict[str, str], check: str | None) -> None:
    wish = wish_of(different_commands(lines), check)
    refuse_unfit_variants(wish)
    definition = try_definition(wish, WORKSPACE, "sub")
    assert definition_from_text(definition_to_text(definition)) == definition
    ran = variants_of(definition)
    assert ran is not None
    assert [(child.name, child.variant) for child in ran.plans] == [
        (name, number) for number, name in enumerate(lines, start=1)
    ]


@given(st.lists(LINES, min_size=1, max_size=4), st.integers(1, 9), st.none() | LINES)
def test_variants_of_one_command_differ_in_name_and_number_only(
    words: list[str], count: int, check: str | None
) -> None:
    wish = wish_of(same_command(words, count), check)
    refuse_unfit_variants(wish)
    definition = try_definition(wish, WORKSPACE, ".")
    kinds = [type(step.action) for step in definition.steps]
    assert kinds == [Subplans, Question, Pick]
    question = definition.steps[1].action
    assert isinstance(question, Question)
    assert question.alternatives == tuple(str(number + 1) for number in range(count))
    ran = variants_of(definition)
    assert ran is not None
    assert len({str(child.steps) for child in ran.plans}) == 1


@pytest.mark.parametrize("count", [0, MOST_VARIANTS + 1])
def test_too_few_and_too_many_variants_are_refused(count: int) -> None:
    with pytest.raises(UsageWrong):
        refuse_unfit_variants(wish_of(same_command(["true"], count)))


@given(st.none() | st.integers(-64, 255), st.none() | st.integers(-64, 255), st.booleans(), st.booleans())
def test_the_check_decides_and_without_one_the_exit_status(
    exit_status: int | None, checked: int | None, with_check: bool, ran: bool
) -> None:
    wish = wish_of(same_command(["true"], 1), "check" if with_check else None)
    definition = try_definition(wish, WORKSPACE, ".")
    ran_by_it = variants_of(definition)
    assert ran_by_it is not None
    child = replace(definition, steps=ran_by_it.plans[0].steps)
    result = check_result(child, ran=ran, exit_status=checked)
    assert has_check(child) is with_check
    if not with_check:
        assert result is None
        assert passes(child, exit_status, result) is (exit_status == 0)
    else:
        assert passes(child, exit_status, result) is (ran and checked == 0)
        assert result in (None, CheckResult.PASSED, CheckResult.FAILED)
