"""The log of a plan as a history: what is on the present line of history, and what was left behind beside it."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.checkpoints.retention import GroupSummary
from mulligan.domain.history.lines import NEVER, Line, live_segments
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.text.ids import PlanId

_BEGIN_LINES = (EventType.ROLLBACK, EventType.CORRECTION, EventType.RETURNED)
_ENDS = (EventType.STEP_DONE, EventType.STEP_FAILED)


class Moment(Struct, frozen=True, kw_only=True):
    """A moment of a history. The start of a step also has its result."""

    event: Event
    depth: int  # 0: on the present line; else how many returns left it behind, one after the other
    live: bool  # nothing beside the present line is, but for a checkpoint that was spared
    call: Event | None = None  # of a step: the call of its tool
    end: Event | None = None  # of a step: that it was done, or failed
    under_way: bool = False  # of a step: it runs
    again: bool  # the plan's steps were begun before, and are gone on with
    pruned: bool  # of a checkpoint: its group is there no more
    child: "PlanHistory | None"  # of a child plan that was spawned


class PlanHistory(Struct, frozen=True, kw_only=True):
    """The events of a plan, in order."""

    plan_id: PlanId
    handle: str
    name: str
    phase: Phase
    state: State
    attempt: int
    moments: tuple[Moment, ...]
    older: int  # entries before them that were left out
    created_at: datetime
    updated_at: datetime


def is_return(event: Event) -> bool:
    """Return whether the event moved the plan to a group; a correction that appends leaves nothing behind."""
    return event.type in _BEGIN_LINES and "group_id" in event.data


def lines_of_events(lines: Sequence[Line], events: Sequence[Event]) -> list[int]:
    """The line of history that each event of a log lies on; the log may lack its beginning.

    Each return, and work that a correction appends, starts the next.
    """
    starts = [event.type in _BEGIN_LINES for event in events]
    first = max(line.line for line in lines) - sum(starts)
    return [first + count for count in accumulate(starts)]


def plan_history(
    plan: Plan,
    lines: Sequence[Line],
    events: Sequence[Event],
    groups: Sequence[GroupSummary],
    children: Mapping[str, PlanHistory],
    limit: int | None,
) -> PlanHistory:
    """The history of a plan from its log; of more than `limit` entries the newest."""
    live = {str(group.group_id): not group.superseded for group in groups}
    telling = _Telling(live, children)
    for event, depth in zip(events, _depths(lines, events), strict=True):
        telling.tell(event, depth)
    moments = telling.moments
    if plan.state is State.PROCESSING:
        for place in telling.starts.values():
            moments[place] = replace(moments[place], under_way=True)
    older = 0 if limit is None else max(0, len(moments) - limit)
    return PlanHistory(
        plan_id=plan.plan_id,
        handle=plan.handle,
        name=plan.name,
        phase=plan.phase,
        state=plan.state,
        attempt=plan.attempt,
        moments=tuple(moments[older:]),
        older=older,
        created_at=plan.created_at,
        updated_at=plan.updated_at,
    )


class _Telling:
    """Goes through a log, and puts what belongs to a step where the step began."""

    def __init__(self, live: Mapping[str, bool], children: Mapping[str, PlanHistory]) -> None:
        """`live` are the groups that are there, and whether they are on the present line."""
        self.moments: list[Moment] = []
        self.starts: dict[object, int] = {}  # where steps began that are under way, by their index
        self._live = live
        self._children = children
        self._begun = False

    def tell(self, event: Event, depth: int) -> None:
        if event.type is EventType.PRUNED or self._joined(event, depth):
            return  # what is gone says so itself
        if event.type is EventType.STEP_STARTED:
            self.starts[event.data["index"]] = len(self.moments)
        elif is_return(event) or event.type is EventType.PLAN_STATE:
            self.starts.clear()
        group = str(event.data["group_id"]) if event.type is EventType.CHECKPOINT else None
        spawns = event.type is EventType.SUBPLAN_SPAWNED and not event.data["again"]
        works = event.type is EventType.PLAN_STATE and event.data["state"] == State.PROCESSING
        self.moments.append(
            Moment(
                event=event,
                depth=depth,
                live=not depth or (group is not None and self._live.get(group, False)),
                again=works and self._begun,
                pruned=group is not None and group not in self._live,
                child=self._children.get(str(event.data.get("plan_id"))) if spawns else None,
            )
        )
        self._begun = self._begun or works

    def _joined(self, event: Event, depth: int) -> bool:
        """Attach a step's call or end to the start of the step; return False if there is none."""
        place = None
        if event.type in _ENDS:
            place = self.starts.get(event.data["index"])
        elif event.type is EventType.TOOL_CALLED:
            step = event.data["step"]
            begun = (p for p in self.starts.values() if self.moments[p].event.data["step"] == step)
            place = next(begun, None)
        if place is None or self.moments[place].depth != depth:
            return False
        if event.type in _ENDS:
            self.moments[place] = replace(self.moments[place], end=event)
            del self.starts[event.data["index"]]
        else:
            self.moments[place] = replace(self.moments[place], call=event)
        return True


def _depths(lines: Sequence[Line], events: Sequence[Event]) -> list[int]:
    """Return the depth of each event.

    An event that is not live was left behind for good by one return, and lies one deeper than that: a return may
    have been left behind itself.
    """
    if len(lines) == 1:
        return [0] * len(events)
    newest = max(line.line for line in lines)
    live_up_to = [{s.line: s.up_to_seq for s in live_segments(lines, n + 1, NEVER)} for n in range(newest)]
    placed = list(_placed(lines, events))
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


def _placed(lines: Sequence[Line], events: Sequence[Event]) -> Iterator[tuple[int, int]]:
    """The line of each event, and its sequence number there: of a checkpoint that a line began from, its group's."""
    placed = list(zip(events, lines_of_events(lines, events), strict=True))
    forks = {entry.line: entry.fork_seq for entry in lines}
    begun_from = {event.data["group_id"]: forks[line] for event, line in placed if is_return(event)}
    for event, line in placed:
        seq = begun_from.get(event.data["group_id"]) if event.type is EventType.CHECKPOINT else None
        yield line, event.seq if seq is None else seq
