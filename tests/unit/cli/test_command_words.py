"""Next steps are calls of the API, and command lines that the program takes."""

import ast
import inspect
import pickle
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any, get_args

import click
import msgspec
import pytest

import mulligan
from mulligan.api.operations.command_words import COMMANDS, OPTIONS, command_line, in_commands
from mulligan.cli.main import program
from mulligan.errors import Advice, NextStep, PlanBusy
from mulligan.errors.next_step import Verb
from mulligan.page.acts.act_table import ACTS

SOURCES = Path(mulligan.__file__).parent
OWNERS = {"checkpoints": mulligan.Checkpoints, "config": mulligan.Configuration, "tools": mulligan.Tools}
OF_THE_PACKAGE = ("init", "projects", "prune_projects")
FRONT_DOORS = {"cli", "page"}  # which people read
BELOW_CLI = [
    file for file in sorted(SOURCES.rglob("*.py")) if FRONT_DOORS.isdisjoint(file.relative_to(SOURCES).parts)
]


@cache
def steps_in_code() -> list[tuple[str, NextStep]]:
    """Every next step that the code names, with its place; values that are not known here are `x`."""
    found: list[tuple[str, NextStep]] = []
    texts = {file: file.read_text("utf-8") for file in sorted(SOURCES.rglob("*.py"))}
    for file, text in texts.items():
        for node in ast.walk(ast.parse(text)) if "NextStep(" in text else ():
            match node:
                case ast.Call(func=ast.Name(id="NextStep"), args=[verb], keywords=keywords):
                    place = f"{file.relative_to(SOURCES)}:{node.lineno}"
                    facts = {str(word.arg): value_of(word.value) for word in keywords if word.arg}
                    found += [(place, NextStep(each, **facts)) for each in verbs_of(verb)]
                case _:
                    continue
    return found


def verbs_of(node: ast.expr) -> list[Any]:
    match node:
        case ast.Constant(value=str(verb)):
            return [verb]
        case ast.IfExp(body=body, orelse=other):
            return [*verbs_of(body), *verbs_of(other)]
        case _:
            return []


def value_of(node: ast.expr) -> object:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return "x"
    return "x" if isinstance(value, str) and "{" in value else value


def operation(verb: str) -> Any:
    owner, _, name = verb.rpartition(".")
    if verb in OF_THE_PACKAGE:
        return getattr(mulligan, verb)
    return getattr(OWNERS[owner] if owner else mulligan.Project, name)


def test_every_step_in_the_code_is_a_call_of_the_api() -> None:
    assert len(steps_in_code()) > 60
    for place, step in steps_in_code():
        if step.verb in ("again", "help"):
            continue
        facts = {name: value for name, value in step.facts.items() if name != "project"}
        signature = inspect.signature(operation(step.verb))
        own = () if step.verb in OF_THE_PACKAGE else (None,)
        try:
            signature.bind(*own, **facts)
        except TypeError as exc:
            pytest.fail(f"{place}: {step}: {exc}")


def test_every_step_in_the_code_is_a_command_line_that_the_program_takes() -> None:
    for place, step in steps_in_code():
        if step.verb in ("again", "session", "help"):
            assert command_line(step), place
            continue
        name, *words = shlex.split(command_line(step))
        assert name == "mulligan", place
        try:
            taken(program, words)
        except click.ClickException as exc:
            pytest.fail(f"{place}: {command_line(step)}: {exc.format_message()}")


def taken(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Parse the words as the program does; nothing runs."""
    context = command.make_context(command.name, list(words), parent=parent)
    left = [*context._protected_args, *context.args]  # noqa: SLF001 - as click itself does
    if isinstance(command, click.Group) and (left or not command.invoke_without_command):
        _, found, rest = command.resolve_command(context, left)
        assert found is not None
        taken(found, rest, context)


@pytest.mark.parametrize("verb", sorted(get_args(Verb)))
def test_every_verb_is_used_and_has_a_command(verb: str) -> None:
    assert verb in {step.verb for _, step in steps_in_code()} | {act.verb for act in ACTS.values()}
    assert verb in COMMANDS or verb in ("again", "session")


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_every_option_is_used(name: str) -> None:
    asked = {field.name for act in ACTS.values() for field in msgspec.structs.fields(act.arguments)}
    assert name in asked | {fact for _, step in steps_in_code() for fact in step.facts}


def test_nothing_below_the_command_line_names_a_command() -> None:
    commands = "|".join(program.list_commands(click.Context(program)))
    named = re.compile(rf"`mulligan ({commands})\b")
    naming = [file for file in BELOW_CLI if "`mulligan " in file.read_text("utf-8")]
    assert [text for file in naming for text in texts_of(file) if named.search(text)] == []


def texts_of(file: Path) -> list[str]:
    """The texts in a module that are not docstrings."""
    tree = ast.parse(file.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_advice_is_text_for_programs_and_command_lines_for_the_shell() -> None:
    error = PlanBusy(plan_id="01ABC", pid=7, since="noon")
    assert "`project.cancel(plan='01ABC')`" in error.next_step
    assert "`mulligan cancel 01ABC`" in in_commands(error.next_step)
    assert "`mulligan resume 01ABC --take-over`" in in_commands(error.next_step)
    assert error.next_step.steps == (
        NextStep("cancel", plan="01ABC"),
        NextStep("resume", plan="01ABC", take_over=True),
    )


def test_advice_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(PlanBusy(plan_id="01ABC", pid=7, since="noon")))
    assert error.next_step.steps[0] == NextStep("cancel", plan="01ABC")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (NextStep("execute", plan=...), "mulligan plan execute FILE"),
        (NextStep("rollback", plan="p", checkpoint=...), "mulligan rollback p CHECKPOINT"),
        (NextStep("status", plan="latest"), "mulligan status"),
        (NextStep("cancel", plan="p", project="/a b"), "mulligan --project '/a b' cancel p"),
        (NextStep("run_command", words=("make", "a b")), "mulligan run -- make 'a b'"),
        (NextStep("again", commit=False), "--no-commit"),
        (NextStep("again", old=..., new=...), "--from CP --to CP"),
        (NextStep("session", resume="p"), "project.session(resume='p')"),
        (NextStep("help"), "mulligan --help"),
    ],
)
def test_a_step_is_a_command_line(step: NextStep, words: str) -> None:
    assert command_line(step) == words


def test_advice_within_advice_keeps_its_steps() -> None:
    inner = Advice("run ", NextStep("gc"))
    assert Advice("first; ", inner, ".").steps == (NextStep("gc"),)
    assert in_commands(Advice("first; ", inner, ".")) == "first; run `mulligan gc`."
    assert str(NextStep("doctor", project="/p")) == "mulligan.open('/p').doctor()"


def test_next_steps_are_equal_by_what_they_say() -> None:
    assert {NextStep("resume", plan="a"), NextStep("resume", plan="a"), NextStep("resume", plan="b")} == {
        NextStep("resume", plan="a"),
        NextStep("resume", plan="b"),
    }
    assert NextStep("resume", plan="a") != "resume a"
