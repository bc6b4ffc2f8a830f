"""The pages that a new user follows can be followed as they are written: every command, every output."""

from pathlib import Path

import pytest

from tests.reference_pages import HINT
from tests.support.page_examples import ROOT, examples_of, lasting
from tests.support.page_walks import WALKED, walk


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_can_be_followed_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    shown = walk(page, tmp_path / "you")
    assert shown, "nothing on this page shows what it prints"
    assert [lasting(text) for _, text in shown] == [lasting(example.text) for example, _ in shown], HINT


@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_that_is_not_run_says_why(page: Path) -> None:
    for example in examples_of(page):
        assert example.not_run is None or len(example.not_run.split()) > 2, example


@pytest.mark.parametrize("page", WALKED[:2], ids=lambda page: page.name)
def test_a_new_user_sees_the_first_apply_within_a_hundred_lines(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert lines.index("$ mulligan apply") < 100
