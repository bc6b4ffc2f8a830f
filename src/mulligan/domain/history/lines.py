"""Lines of history: the records that a return to a group keeps live, and those that it leaves behind.

Every return starts a new line at its target group. A group, decision or tool call belongs to the line that
was current when it was recorded. A record is live if it lies on the path of lines from the current one back
to the first. Nothing is ever removed from a line, and pruning a group does not break the path.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

FIRST_LINE = 1
NEVER = 2**62  # a sequence number that no plan comes to


class Line(Struct, frozen=True, kw_only=True):
    """A stretch of a plan's history between two returns."""

    line: int
    parent_line: int | None  # None: the first
    fork_seq: int  # sequence number, on the parent line, of the group it started from


class Segment(Struct, frozen=True):
    """The part of one line that is live."""

    line: int
    up_to_seq: int


class Direction(StrEnum):
    """The direction of a return."""

    BACK = "back"
    FORWARD = "forward"


def direction_to(step_index: int, *, left_behind: bool, present_step: int) -> Direction:
    """Forward is only where a return had left something behind, and not to fewer completed steps than now."""
    return Direction.FORWARD if left_behind and step_index >= present_step else Direction.BACK


def live_segments(lines: Sequence[Line], line: int, seq: int) -> tuple[Segment, ...]:
    """Return the live segments of a plan at `seq` of `line`, newest first."""
    by_number = {entry.line: entry for entry in lines}
    segments = [Segment(line, seq)]
    current = by_number[line]
    while current.parent_line is not None:
        segments.append(Segment(current.parent_line, current.fork_seq))
        current = by_number[current.parent_line]
    return tuple(segments)


def is_live(segments: Sequence[Segment], line: int, seq: int) -> bool:
    """Return whether a record at `seq` of `line` is on the live path."""
    return any(s.line == line and seq <= s.up_to_seq for s in segments)
