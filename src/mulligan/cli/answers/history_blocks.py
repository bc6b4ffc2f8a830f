"""The log of a plan for people: a line through time, with what was left behind on branches beside it."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from mulligan.cli.answers.answer import Block, Drawing, Line, Row, Span
from mulligan.cli.answers.event_text import moment_of, number_of, told
from mulligan.cli.answers.plain_words import state_words
from mulligan.cli.terminal import glyphs
from mulligan.cli.terminal.times import clock_time, lasting, local_day
from mulligan.domain.plans.event import EventType
from mulligan.domain.views.plan_history import Moment, PlanHistory, is_return
from mulligan.domain.views.status_view import titled

_MARKS = {
    EventType.STEP_STARTED: (glyphs.DONE, ""),
    EventType.STEP_DONE: (glyphs.DONE, "green"),
    EventType.STEP_FAILED: (glyphs.FAILED, "red"),
    EventType.CHECKPOINT: (glyphs.CHECKPOINT, "cyan"),
    EventType.DECISION: (glyphs.DECISION, "magenta"),
    EventType.SUBPLAN_SPAWNED: (glyphs.CHILD, "blue"),
    EventType.SUBPLAN_MERGED: (glyphs.CHILD, "blue"),
    EventType.PLAN_STATE: (glyphs.CHILD, "bold"),
    EventType.APPLIED: (glyphs.CHILD, "bold green"),
    EventType.UNAPPLIED: (glyphs.CHILD, "bold yellow"),
    EventType.CORRECTION: (glyphs.DECISION, "yellow"),
}


def history_blocks(history: PlanHistory, when: Callable[[datetime], str]) -> list[Block]:
    """Draw the history; `when` formats times inside of texts."""
    attempt = f", attempt {history.attempt}" if history.attempt > 1 else ""
    state = state_words(history.phase, history.state)
    return [
        Line(f"{history.plan_id}: {state}{attempt}", title=True),
        Line(f"recorded {when(history.created_at)}, last changed {when(history.updated_at)}"),
        Drawing(tuple(_dated(_rows(history, "", "", live=True)))),
    ]


def _dated(rows: Iterator[tuple[datetime, Row]]) -> Iterator[Row]:
    """Rows with the time before each, and the day where a new one begins."""
    day = ""
    for moment, row in rows:
        if (today := local_day(moment)) != day:
            day = today
            yield Row(lead=(), words=(Span(day, "bold"),), rest="")
        time = f"{clock_time(moment)} "
        yield Row(lead=(Span(time, "dim"), *row.lead), words=row.words, rest=" " * len(time) + row.rest)


def _rows(history: PlanHistory, handle: str, before: str, *, live: bool) -> Iterator[tuple[datetime, Row]]:
    """The rows of a plan, and of its children where they began, each with `before` before it.

    Numbers of a child's checkpoints have its `handle`. Nothing is `live` of a child plan that its parent left behind.
    """
    depth = 0
    for moment in history.moments:
        at, bars = moment.event.created_at, before + f"{glyphs.BAR} " * (moment.depth + 1)
        dim = "" if live and moment.live else "dim "
        lead = _lead(moment, depth, before, dim)
        yield at, Row(lead=lead, words=_styled(_words(moment, handle), dim), rest=bars)
        if moment.end is not None and moment.end.type is EventType.STEP_FAILED:
            for line in str(moment.end.data["error"]).splitlines():
                failed = (Span(line, f"{dim}red"),)
                yield at, Row(lead=(Span(bars, "dim"),), words=failed, rest=bars)
        if moment.child is not None:
            yield from _rows(moment.child, moment.child.handle, bars, live=live and moment.live)
        depth = moment.depth


def _lead(moment: Moment, above: int, before: str, dim: str) -> tuple[Span, ...]:
    """The lines that lead to a moment: to a branch of what was left behind, along it, or back from it."""
    mark, style = _mark(moment)
    style = dim + style
    depth = moment.depth
    if depth > above:
        bars = f"{glyphs.BAR} " * above + f"{glyphs.FORK}{glyphs.DASH}"
        bars += f"{glyphs.MORE}{glyphs.DASH}" * (depth - above - 1)
        return Span(before + bars, "dim"), Span(mark, style), Span(" ")
    after = " "
    if depth < above:
        after = f"{glyphs.DASH}{glyphs.ENDS}" * (above - depth - 1) + f"{glyphs.DASH}{glyphs.END} "
    return Span(before + f"{glyphs.BAR} " * depth, "dim"), Span(mark, style), Span(after, "dim")


def _mark(moment: Moment) -> tuple[str, str]:
    if moment.under_way:
        return glyphs.RUNS, "bold yellow"
    if is_return(moment.event):
        return glyphs.BACK, "yellow"
    type = moment.event.type if moment.end is None else moment.end.type
    return _MARKS.get(type, (glyphs.NOTE, ""))


def _words(moment: Moment, handle: str) -> Sequence[Span]:
    event, end = moment.event, moment.end
    match event.type:
        case EventType.STEP_STARTED:
            tool = [Span(f" {moment.call.data['tool']}", "dim")] if moment.call else []
            return [
                Span("step "),
                Span(titled(event.data["step"], event.data.get("about")), "bold"),
                *tool,
                _outcome(moment),
            ]
        case EventType.CHECKPOINT:
            gone = " (pruned)" if moment.pruned else ""
            taken = Span(f" {moment_of(event)}", "bold" if event.data["label"] else "")
            return [Span(number_of(event, handle), "cyan"), taken, Span(gone, "dim")]
        case EventType.PLAN_STATE if moment.again:
            return [Span("went on", "bold")]
        case _:
            return [Span(told(event, handle), "bold" if is_return(event) or end else "")]


def _outcome(moment: Moment) -> Span:
    end = moment.end
    if end is None:
        return Span(" is running", "yellow") if moment.under_way else Span(" did not end", "yellow")
    if end.type is EventType.STEP_FAILED:
        return Span(" failed", "red")
    return Span(f" {lasting(int(str(end.data['duration_ms'])))}", "green")


def _styled(words: Sequence[Span], dim: str) -> tuple[Span, ...]:
    return tuple(Span(word.text, dim + word.style) for word in words if word.text)
