"""The session with flask is what its script says, and uses commands that exist; `nox -s flask` types it."""

import shlex

import click
import pytest

from mulligan.cli.main import program
from tests.flask_session.typist import PAGE, commands_of, filled, script, settled


def test_the_page_has_the_thirty_commands_of_the_script_in_order() -> None:
    typed = [command.text for command in script()]
    assert commands_of(PAGE.read_text(encoding="utf-8")) == typed
    assert len(typed) == 30


@pytest.mark.parametrize("typed", [each.text for each in script() if each.text.startswith("mulligan ")])
def test_a_command_of_the_session_exists_with_its_options(typed: str) -> None:
    words = shlex.split(typed.partition(" | ")[0])[1:]
    context = click.Context(program)
    _, command, rest = program.resolve_command(context, words)
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context)
        _, command, rest = command.resolve_command(context, rest)
    assert command is not None
    command.make_parser(click.Context(command, parent=context)).parse_args(rest)


def test_a_page_gets_an_output_for_each_command_and_keeps_its_words() -> None:
    page = "# A page\n\n```console\n$ one\nold\n$ two\n```\n\nWords.\n\n```console\n$ three\n```\n"
    assert filled(page, ["1\n", "2\n2\n", ""]) == (
        "# A page\n\n```console\n$ one\n1\n$ two\n2\n2\n```\n\nWords.\n\n```console\n$ three\n```\n"
    )


def test_times_and_sizes_of_a_page_are_not_compared() -> None:
    assert settled("66 passed in 0.54s, 12 KB, 2 s ago") == settled("66 passed in 1.20s, 9 KB, 31 s ago")
    assert settled("66 passed in 0.54s") != settled("65 passed in 0.54s")
    assert settled("7 run try@16 sandbox sed -i s/get_debug_flag/debug_flag/ tests/... 1 2 s ago") == settled(
        "7 run try@16 sandbox sed -i s/get_debug_flag/debug_flag/ tests... 1 12 s ago"
    )
