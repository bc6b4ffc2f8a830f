"""The small words of a page: times, durations, ids, chips, excerpts of long texts."""

from datetime import UTC, datetime

from mulligan.adapters.report_page.markup import Content, Markup, element, joined, several_lines
from mulligan.domain.text.plural import counted
from mulligan.domain.views.excerpt import Excerpt

_SECOND, _MINUTE, _HOUR = 1_000, 60_000, 3_600_000

# States by the word that the style sheet has a colour for.
_TONES = {
    "good": ("done", "complete", "applied"),
    "bad": ("failed", "errored"),
    "warn": ("interrupted", "constrained"),
    "busy": ("processing", "running"),
}


def moment(at: datetime) -> Markup:
    """A time, the same for every reader."""
    utc = at.astimezone(UTC)
    return element("time", f"{utc:%Y-%m-%d %H:%M:%S} UTC", datetime=f"{utc:%Y-%m-%dT%H:%M:%S.%fZ}")


def clock(at: datetime) -> Markup:
    """Return a time within a story that names its days."""
    utc = at.astimezone(UTC)
    full, when = f"{utc:%Y-%m-%d %H:%M:%S.%f} UTC", f"{utc:%Y-%m-%dT%H:%M:%S.%fZ}"
    return element("time", f"{utc:%H:%M:%S}", datetime=when, class_="clock", title=full)


def day(at: datetime) -> str:
    """The day of a moment."""
    return f"{at.astimezone(UTC):%Y-%m-%d}"


def duration(milliseconds: int | None) -> str:
    """Return a duration in a suitable unit."""
    if milliseconds is None:
        return ""
    if milliseconds < _SECOND:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds / _SECOND:.1f} s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE} min {milliseconds % _MINUTE // _SECOND} s"
    return f"{milliseconds // _HOUR} h {milliseconds % _HOUR // _MINUTE} min"


def coded(text: str) -> Markup:
    """Return a sentence of the program, with commands between backticks marked up."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one is without its other
        return joined(text)
    return joined(element("code", part) if at % 2 else part for at, part in enumerate(parts))


def chip(word: str, tone: str | None = None) -> Markup:
    """A state, in its colour and in words."""
    usual = next((tone for tone, states in _TONES.items() if word in states), "plain")
    return element("span", word, class_=f"chip {tone or usual}")


def shown_text(text: Excerpt, class_: str) -> Markup:
    """A text of several lines, and what of it is not shown."""
    parts = [several_lines(text.head)]
    if text.lines_left_out:
        parts.append(left_out(f"{counted(text.lines_left_out, 'line')} left out"))
        parts.append(several_lines(text.tail))
    wide = text.characters_left_out
    more = left_out(f"{counted(wide, 'character')} of long lines left out") if wide else None
    return joined(element("pre", parts, class_=class_, tabindex="0"), more)


def left_out(*content: Content) -> Markup:
    """A note of what is not shown."""
    return element("span", "⋯ ", *content, class_="left-out")
