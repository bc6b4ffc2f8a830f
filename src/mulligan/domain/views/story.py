"""The history of a plan for readers: step by step, with the parts left behind kept separate."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from sys import maxsize

from msgspec import Struct

from mulligan.domain.checkpoints.checkpoint import GroupOutline
from mulligan.domain.history.lines import Line, is_live, live_segments
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CallId, DecisionId, GroupId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.excerpt import Excerpt
from mulligan.domain.views.plan_history import lines_of_events

# What ends the step before it, beside the next step: the plan moves as a whole.
_BETWEEN_STEPS = (
    *(EventType.PLAN_CREATED, EventType.PLAN_STATE, EventType.PLAN_MENDED, EventType.ROLLBACK),
    *(EventType.CORRECTION, EventType.RETURNED, EventType.APPLIED, EventType.UNAPPLIED),
    *(EventType.PATHS_RESTORED, EventType.FORGOTTEN),
)
_KEPT_BEFORE = (CheckpointType.PRE_ROLLBACK, CheckpointType.PRE_APPLY, CheckpointType.PRE_RESTORE)


class ShownCall(Struct, frozen=True, kw_only=True):
    """A tool call, with as much of what it was given and gave back as is shown."""

    call: ToolCall  # without its arguments and its output
    arguments: tuple[tuple[str, Excerpt], ...]
    output: Excerpt | None  # None: nothing


class Happening(Struct, frozen=True, kw_only=True):
    """An event of a plan, with the record that has its details."""

    seq: int
    at: datetime
    type: EventType
    data: JsonObject
    superseded: bool
    about: ShownCall | Decision | GroupOutline | None  # None: there is no such record, or it was pruned


class Passage(Struct, frozen=True, kw_only=True):
    """A step as it ran once with all that happened in it, or what happened between two."""

    start: Happening | None  # of a step
    happenings: tuple[Happening, ...]
    superseded: bool  # all of it was left behind


class Records(Struct, frozen=True, kw_only=True):
    """The records that events refer to, by id."""

    calls: Mapping[CallId, ShownCall]
    decisions: Mapping[DecisionId, Decision]
    groups: Mapping[GroupId, GroupOutline]

    def of(self, event: Event) -> ShownCall | Decision | GroupOutline | None:
        """Return the record with the details of an event."""
        match event.type:
            case EventType.TOOL_CALLED:
                return self.calls.get(CallId(str(event.data["call_id"])))
            case EventType.DECISION:
                return self.decisions.get(DecisionId(str(event.data["decision_id"])))
            case EventType.CHECKPOINT:
                return self.groups.get(GroupId(str(event.data["group_id"])))
            case _:
                return None


def story(
    events: Sequence[Event], records: Records, lines: Sequence[Line], present_line: int
) -> tuple[Passage, ...]:
    """The passages of a plan's log, which is in order and may lack its beginning.

    A call that never ended has no event; it is placed where it began.
    """
    told = [*_told(events, records, lines, present_line)]
    ended = {happening.about.call.call_id for happening in told if isinstance(happening.about, ShownCall)}
    start = told[0].seq if told else maxsize
    lost = [
        Happening(
            seq=shown.call.seq,
            at=shown.call.started_at,
            type=EventType.TOOL_CALLED,
            data={},
            superseded=shown.call.superseded,
            about=shown,
        )
        for call_id, shown in records.calls.items()
        if call_id not in ended and shown.call.seq > start
    ]
    return tuple(_passages(sorted([*told, *lost], key=lambda happening: happening.seq)))


def _told(
    events: Sequence[Event], records: Records, lines: Sequence[Line], present_line: int
) -> Iterator[Happening]:
    segments = live_segments(lines, present_line, maxsize)
    for event, line in zip(events, lines_of_events(lines, events), strict=True):
        about = records.of(event)
        record = about.call if isinstance(about, ShownCall) else about
        live = is_live(segments, line, event.seq) if record is None else not record.superseded
        yield Happening(
            seq=event.seq,
            at=event.created_at,
            type=event.type,
            data=event.data,
            superseded=not live,
            about=about,
        )


def _passages(happenings: Iterable[Happening]) -> Iterator[Passage]:
    start: Happening | None = None
    gathered: list[Happening] = []
    for happening in happenings:
        begins = happening.type is EventType.STEP_STARTED
        kept = happening.type is EventType.CHECKPOINT and happening.data["checkpoint_type"] in _KEPT_BEFORE
        between = kept or happening.type in _BETWEEN_STEPS
        turns = start is None and gathered and happening.superseded is not gathered[-1].superseded
        if begins or turns or (between and start is not None):
            yield from _passage(start, gathered)
            start, gathered = (happening if begins else None), []
        if not begins:
            gathered.append(happening)
    yield from _passage(start, gathered)


def _passage(start: Happening | None, happenings: Sequence[Happening]) -> Iterator[Passage]:
    if start is not None or happenings:
        first = start or happenings[0]
        yield Passage(start=start, happenings=tuple(happenings), superseded=first.superseded)
