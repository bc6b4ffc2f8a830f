"""The types of checkpoint groups, and among them the triggers: when each fires, and the words that name it."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self


class CheckpointType(StrEnum):
    """A reason to take a group: a trigger, which settings turn on and off, or a moment that always takes one."""

    # Triggers, in the order in which they fire, each with the moment at which it does.
    BEFORE_STEP = "before_step", "before each step"
    AFTER_STEP = "after_step", "after each step that succeeded"
    ON_TOOL_WRITE = "on_tool_write", "before each call of a tool that writes"
    ON_QUIET = "on_quiet", "inside a step, when nothing was written for a while after something was"
    ON_INTERVAL = "on_interval", "inside a step, at intervals, if something changed since the last group"
    ON_TOOL_WRITE_COMPLETE = "on_tool_write_complete", "after each successful call of a tool that writes"
    ON_SUBPLAN_SPAWN = "on_subplan_spawn", "before the first child plan of a step starts"
    AFTER_SUBPLAN = "after_subplan", "after a child plan's result was merged into its parent's sandboxes"
    ON_ERROR = "on_error", "when a step failed: what it left behind, before the sandboxes are restored"
    # Not triggers: these groups are always taken.
    PRE_EXECUTE = "pre_execute"
    POST_EXECUTE = "post_execute"
    DECISION = "decision"
    MANUAL = "manual"
    PRE_ROLLBACK = "pre_rollback"
    PRE_APPLY = "pre_apply"
    PRE_RESTORE = "pre_restore"
    POST_RESTORE = "post_restore"  # of real resources alone: what an undo of the restore starts from
    FOUND = (
        "found"  # at an event of an agent: what changed outside of its calls, or after one that was cut off
    )
    POST_UNDO = "post_undo"  # in place: the folder after an undo or redo, with what others changed since

    _value_: str
    fires: str  # at which moment; empty: it is not a trigger

    def __new__(cls, word: str, fires: str = "") -> Self:
        """Make a member whose value is the word alone."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.fires = fires
        return member

    @property
    def is_trigger(self) -> bool:
        """Return whether settings turn it on and off."""
        return bool(self.fires)

    @property
    def is_at_work(self) -> bool:
        """Return whether it is taken while the programs of a step are at work: never a state between two steps."""
        return self in AT_WORK


TRIGGERS = tuple(type for type in CheckpointType if type.is_trigger)
AT_WORK = (CheckpointType.ON_QUIET, CheckpointType.ON_INTERVAL)
DEFAULT_TRIGGERS = (CheckpointType.BEFORE_STEP, CheckpointType.AFTER_SUBPLAN, CheckpointType.ON_ERROR)

# Other tools call these two moments so; both names are accepted wherever a trigger is.
ALIASES = {
    "before_tool_execute": CheckpointType.ON_TOOL_WRITE,
    "after_tool_execute": CheckpointType.ON_TOOL_WRITE_COMPLETE,
}

_BY_WORD = {**{trigger.value: trigger for trigger in TRIGGERS}, **ALIASES}


def trigger_named(word: str) -> CheckpointType | None:
    """Return the trigger of that name or accepted second name."""
    return _BY_WORD.get(word)


def trigger_words() -> tuple[str, ...]:
    """Return all words that name a trigger, for messages."""
    return tuple(_BY_WORD)


def in_order(triggers: Iterable[CheckpointType]) -> tuple[CheckpointType, ...]:
    """Return each trigger once, in the order in which they fire."""
    wanted = set(triggers)
    return tuple(trigger for trigger in TRIGGERS if trigger in wanted)
