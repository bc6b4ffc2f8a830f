"""The ends of a plan's steps on the way to a group, from the plan's log."""

from collections.abc import Sequence

from mulligan.domain.history.lines import Line, is_live, live_segments
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.views.plan_history import lines_of_events

_ENDS = {EventType.STEP_DONE: StepStatus.DONE, EventType.STEP_FAILED: StepStatus.FAILED}


def step_ends(lines: Sequence[Line], events: Sequence[Event], line: int, seq: int) -> list[StepRecord]:
    """Return the steps that ended on the path to `seq` of `line`, each as it ended last."""
    segments = live_segments(lines, line, seq)
    found: dict[object, StepRecord] = {}
    for event, on in zip(events, lines_of_events(lines, events), strict=True):
        if event.type in _ENDS and is_live(segments, on, event.seq):
            index, took = event.data["index"], event.data.get("duration_ms")
            assert isinstance(index, int)
            found[index] = StepRecord(
                index=index,
                name=str(event.data["step"]),
                status=_ENDS[event.type],
                duration_ms=took if isinstance(took, int) else None,
            )
    return list(found.values())
