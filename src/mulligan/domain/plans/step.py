"""Steps: the units of a plan."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.plans.decision import Choice
from mulligan.domain.text.json_value import Json


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


Action: TypeAlias = ToolUse | Choice | Subplans | Milestone


class Step(Struct, frozen=True, kw_only=True):
    """One unit of a plan."""

    name: str
    action: Action
    label: str | None  # of the manual checkpoint taken when the step is complete
    timeout: float | None  # seconds
    retries: int  # extra tries, each from the state before the step
    appended: str | None = None  # the correction that added it; None: the plan's own


def milliseconds(begun: datetime, ended: datetime) -> int:
    """Return how long something took; none where the clock was set back meanwhile."""
    return max(0, int((ended - begun).total_seconds() * 1000))


class StepRecord(Struct, frozen=True, kw_only=True):
    """The progress of one step of a recorded plan."""

    index: int
    name: str
    status: StepStatus
    duration_ms: int | None


def reset_steps(steps: Sequence[StepRecord], step_index: int, *, failed: bool) -> list[StepRecord]:
    """The steps as they are when `step_index` of them are complete; one that failed stays visible as failed."""
    reset: list[StepRecord] = []
    for step in steps:
        if step.index < step_index:
            if step.status is not StepStatus.DONE:
                reset.append(replace(step, status=StepStatus.DONE))
        elif step.status is not StepStatus.PENDING and not (failed and step.status is StepStatus.FAILED):
            reset.append(replace(step, status=StepStatus.PENDING, duration_ms=None))
    return reset


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
