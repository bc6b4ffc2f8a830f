"""The documents hold together and keep up with the program: links, words, settings, tools, examples."""

import re
from pathlib import Path

import pytest

from mulligan.adapters.tools.process.command_runner import Launchers
from mulligan.adapters.tools.toolbox import LocalToolbox
from mulligan.config.registry import SETTINGS, SHORT_NAMES
from mulligan.domain.plans.trigger import trigger_words

ROOT = Path(__file__).parent.parent
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
DOCUMENTS = sorted([*ROOT.glob("*.md"), *PAGES])
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
REFERENCE = ROOT / "docs" / "reference"

WORDS = [
    "plan", "step", "tool", "tool call", "decision", "resource", "sandbox", "snapshot", "checkpoint",
    "checkpoint group", "live", "superseded", "rollback", "resume", "correction", "subplan", "child plan",
    "apply",
]  # fmt: skip


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, spelled as its readers' tools spell them."""
    headings = re.findall(
        r"^#+\s+(.+)$", CODE_BLOCK.sub("", document.read_text(encoding="utf-8")), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(document: Path) -> list[str]:
    """Return the relative links of a document that lead nowhere."""
    text = CODE_BLOCK.sub("", document.read_text(encoding="utf-8"))
    broken: list[str] = []
    for found in LINK.finditer(text):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (document.parent / target).resolve() if target else document
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(found["target"])
    return broken


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.relative_to(ROOT).as_posix())
def test_relative_links_resolve(document):
    assert broken_links(document) == []


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.relative_to(ROOT).as_posix())
def test_a_page_begins_with_what_it_is_for(document):
    """A title, then a sentence: no table, list, code or heading."""
    title, first = document.read_text(encoding="utf-8").split("\n\n")[:2]
    assert re.fullmatch(r"# .+", title)
    assert re.match(r"[\w`*\[]", first)
    assert not first.startswith("```")


def test_every_page_is_in_the_navigation_of_the_site():
    """The strict build of the site says so too, and checks more; this needs no MkDocs."""
    listed = set(re.findall(r"^ +- .*?([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {page.relative_to(ROOT).as_posix().removeprefix("docs/") for page in PAGES}
    assert {page for page in pages if not page.startswith("adr/0")} == listed


def test_the_glossary_has_every_word():
    """One word, one meaning: each has an entry of its own, in bold."""
    entries = re.findall(r"\*\*([^*]+)\*\*", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    words = {word.strip() for entry in entries for word in entry.split(",")}
    assert sorted(set(WORDS) - words) == []


def test_decision_records_are_numbered_without_gaps():
    records = sorted(file.name for file in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [name[:4] for name in records] == [f"{number:04}" for number in range(1, len(records) + 1)]


def page(name: str) -> str:
    """Return the text of a page of the reference."""
    return (REFERENCE / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next one of its rank."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


@pytest.fixture
def declarations(tmp_path):
    """Return what the built-in tools declare; nothing is started for that."""
    return LocalToolbox(
        launchers=Launchers(python="python3", environment={}), scratch=tmp_path
    ).declarations()


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_every_setting_has_its_row(setting):
    rows = [row for row in page("configuration.md").splitlines() if row.startswith(f"| `{setting.key}` |")]
    assert len(rows) == 1
    assert f"`{setting.environment}`" in rows[0]


@pytest.mark.parametrize("word", [*trigger_words(), *SHORT_NAMES])
def test_every_trigger_and_short_name_is_told(word):
    assert f"`{word}`" in page("configuration.md")


def test_every_tool_has_its_section_with_every_argument(declarations):
    text = page("tools.md")
    told = {name: re.findall(r"^\| `(\w+)` \|", section(text, name), re.MULTILINE) for name in declarations}
    wanted = {name: [a.name for a in tool.arguments] for name, tool in declarations.items()}
    told["python"] = told["python"][: len(wanted["python"])]  # below stand the members of StepContext
    assert told == wanted
