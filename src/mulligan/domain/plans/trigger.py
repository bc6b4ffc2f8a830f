"""The moments at which checkpoints are taken by themselves."""

from collections.abc import Iterable
from enum import StrEnum


class Trigger(StrEnum):
    """A configurable milestone of a running plan."""

    BEFORE_STEP = "before_step"
    AFTER_STEP = "after_step"
    ON_TOOL_WRITE = "on_tool_write"
    ON_TOOL_WRITE_COMPLETE = "on_tool_write_complete"
    ON_SUBPLAN_SPAWN = "on_subplan_spawn"
    AFTER_SUBPLAN = "after_subplan"
    ON_ERROR = "on_error"


# Other tools call these two moments so; both names are accepted wherever a trigger is.
ALIASES = {
    "before_tool_execute": Trigger.ON_TOOL_WRITE,
    "after_tool_execute": Trigger.ON_TOOL_WRITE_COMPLETE,
}

DEFAULT_TRIGGERS = (Trigger.BEFORE_STEP, Trigger.AFTER_SUBPLAN, Trigger.ON_ERROR)


_BY_WORD = {**{t.value: t for t in Trigger}, **ALIASES}


def trigger_named(word: str) -> Trigger | None:
    """Give the trigger of that name or accepted second name."""
    return _BY_WORD.get(word)


def trigger_words() -> tuple[str, ...]:
    """All words that name a trigger, for messages."""
    return (*(t.value for t in Trigger), *ALIASES)


def in_order(triggers: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Each trigger once, in the order in which they fire."""
    wanted = set(triggers)
    return tuple(t for t in Trigger if t in wanted)
