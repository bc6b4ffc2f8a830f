"""The story of a plan: its steps in the order in which they ran, and what was left behind folded away."""

from collections.abc import Iterator
from itertools import groupby
from typing import cast

from mulligan.adapters.report_page.event_blocks import Scene, told
from mulligan.adapters.report_page.markup import Markup, element
from mulligan.adapters.report_page.page_words import chip, clock, coded, day, duration
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import State
from mulligan.domain.text.plural import counted
from mulligan.domain.views.report import PlanReport
from mulligan.domain.views.story import Happening, Passage

_ENDS = {EventType.STEP_DONE: "done", EventType.STEP_FAILED: "failed"}


def story(part: PlanReport, scene: Scene, heading: str) -> Markup:
    """All passages; those that were left behind together as one that can be opened."""
    parts: list[Markup] = []
    if part.events_left_out:
        text = f"{counted(part.events_left_out, 'older entry', 'older entries')} not shown: "
        parts.append(element("li", text, coded(part.look), class_="note"))
    stretches = [(*key, [*some]) for key, some in groupby(part.passages, key=_stretch)]
    for at, (today, gone, passages) in enumerate(stretches):
        if at == 0 or stretches[at - 1][0] != today:
            parts.append(element("li", f"{today}, all times are UTC", class_="day"))
        drawn = [item for passage in passages for item in _passage(passage, scene, heading)]
        if gone:
            # What made a plan stop is what its reader looks for: no need to open it.
            last = at >= len(stretches) - 2 and part.plan.state is State.ERRORED
            drawn = [_left_behind(passages, drawn, opened=last)]
        parts += drawn
    return element("ol", parts, class_="story")


def _stretch(passage: Passage) -> tuple[str, bool]:
    """The context that passages on one page share."""
    first = passage.start or passage.happenings[0]
    return day(first.at), passage.superseded


def _left_behind(passages: list[Passage], drawn: list[Markup], *, opened: bool) -> Markup:
    steps = sum(passage.start is not None for passage in passages)
    entries = sum(len(passage.happenings) for passage in passages)
    what = counted(steps, "run of a step", "runs of steps") if steps else counted(entries, "entry", "entries")
    summary = element("summary", chip("superseded", "gone"), f" {what}, left behind when the plan went back")
    return element("li", element("details", summary, element("ol", drawn), open=opened), class_="branch")


def _passage(passage: Passage, scene: Scene, heading: str) -> Iterator[Markup]:
    """A step as one item; what happened between steps item by item."""
    if passage.start is None:
        yield from (_item(happening, scene) for happening in passage.happenings)
    else:
        yield _step(passage.start, passage, scene, heading)


def _step(start: Happening, passage: Passage, scene: Scene, heading: str) -> Markup:
    end = next((h for h in passage.happenings if h.type in _ENDS), None)
    took = cast("int | None", end.data.get("duration_ms")) if end else None
    head = element(
        heading,
        element("span", str(start.data["index"]), class_="number"),
        element("span", str(start.data["step"]), class_="name"),
    )
    about = element(
        "p",
        chip(_ENDS[end.type]) if end else chip("not finished", "warn"),
        element("span", duration(took), class_="took"),
        clock(start.at),
        class_="about",
    )
    items = [_item(each, scene) for each in _worth_telling(passage)]
    body = element("ol", items) if items else None
    tone = _ENDS[end.type] if end else "unfinished"
    return element("li", element("header", head, about), body, class_=f"step {tone}")


def _worth_telling(passage: Passage) -> Iterator[Happening]:
    """Yield the events of a step, except for its end and its failure, which are shown elsewhere."""
    errors = [h.data.get("error") for h in passage.happenings if h.type is EventType.TOOL_CALLED]
    for happening in passage.happenings:
        told_already = happening.type is EventType.STEP_FAILED and happening.data.get("error") in errors
        if happening.type is not EventType.STEP_DONE and not told_already:
            yield happening


def _item(happening: Happening, scene: Scene) -> Markup:
    drawn = told(happening, scene)
    gone = " gone" if happening.superseded else ""
    return element("li", drawn.content, class_=f"moment {drawn.kind}{gone}", id=drawn.anchor)
