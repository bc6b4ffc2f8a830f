"""Undoing: which tool calls a return leaves behind, and what of their effects outside can be taken back."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.domain.history.lines import Segment, is_live
from mulligan.domain.plans.tool import CallStatus, ToolCall, Undo


class Undoing(Struct, frozen=True, kw_only=True):
    """The effects of tool calls outside the sandboxes that a return undoes, or cannot undo."""

    undone: tuple[ToolCall, ...]  # newest first: the order in which their `undo` is called
    irreversible: tuple[ToolCall, ...]  # oldest first: their effects outside remain
    not_redone: tuple[ToolCall, ...]  # live again, but what they did outside was undone before

    @property
    def is_needed(self) -> bool:
        """Return whether calls left behind had, or may have had, effects outside."""
        return bool(self.undone or self.irreversible)

    @property
    def announced(self) -> list[str]:
        """Describe the effects that will be undone and those that cannot be."""
        undone = [f"to be undone: {described(call)}" for call in self.undone]
        return undone + [f"cannot be undone: {described(call)}" for call in self.irreversible]


def plan_undoing(calls: Sequence[ToolCall], segments: Sequence[Segment]) -> Undoing:
    """Divide a plan's calls with effects outside, oldest first, for a return after which these segments are live.

    An `undo` is for a call that came to its end; of one that did not nobody knows what it did outside.
    """
    behind = [c for c in calls if not c.superseded and not _stays(c, segments)]
    done = [c for c in behind if c.status is CallStatus.DONE]
    undone = tuple(c for c in reversed(done) if c.undo in (Undo.POSSIBLE, Undo.FAILED))
    stands = [
        c
        for c in behind
        if c.undo is Undo.IMPOSSIBLE or (c.undo is Undo.POSSIBLE and c.status is not CallStatus.DONE)
    ]
    revived = tuple(c for c in calls if c.superseded and c.undo is Undo.DONE and _stays(c, segments))
    return Undoing(undone=undone, irreversible=tuple(stands), not_redone=revived)


def described(call: ToolCall) -> str:
    """A call in the words of messages."""
    how = "" if call.status is CallStatus.DONE else ", which did not come to its end"
    return f"{call.tool} in step {call.step_name!r}{how}"


def _stays(call: ToolCall, segments: Sequence[Segment]) -> bool:
    return call.done_seq is not None and is_live(segments, call.line, call.done_seq)
