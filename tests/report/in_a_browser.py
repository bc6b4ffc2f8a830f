"""The report of a plan as people see it: in a real browser, on screens of all sizes, on paper, by keyboard.

`scripts/test -s report` runs this; it needs Chromium, and fails without. What it saw is in `build/report`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.report.browser import Tab, tab
from tests.report.eventful import NAME, eventful_project

PICTURES = Path(__file__).parents[2] / "build" / "report"
SCREENS = {"phone": (390, 844, True), "desktop": (1280, 900, False)}
# A page with what the report must not have; what does not show here would not show there either.
HARMFUL = """<!DOCTYPE html><title>page</title><img src="http://beacon.invalid/pixel.png">
<script>document.title = 'owned'; console.log('here'); throw new Error('oh')</script>
"""
OVERFLOW = """[...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
    .filter(e => !e.closest('pre, .patch, .skip')).map(e => e.outerHTML.slice(0, 200))"""
CONTRAST = Path(__file__).with_name("contrast.js").read_text("utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eventful")
    project = eventful_project(folder)
    PICTURES.mkdir(parents=True, exist_ok=True)
    file = PICTURES / "report.html"
    file.write_text(project.report(NAME), "utf-8")
    return file


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def page(browser: Tab, report: Path) -> Tab:
    browser.scheme("light")
    browser.resize(*SCREENS["desktop"][:2], mobile=False)
    browser.open(report)
    return browser


def test_a_harmful_page_is_seen_for_what_it_is(browser: Tab, tmp_path: Path) -> None:
    """Else the silence of the report would prove nothing."""
    file = tmp_path / "harmful.html"
    file.write_text(HARMFUL)
    browser.open(file)
    assert browser.evaluate("document.title") == "owned"
    assert "http://beacon.invalid/pixel.png" in browser.requests
    assert len(browser.complaints) >= 3


def test_the_report_runs_nothing_asks_for_nothing_and_complains_of_nothing(page: Tab, report: Path) -> None:
    assert page.complaints == []
    assert page.requests == [report.as_uri()]
    assert page.evaluate("document.title") == f"{NAME}: report of a plan"
    assert page.evaluate("document.scripts.length") == 0


def test_the_policy_is_in_force(page: Tab) -> None:
    """A script, a picture and a style that come into the page later are stopped."""
    page.evaluate("""{
        const script = document.createElement('script'); script.textContent = "document.title = 'owned'";
        const picture = new Image(); picture.src = 'http://beacon.invalid/pixel.png';
        document.body.append(script, picture); document.body.setAttribute('style', 'display: none');
    }""")
    page.listen()
    assert page.evaluate("document.title") != "owned"
    assert page.evaluate("getComputedStyle(document.body).display") == "block"
    assert len(page.complaints) == 3
    assert all("Content Security Policy" in text for text in page.complaints)


def test_the_story_is_in_the_document_and_styled(page: Tab) -> None:
    text = page.evaluate("document.querySelector('.story').textContent")
    for word in ("bump <b>", "choose a parser", "Rolled back", "Corrected", "Went back", "Child plan"):
        assert word in text
    assert page.evaluate("getComputedStyle(document.querySelector('.chip')).borderRadius") != "0px"


def test_it_is_the_same_where_scripts_are_switched_off(page: Tab, report: Path) -> None:
    with_scripts = page.evaluate("document.body.innerText")
    page.ask("Emulation.setScriptExecutionDisabled", value=True)
    page.open(report)
    page.ask("Emulation.setScriptExecutionDisabled", value=False)
    assert page.evaluate("document.body.innerText") == with_scripts


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_it_fits_the_screen_and_can_be_read(page: Tab, screen: str, scheme: str) -> None:
    width, height, mobile = SCREENS[screen]
    page.resize(width, height, mobile=mobile)
    page.scheme(scheme)
    page.screenshot(PICTURES / f"{screen}-{scheme}.png", whole=False)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(OVERFLOW) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) == []
    page.screenshot(PICTURES / f"{screen}-{scheme}-open.png", whole=True)


def test_everything_that_opens_is_reached_and_opened_by_keyboard(page: Tab) -> None:
    closed = (
        "[...document.querySelectorAll('main > section details')].filter(d => !d.open && d.checkVisibility())"
    )
    waiting = page.evaluate(f"{closed}.length")
    assert waiting > 5
    page.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    for _ in range(100):
        page.press("Tab")
        if page.evaluate("document.activeElement.parentElement.matches('details.file:not([open])')"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is True


def test_on_paper_everything_is_open(page: Tab) -> None:
    page.scheme("dark", media="print")  # and on white paper, whatever the screen is
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate("document.querySelectorAll('details:not([open]) .patch').length") > 3
    assert page.evaluate("[...document.querySelectorAll('.patch')].every(p => p.checkVisibility())")
    page.pdf(PICTURES / "paper.pdf")
    page.resize(794, 1123, mobile=False)  # A4
    page.screenshot(PICTURES / "paper.png", whole=True)
