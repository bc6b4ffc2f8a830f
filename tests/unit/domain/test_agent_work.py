"""Whose work is what, by what agents report: edits by their paths, prompts by their ids, hooks by their commands."""

import pytest

from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.attribution import inside
from mulligan.domain.agents.conversation import reverted_from
from mulligan.domain.agents.hook_entries import is_ours


@pytest.mark.parametrize(
    ("folder", "paths", "found"),
    [
        ("/p", ["a", "/p/b/c"], ("a", "b/c")),
        ("/p/sub", ["a", "../b"], ("sub/a", "b")),
        ("/elsewhere", ["/p/a", "b"], ()),
        ("/p", ["../other"], ()),
    ],
)
def test_paths_of_an_edit_are_those_in_the_resource(
    folder: str, paths: list[str], found: tuple[str, ...]
) -> None:
    assert inside(paths, folder, "/p") == found


def test_a_prompt_that_nobody_knows_takes_nothing_back() -> None:
    assert reverted_from([], "unknown") == ()


def test_what_is_no_object_is_no_hook_of_ours() -> None:
    assert not is_ours(AGENTS["claude-code"], "mulligan hook claude-code")
    assert is_ours(AGENTS["claude-code"], {"command": "mulligan hook claude-code"})
