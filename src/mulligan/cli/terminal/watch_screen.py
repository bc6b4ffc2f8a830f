"""Looks at a plan again and again while another process works on it."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mulligan.api.document import harmless, harmless_lines
from mulligan.cli.answers.answer import Answer, Format, Line, Span
from mulligan.cli.answers.event_text import told
from mulligan.cli.answers.plain_words import moment, state_words
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.terminal import glyphs
from mulligan.cli.terminal.render import lead_nowhere
from mulligan.cli.terminal.screen import Screen, can_draw
from mulligan.cli.terminal.times import ago, clock_time, lasting, running
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.step import StepStatus
from mulligan.errors import Interrupted

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import PlanProgress
    from mulligan.cli.invocation import Invocation
    from mulligan.cli.short_names import ShortNames
    from mulligan.domain.plans.event import Event
    from mulligan.domain.plans.step import StepRecord
    from mulligan.domain.text.ids import PlanId

_PACE = 0.2  # seconds between two looks at whether something was recorded
_LOOK = 1.0  # seconds after which one looks anyway: a process that is gone records nothing
_LEAVES = "Ctrl-C leaves the plan running"
_ENDS_LOOKING = "Ctrl-C ends the wait for it"
_UNTOLD = (EventType.TOOL_CALLED, EventType.PRUNED)  # in a line of their own: the step that ended says it
_MARKS = {
    StepStatus.DONE: (glyphs.DONE, "green"),
    StepStatus.FAILED: (glyphs.FAILED, "red"),
    StepStatus.RUNNING: (glyphs.RUNS, "yellow"),
    StepStatus.PENDING: (glyphs.WAITS, "dim"),
}


def watched(invocation: Invocation, project: Project, plan: str) -> Answer:
    """Show a plan until it has ended, then its status, as a document if one is asked for."""
    plan_id = project.status(plan).plan_id
    looks = _looks(project, plan_id)
    try:
        if invocation.format is Format.RICH and can_draw(sys.stdout):
            _on_a_screen(looks)
        elif invocation.format.is_document:
            deque(looks, maxlen=0)  # only its end is reported
        else:
            _in_lines(project, looks, invocation.names)
    except KeyboardInterrupt:
        left = _left(project.progress(plan_id))
        if invocation.format.is_document:
            raise Interrupted(hint=f"{left}; `mulligan status` shows its state") from None
        return Answer(data=None, blocks=[Line(f"no longer watched; {left}")], exit_code=130)
    except BrokenPipeError:
        lead_nowhere(sys.stdout)  # as `mulligan … | head` ends
        return Answer(data=None)
    return status_answer(project.status(plan_id), None, when=invocation.when)


def _left(look: PlanProgress) -> str:
    """Describe what happens to a plan that is no longer watched."""
    if look.worked_on or look.is_over:
        return "the plan goes on" if look.worked_on else "the plan has ended"
    return f"nobody works on the plan: `mulligan plan execute {look.handle}` runs it"


def _looks(project: Project, plan_id: PlanId) -> Iterator[PlanProgress]:
    """Yield the progress of the plan until it is over; read it again only after something was recorded."""
    seen = project.changes()
    look, at = project.progress(plan_id), time.monotonic()
    yield look
    while not look.is_over:
        time.sleep(_PACE)
        changes = project.changes()
        if changes != seen or time.monotonic() - at >= _LOOK:
            seen, at = changes, time.monotonic()
            look = project.progress(plan_id)
        yield look


def _on_a_screen(looks: Iterator[PlanProgress]) -> None:
    screen = Screen(sys.stdout, terminal=True)
    drawn: list[tuple[Span, ...]] = []
    try:
        for look in looks:
            rows = frame(look, datetime.now(UTC), lines=screen.size.lines - 1)
            if rows != drawn:
                drawn = rows  # before it is: Ctrl-C may come in between
                screen.update(b"", drawn)
    except KeyboardInterrupt:
        screen.update(b"", drawn[:-1])  # all but how to leave
        sys.stdout.write("\n")
        raise
    screen.update(b"", ())


def frame(look: PlanProgress, now: datetime, *, lines: int) -> list[tuple[Span, ...]]:
    """Return the lines that a screen of that size shows of a plan; with many steps, those around the running one."""
    attempt = f", attempt {look.attempt}" if look.attempt > 1 else ""
    state = f": {state_words(look.phase, look.state)}{attempt}"
    counts = f"{look.steps_done} of {len(look.steps)} steps done, last changed {ago(look.updated_at, now)}"
    if not look.worked_on:
        counts += "; nobody works on it yet"
    head = [(Span(look.handle, "bold"), Span(state)), (Span(counts, "dim"),)]
    children = [row for child in look.children for row in _child_rows(child, now, "    ")]
    checkpoints = [
        (
            Span(f"  {glyphs.CHECKPOINT} ", "cyan"),
            Span(f"@{c.number} {moment(c.checkpoint_type, c.step_index, c.label)}"),
            Span(f"  {ago(c.created_at, now)}", "dim"),
        )
        for c in look.checkpoints
    ]
    foot = [*checkpoints, (Span(_LEAVES if look.worked_on else _ENDS_LOOKING, "dim"),)]
    room = max(3, lines - len(head) - len(foot) - len(children))
    return [*head, *_step_rows(look, now, room, children), *foot]


def _step_rows(
    look: PlanProgress, now: datetime, room: int, children: Sequence[tuple[Span, ...]]
) -> Iterator[tuple[Span, ...]]:
    """As many steps as there is room for, with the child plans below the one that runs."""
    steps, at = look.steps, look.running.index if look.running else look.steps_done
    first = 0
    if len(steps) > room:
        room -= 2  # for how many are left out before and after
        first = max(0, min(at - room // 2, len(steps) - room))
    shown = steps[first : first + room]
    after = len(steps) - first - len(shown)
    if first:
        yield (Span(f"  {first} before", "dim"),)
    for step in shown:
        yield _step_row(step, look, now)
        if step.index == at:
            yield from children
    if at == len(steps):
        yield from children
    if after:
        yield (Span(f"  {after} after", "dim"),)


def _step_row(step: StepRecord, look: PlanProgress, now: datetime) -> tuple[Span, ...]:
    mark, style = _MARKS[step.status]
    took = "" if step.duration_ms is None else f"  {lasting(step.duration_ms)}"
    if step.status is StepStatus.RUNNING and look.running_since is not None:
        took = f"  {running((now - look.running_since).total_seconds())}"
    name = "bold" if step.status is StepStatus.RUNNING else style if step.status is StepStatus.PENDING else ""
    return Span(f"  {mark} ", style), Span(step.name, name), Span(took, "dim")


def _child_rows(child: PlanProgress, now: datetime, indent: str) -> Iterator[tuple[Span, ...]]:
    """A child plan in one row, and those below it."""
    step = child.running
    doing = f"  {state_words(child.phase, child.state)}"
    if step is not None and child.running_since is not None:
        doing = f"  {step.name}  {running((now - child.running_since).total_seconds())}"
    mark, style = _MARKS[
        StepStatus.RUNNING if step else StepStatus.DONE if child.is_done else StepStatus.PENDING
    ]
    done = f"  {child.steps_done} of {len(child.steps)}"
    yield Span(f"{indent}{mark} ", style), Span(child.name, "bold"), Span(doing), Span(done, "dim")
    for below in child.children:
        yield from _child_rows(below, now, indent + "  ")


def _in_lines(project: Project, looks: Iterator[PlanProgress], names: ShortNames) -> None:
    """A line for each change, of the plan and its children, from now on."""
    seen: dict[PlanId, int] = {}
    before: PlanProgress | None = None
    for look in looks:
        if look is before:
            continue
        news = sorted(_news(project, look, "", seen), key=lambda each: each[0].created_at)
        if before is None and not look.is_over:  # else the status that follows says so
            print(harmless(f"{look.handle}: {state_words(look.phase, look.state)}"), flush=True)
        elif before is not None:
            for event, whose in news:
                text = names.text(told(event))
                print(harmless_lines(f"{clock_time(event.created_at)} {whose}{text}"), flush=True)
        before = look


def _news(
    project: Project, look: PlanProgress, whose: str, seen: dict[PlanId, int]
) -> Iterator[tuple[Event, str]]:
    """Return the events of a plan and its children since the last call, each with its plan."""
    events = project.log(look.plan_id, after=seen.get(look.plan_id, 0))
    if events:
        seen[look.plan_id] = events[-1].seq
    yield from ((event, whose) for event in events if event.type not in _UNTOLD)
    for child in look.children:
        yield from _news(project, child, f"{whose}[{child.name}] ", seen)
