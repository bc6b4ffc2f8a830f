"""The parts of pages that `nox -s agents` writes are there, and none is invented where nothing was seen."""

from pathlib import Path

import pytest

from tests.real_agents.packages import PACKAGES
from tests.real_agents.pages import PAGES, filled
from tests.support.page_examples import ROOT

FACTS = {"cost": {"with": 20, "without": 10}, "codex driven": {"version": "0.1", "prompts": 3}}


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_no_part_of_a_page_is_empty(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    parts = [part.partition("<!-- end of session -->") for part in text.split("<!-- session: ")[1:]]
    assert parts
    assert all(part.partition("-->")[2].strip() and end for part, end, _ in parts)


def test_there_is_a_page_for_each_agent_that_is_driven() -> None:
    pages = {page.stem for page in PAGES if page.parent == ROOT / "docs" / "how-to" / "agents"}
    assert pages == set(PACKAGES)


def test_a_page_gets_what_was_seen_and_keeps_the_rest() -> None:
    part = "<!-- session: {} -->\n{}\n<!-- end of session -->\n"
    page = f"# A\n\n{part.format('cost', 'old')}\n{part.format('comparison', 'as it was')}"
    new = filled(page, FACTS)
    assert "old" not in new
    assert ("20 ms" in new, "10 ms" in new, "as it was" in new) == (True, True, True)
