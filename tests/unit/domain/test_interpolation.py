"""What stands for `${{ … }}` when a step runs, and what a command finds in its environment."""

import pytest

from mulligan.domain.plans.interpolation import (
    GUIDANCE,
    Reference,
    RunValues,
    is_variable_name,
    output_of,
    references,
    replace_references,
    run_environment,
    variable,
)
from mulligan.domain.text.json_value import Json
from mulligan.errors import ReferenceInvalid
from tests.support.planfiles import TOOLS

VALUES = RunValues(
    variables={"version": "2.10", "raw": "${{ version }}"},
    outputs={"bump": "done", "choose parser": "lark", "count.all": {"b": [1, None], "a": "ü"}, "n": 5},
    guidance="be careful",
)


def replaced(text: str) -> Json:
    args: dict[str, Json] = {"path": "a", "content": text}
    return replace_references(args, TOOLS["write_file"], VALUES)["content"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("v${{ version }}!", "v2.10!"),
        ("${{version}}${{  version\n}}", "2.102.10"),
        ("${{ steps.bump.output }}", "done"),
        ("${{ steps.choose parser.output }}", "lark"),
        ("${{ steps.count.all.output }}", '{"a":"ü","b":[1,null]}'),
        ("${{ steps.n.output }}", "5"),
        ("${{ guidance }}", "be careful"),
        ("$version ${version} {{ version }} }} $", "$version ${version} {{ version }} }} $"),
        ("${{ raw }}", "${{ version }}"),
    ],
)
def test_references_are_replaced_once_and_all_else_is_left_alone(text: str, result: str) -> None:
    assert replaced(text) == result


def test_references_are_replaced_in_nested_values_but_not_in_keys() -> None:
    args: dict[str, Json] = {
        "function": "m:f",
        "kwargs": {"${{ version }}": ["${{ version }}", {"x": "${{ guidance }}"}, 1, None, True]},
    }
    assert replace_references(args, TOOLS["python"], VALUES) == {
        "function": "m:f",
        "kwargs": {"${{ version }}": ["2.10", {"x": "be careful"}, 1, None, True]},
    }


def test_a_command_is_never_changed() -> None:
    args: dict[str, Json] = {"command": "echo ${{ version }}", "argv": ["${{ version }}"]}
    assert replace_references(args, TOOLS["shell"], VALUES) == {
        "command": "echo ${{ version }}",
        "argv": ["2.10"],
    }


def test_an_argument_nobody_declared_is_text_like_any_other() -> None:
    assert replace_references({"more": "${{ version }}"}, TOOLS["tidy"], VALUES) == {"more": "2.10"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${{ versoin }}", "there is no variable 'versoin'"),
        ("${{ steps.later.output }}", "there is no output 'later'"),
        ("${{ version", "a `${{` has no `}}`"),
        ("${{ }}", "`${{  }}` is none of a variable's name, steps.NAME.output and guidance"),
        ("${{ steps..output }}", "is none of"),
        ("${{ github.ref }}", "is none of"),
        ("${{ " + "x." * 500 + " }}", "…"),
    ],
)
def test_a_reference_to_nothing_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ReferenceInvalid) as caught:
        replaced(text)
    assert reason in str(caught.value)
    assert "`${{`" in caught.value.next_step, "how to write one that is meant literally"


def test_references_are_found_in_order() -> None:
    text = "${{ a }} ${{ steps.b c.output }} ${{ guidance }}"
    assert list(references(text)) == [variable("a"), output_of("b c"), GUIDANCE]


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (variable("version"), "MULLIGAN_VAR_VERSION"),
        (variable("api-Key_2"), "MULLIGAN_VAR_API_KEY_2"),
        (output_of("bump"), "MULLIGAN_OUTPUT_BUMP"),
        (output_of("choose parser/2"), "MULLIGAN_OUTPUT_CHOOSE_PARSER_2"),
        (output_of("準備"), "MULLIGAN_OUTPUT_準備"),
        (GUIDANCE, "MULLIGAN_GUIDANCE"),
    ],
)
def test_every_reference_has_an_environment_variable(reference: Reference, name: str) -> None:
    assert reference.environment_name == name


def test_the_environment_holds_all_values_as_text() -> None:
    environment = run_environment(VALUES, {})
    assert environment.variables == {
        "MULLIGAN_VAR_VERSION": "2.10",
        "MULLIGAN_VAR_RAW": "${{ version }}",
        "MULLIGAN_OUTPUT_BUMP": "done",
        "MULLIGAN_OUTPUT_CHOOSE_PARSER": "lark",
        "MULLIGAN_OUTPUT_COUNT_ALL": '{"a":"ü","b":[1,null]}',
        "MULLIGAN_OUTPUT_N": "5",
        "MULLIGAN_GUIDANCE": "be careful",
    }
    assert environment.files == {}


def test_what_does_not_fit_into_the_environment_comes_as_a_file() -> None:
    just, over, bytes_over = "a" * 65536, "a" * 65537, "ü" * 32769
    environment = run_environment(
        RunValues(
            variables={"just": just, "over": over, "bytes": bytes_over},
            outputs={"nul": "a\0b", "half": "\udcff"},
            guidance="\0",
        ),
        {},
    )
    assert environment.variables == {"MULLIGAN_VAR_JUST": just, "MULLIGAN_OUTPUT_HALF": "\udcff"}
    assert environment.files == {
        "MULLIGAN_VAR_OVER_FILE": over,
        "MULLIGAN_VAR_BYTES_FILE": bytes_over,
        "MULLIGAN_OUTPUT_NUL_FILE": "a\0b",
        "MULLIGAN_GUIDANCE_FILE": "\0",
    }


def test_of_too_many_outputs_the_newest_are_handed_over_and_those_that_the_arguments_name() -> None:
    outputs: dict[str, Json] = {f"step {n}": str(n) * 1000 for n in range(3000)}
    outputs["step 2"] = "large" * 20_000
    values = RunValues(variables={"v": "1"}, outputs=outputs, guidance="g")
    args: dict[str, Json] = {
        "command": 'use "$MULLIGAN_OUTPUT_STEP_1" ${MULLIGAN_OUTPUT_STEP_2_FILE}',
        "env": {"A": "b"},
    }
    handed = run_environment(values, args)
    assert len(handed.variables) < 600, "more than 1 MiB is too much for a process"
    assert sum(len(name) + len(text) for name, text in handed.variables.items()) < 1_100_000
    assert handed.variables["MULLIGAN_OUTPUT_STEP_2999"] == outputs["step 2999"]
    assert handed.variables["MULLIGAN_OUTPUT_STEP_1"] == "1" * 1000
    assert handed.files == {"MULLIGAN_OUTPUT_STEP_2_FILE": outputs["step 2"]}
    assert "MULLIGAN_OUTPUT_STEP_0" not in handed.variables
    assert (handed.variables["MULLIGAN_VAR_V"], handed.variables["MULLIGAN_GUIDANCE"]) == ("1", "g")


def test_names_of_variables_are_words() -> None:
    assert all(is_variable_name(name) for name in ("version", "_a", "api-key", "größe", "A1"))
    assert not any(is_variable_name(name) for name in ("", "-a", "1a", "a b", "a.b", "a\n"))
