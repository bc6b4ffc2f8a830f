"""Steps: the units of a plan."""

import re
from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from mulligan.domain.plans.decision import Choice, Question
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import LONGEST_NAME

_UNNAMED = r"step-[0-9]+"  # what plan files call steps without a name
_LONGEST_ABOUT = 50  # characters


class StepStatus(StrEnum):
    """The progress of a step."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class SubplanMode(StrEnum):
    """In which order child plans run."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"
    DEPENDENCY_ORDERED = "dependency_ordered"


class MergeStrategy(StrEnum):
    """The way a child plan's result is merged into the parent's sandboxes."""

    THREE_WAY = "three_way"
    SEQUENTIAL_APPLY = "sequential_apply"
    FAIL_ON_CONFLICT = "fail_on_conflict"
    LAST_WINS = "last_wins"
    PICK = "pick"  # of the variants of a try: nothing is merged until one is picked


class ToolUse(Struct, frozen=True, kw_only=True):
    """A step that calls a tool."""

    tool: str
    resource: str | None  # None: the plan's first
    args: Mapping[str, Json]


class ChildPlan(Struct, frozen=True, kw_only=True):
    """One child of a subplans step."""

    name: str
    depends_on: tuple[str, ...]
    steps: "tuple[Step, ...]"
    description: str = ""
    variables: Mapping[str, str] = {}  # its own, beside those of its parent
    outputs: Mapping[str, Json] = {}  # of steps elsewhere, that its steps may name beside its parent's
    variant: int = 0  # of a variant of a try: its number, from 1


class Subplans(Struct, frozen=True, kw_only=True):
    """A step that runs child plans and merges them."""

    mode: SubplanMode
    max_parallel: int | None  # None: the setting plan.max-parallel decides
    merge_strategy: MergeStrategy
    fail_fast: bool
    max_retries: int
    plans: tuple[ChildPlan, ...]


class Milestone(Struct, frozen=True):
    """A step that does nothing but take its labelled checkpoint."""


class Pick(Struct, frozen=True, kw_only=True):
    """A step that takes over the result of the variant that an earlier step chose."""

    variants: str  # name of the step that ran them
    chosen_in: str  # name of the step whose answer is the name of one


Action: TypeAlias = ToolUse | Choice | Question | Subplans | Milestone | Pick


class Step(Struct, frozen=True, kw_only=True):
    """One unit of a plan."""

    name: str
    action: Action
    label: str | None  # of the manual checkpoint taken when the step is complete
    timeout: float | None  # seconds
    retries: int  # extra tries, each from the state before the step
    appended: str | None = None  # the correction that added it; None: the plan's own
    added: int | None = (
        None  # sequence number at which a user added it to a finished plan; None: the plan's own
    )
    keep: bool = False  # whatever the exit status of its command, the plan keeps what it did and continues
    check: bool = False  # its writes are dropped, and the plan continues whatever its result


def about(step: Step) -> str | None:
    """Describe a step that has no name of its own, in one short line: its command, question or path."""
    if not re.fullmatch(_UNNAMED, step.name):
        return None
    match step.action:
        case ToolUse(tool=tool, args=args):
            text = about_call(tool, args)
        case Choice(question=question) | Question(question=question):
            text = question
        case Subplans(plans=plans):
            text = f"child plans {', '.join(plan.name for plan in plans)}"
        case Milestone():
            text = f"checkpoint {step.label}" if step.label else ""
        case Pick():
            text = "pick a variant"
    return _short(text) or None


def about_call(tool: str, arguments: Mapping[str, Json]) -> str:
    """Describe a call of a tool in one short line: the command, or the tool and a path."""
    words = arguments.get("argv")
    line = " ".join(map(str, words)) if isinstance(words, list) else arguments.get("command")
    return _short(str(line) if line else f"{tool} {arguments.get('path', '')}")


def _short(text: str) -> str:
    short = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return short if len(short) <= _LONGEST_ABOUT else f"{short[: _LONGEST_ABOUT - 1].rstrip()}…"


def question_step(question: str) -> Step:
    """Return what a question of a session is recorded as, which it asks between its steps."""
    name = " ".join(question.split())[:LONGEST_NAME].rstrip()
    return Step(name=name, action=Milestone(), label=None, timeout=None, retries=0)


def milliseconds(begun: datetime, ended: datetime) -> int:
    """Return how long something took; none where the clock was set back meanwhile."""
    return max(0, int((ended - begun).total_seconds() * 1000))


_ENDED = (StepStatus.DONE, StepStatus.FAILED)


class StepRecord(Struct, frozen=True, kw_only=True):
    """The progress of one step of a recorded plan."""

    index: int
    name: str
    status: StepStatus
    duration_ms: int | None


def steps_after_return(
    names: Sequence[str],
    step_index: int,
    done: Container[str],
    recorded: Sequence[StepRecord],
    ends: Sequence[StepRecord],
    *,
    failed: bool,
) -> list[StepRecord]:
    """Return the steps of a plan that went to a group, where `step_index` is the next of them to run.

    `done` are those that the group's state has a result of. `ends` says how steps ended before the group, as far as
    that is not `recorded`. A step that failed stays visible as failed if the return is due to it.
    """
    known = {(s.index, s.name): s for s in (*recorded, *ends)}
    present = {(s.index, s.name): s for s in recorded}
    steps: list[StepRecord] = []
    for index, name in enumerate(names):
        ended, shown = known.get((index, name)), present.get((index, name))
        step = StepRecord(index=index, name=name, status=StepStatus.PENDING, duration_ms=None)
        if index < step_index and name in done:
            took = ended.duration_ms if ended and ended.status is StepStatus.DONE else None
            step = StepRecord(index=index, name=name, status=StepStatus.DONE, duration_ms=took)
        elif index < step_index and ended and ended.status in _ENDED:  # the plan was accepted without it
            step = ended
        elif failed and shown and shown.status is StepStatus.FAILED:
            step = shown
        steps.append(step)
    return steps


def steps_of_session(
    steps: Sequence[StepRecord], complete: Sequence[str], *, failed: bool
) -> list[StepRecord]:
    """Return the steps of a session: the complete ones, and the failed one if there is one. Later ones are unknown."""
    took = {(s.index, s.name): s.duration_ms for s in steps if s.status is StepStatus.DONE}
    done = [
        StepRecord(index=index, name=name, status=StepStatus.DONE, duration_ms=took.get((index, name)))
        for index, name in enumerate(complete)
    ]
    return done + [s for s in steps if failed and s.index == len(done) and s.status is StepStatus.FAILED]
