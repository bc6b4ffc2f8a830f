"""The log of a plan as a timeline: what is on the present line of history, and what was left behind beside it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.event import Event, EventType
from mulligan.domain.ids import PlanId
from mulligan.domain.plan import Phase, Plan, State
from mulligan.domain.retention import GroupSummary
from mulligan.domain.rollback import Line, live_segments

_BEGIN_LINES = (EventType.ROLLBACK, EventType.CORRECTION, EventType.RETURNED)
_ENDS = (EventType.STEP_DONE, EventType.STEP_FAILED)
_NEVER = 2**62  # a sequence number that no plan comes to


class Moment(Struct, frozen=True, kw_only=True):
    """One entry of a timeline. The start of a step tells what became of it, too."""

    event: Event
    depth: int  # 0: on the present line; else how many returns left it behind, one after the other
    live: bool  # nothing beside the present line is, but for a checkpoint that was spared
    call: Event | None  # of a step: the call of its tool
    end: Event | None  # of a step: that it was done, or failed
    under_way: bool  # of a step: it runs
    again: bool  # the plan's steps were begun before, and are gone on with
    pruned: bool  # of a checkpoint: its group is there no more
    child: "Timeline | None"  # of a child plan that was spawned


class Timeline(Struct, frozen=True, kw_only=True):
    """What happened to a plan, in order."""

    plan_id: PlanId
    name: str
    phase: Phase
    state: State
    attempt: int
    moments: tuple[Moment, ...]
    older: int  # entries before them that were left out
    created_at: datetime
    updated_at: datetime


def is_return(event: Event) -> bool:
    """Whether the plan went to a group with it; a correction that appends leaves nothing behind."""
    return event.type in _BEGIN_LINES and "group_id" in event.data


def timeline(
    plan: Plan,
    lines: Sequence[Line],
    events: Sequence[Event],
    groups: Sequence[GroupSummary],
    children: Mapping[str, Timeline],
    limit: int | None,
) -> Timeline:
    """The timeline of a plan from its log; of more than `limit` entries the newest."""
    depths = _depths(lines, events)
    live = {str(group.group_id): not group.superseded for group in groups}
    moments = list[Moment]()
    starts = dict[object, int]()  # where the step began that is under way, by its index
    begun = False
    for event, depth in zip(events, depths, strict=True):
        if (
            event.type in (EventType.TOOL_CALLED, *_ENDS)
            and (place := _place(event, starts, moments)) is not None
        ):
            start = moments[place]
            if start.depth == depth:
                ends = event.type in _ENDS
                moments[place] = replace(start, end=event) if ends else replace(start, call=event)
                if ends:
                    del starts[event.data["index"]]
                continue
        if event.type is EventType.PRUNED:
            continue  # what is gone says so itself
        group = str(event.data["group_id"]) if event.type is EventType.CHECKPOINT else None
        works = event.type is EventType.PLAN_STATE and event.data["state"] == State.PROCESSING
        if event.type is EventType.STEP_STARTED:
            starts[event.data["index"]] = len(moments)
        elif is_return(event) or event.type is EventType.PLAN_STATE:
            starts.clear()
        moments.append(
            Moment(
                event=event,
                depth=depth,
                live=not depth or (group is not None and live.get(group, False)),
                call=None,
                end=None,
                under_way=False,
                again=works and begun,
                pruned=group is not None and group not in live,
                child=children.get(str(event.data.get("plan_id"))) if _spawns(event) else None,
            )
        )
        begun = begun or works
    if plan.state is State.PROCESSING:
        for place in starts.values():
            moments[place] = replace(moments[place], under_way=True)
    older = 0 if limit is None else max(0, len(moments) - limit)
    return Timeline(
        plan_id=plan.plan_id,
        name=plan.name,
        phase=plan.phase,
        state=plan.state,
        attempt=plan.attempt,
        moments=tuple(moments[older:]),
        older=older,
        created_at=plan.created_at,
        updated_at=plan.updated_at,
    )


def _place(event: Event, starts: Mapping[object, int], moments: Sequence[Moment]) -> int | None:
    """Where the step began that the event belongs to."""
    if event.type in _ENDS:
        return starts.get(event.data["index"])
    return next((p for p in starts.values() if moments[p].event.data["step"] == event.data["step"]), None)


def _spawns(event: Event) -> bool:
    return event.type is EventType.SUBPLAN_SPAWNED and not event.data["again"]


def _depths(lines: Sequence[Line], events: Sequence[Event]) -> list[int]:
    """How deep each event lies.

    An event that is not live was left behind for good by one return, and lies one deeper than that: a return may
    have been left behind itself.
    """
    if len(lines) == 1:
        return [0] * len(events)
    newest = max(line.line for line in lines)
    live_up_to = [{s.line: s.up_to_seq for s in live_segments(lines, n + 1, _NEVER)} for n in range(newest)]
    placed = list(_placed(lines, events, newest))
    depths = [0] * len(events)
    begun_depth = dict[int, int]()  # of what began each line
    for index in range(len(events) - 1, -1, -1):  # what leaves something behind comes after it
        line, seq = placed[index]
        left_by = newest
        while left_by >= line and seq > live_up_to[left_by - 1].get(line, -1):
            left_by -= 1
        depths[index] = 0 if left_by == newest else 1 + begun_depth[left_by + 1]
        if events[index].type in _BEGIN_LINES:
            begun_depth[line] = depths[index]
    return depths


def _placed(lines: Sequence[Line], events: Sequence[Event], newest: int) -> Iterator[tuple[int, int]]:
    """The line of each event, and its sequence number there: of a checkpoint that a line began from, its group's."""
    begun = [event for event in events if event.type in _BEGIN_LINES]
    line = newest - len(begun)
    forks = {entry.line: entry.fork_seq for entry in lines}
    begun_from = {
        event.data["group_id"]: forks[line + number]
        for number, event in enumerate(begun, start=1)
        if is_return(event)
    }
    for event in events:
        line += event.type in _BEGIN_LINES
        seq = begun_from.get(event.data["group_id"]) if event.type is EventType.CHECKPOINT else None
        yield line, event.seq if seq is None else seq
