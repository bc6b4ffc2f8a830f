"""The reference keeps up with the program: every command is told, and every example runs."""

import re

import pytest

from mulligan.cli.commands.declaration import example_of
from tests.reference_pages import HINT, PARTS, codes_of, commands, kinds, with_part
from tests.support.page_examples import REFERENCE, Example, ExampleProject, examples_of, lasting
from tests.support.page_walks import DOCS

EXAMPLES = [example for page in sorted(REFERENCE.glob("*.md")) for example in examples_of(page)]


def _page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "part"), PARTS, ids=list(map(" ".join, PARTS)))
def test_what_is_written_by_the_program_is_what_it_would_write_now(page: str, part: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text == with_part(text, part, PARTS[page, part]()), HINT


@pytest.mark.parametrize("words", commands())
def test_every_command_has_an_example_of_itself_and_its_exit_codes_are_explained(words: str) -> None:
    command = commands()[words]
    assert re.match(f"mulligan (-c \\S+ )?{words}\\b", example_of(command))
    assert f"\n{example_of(command)}\n" in _page("cli.md")
    explained = {int(code) for code in re.findall(r"^\| (\d+) \|", _page("cli.md"), re.MULTILINE)}
    wraps = words in ("run", "shell")
    assert {0, 125 if wraps else 2} <= set(codes_of(command)) <= explained
    assert explained == {0, 125, 126, 127, 128, *(error.exit_code for error in kinds().values())}


@pytest.mark.parametrize("example", [each for each in EXAMPLES if each.not_run is None], ids=str)
def test_examples_run(example: Example, example_project: ExampleProject) -> None:
    """One that needs something done first says so: `after="…"` behind the fence, `BEFORE` for a command's help."""
    assert lasting(example_project.perform(example)) == lasting(example.text), HINT


def test_an_example_that_is_not_run_says_why() -> None:
    for example in EXAMPLES:
        assert example.not_run is None or len(example.not_run.split()) > 2, example
