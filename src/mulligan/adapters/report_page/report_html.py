"""The page itself: its head, which lets nothing in from outside, and its parts in order."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path

from mulligan.adapters.report_page import change_blocks as changes
from mulligan.adapters.report_page import fact_blocks as facts
from mulligan.adapters.report_page.event_blocks import CHILD, GROUP, Scene
from mulligan.adapters.report_page.markup import Markup, element, joined
from mulligan.adapters.report_page.page_words import chip, moment
from mulligan.adapters.report_page.story_blocks import story
from mulligan.domain.checkpoints.checkpoint import GroupOutline
from mulligan.domain.text.plural import counted
from mulligan.domain.views.report import PlanReport, Report


def page(report: Report) -> str:
    """A report as one HTML document without scripts; it asks nothing of any network."""
    first, *children = report.plans
    anchors, left_out = _anchors(report), report.plans_left_out
    body = element(
        "body",
        element("a", "Skip to the report", href="#report", class_="skip"),
        _top(first, children),
        element(
            "main",
            _plan(first, anchors, level=2),
            [_child(part, anchors) for part in children],
            element("p", f"{counted(left_out, 'more child plan')} not shown.", class_="note")
            if left_out
            else None,
            id="report",
        ),
        element("footer", element("p", "Made by mulligan on ", moment(report.made_at), ".")),
    )
    return "<!DOCTYPE html>\n" + element("html", _head(first.plan.name), body, lang="en") + "\n"


def _head(title: str) -> Markup:
    style = _style()
    hashed = b64encode(sha256(style.encode()).digest()).decode()
    # No script, image, font, frame, form or request of any kind; of styles this one alone, by its hash.
    policy = f"default-src 'none'; style-src 'sha256-{hashed}'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title}: report of a plan"),
        element("style", Markup(style)),
    )


@cache
def _style() -> str:
    return Path(__file__).with_name("style.css").read_text("utf-8")


def _top(part: PlanReport, children: list[PlanReport]) -> Markup:
    plan, about = part.plan, part.plan.definition.description
    places = [("overview", "Overview"), ("changes", "Changes"), ("timeline", "Timeline")]
    links = [element("a", word, href=f"#{place}-{plan.plan_id}") for place, word in places]
    if children:
        links.append(element("a", "Child plans", href=f"#{CHILD}{children[0].plan.plan_id}"))
    return element(
        "header",
        element("p", "mulligan · report of a plan", class_="eyebrow"),
        element("h1", element("span", plan.name, class_="name"), chip(plan.state.value)),
        element("p", about, class_="description") if about else None,
        element("nav", links, aria_label="Parts of the report"),
        class_="top",
    )


def _plan(part: PlanReport, anchors: frozenset[str], *, level: int) -> Markup:
    scene = Scene(part.changes, anchors)
    overview = (facts.standing(part), facts.figures(part), facts.facts(part), facts.steps(part))
    return joined(
        _section("Overview", part, level, joined(*overview)),
        _section("Changes", part, level, _overall(part)),
        _section("Timeline", part, level, story(part, scene, f"h{level + 1}")),
    )


def _child(part: PlanReport, anchors: frozenset[str]) -> Markup:
    head = element(
        "h2", "Child plan ", element("span", part.plan.name, class_="name"), chip(part.plan.state.value)
    )
    return element(
        "section", head, _plan(part, anchors, level=3), class_="child-plan", id=f"{CHILD}{part.plan.plan_id}"
    )


def _section(title: str, part: PlanReport, level: int, content: Markup) -> Markup:
    place = f"{title.lower()}-{part.plan.plan_id}"
    heading = element(f"h{level}", title, id=place)
    return element("section", heading, content, aria_labelledby=place, class_=title.lower())


def _overall(part: PlanReport) -> Markup:
    overall = part.overall
    if overall is None:
        return element("p", "There are no two checkpoints to compare.", class_="note")
    said = element(
        "p", "From the first checkpoint to the newest: ", changes.summary(overall), " ", changes.sums(overall)
    )
    return joined(said, changes.files(overall))


def _anchors(report: Report) -> frozenset[str]:
    groups = {
        f"{GROUP}{happening.about.group_id}"
        for part in report.plans
        for passage in part.passages
        for happening in passage.happenings
        if isinstance(happening.about, GroupOutline)
    }
    return frozenset(groups | {f"{CHILD}{part.plan.plan_id}" for part in report.plans[1:]})
