"""The words for people: of a plan's phase and state, of steps, and of the moments at which checkpoints are taken.

Documents for scripts keep the exact words (`phase`, `state`, `checkpoint_type`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import PlanStatus
    from mulligan.domain.views.status_view import StepView

STATES = {
    (Phase.STRATEGIZE, State.COMPLETE): "ready to run",
    (Phase.EXECUTE, State.QUEUED): "ready to go on",
    (Phase.EXECUTE, State.PROCESSING): "running",
    (Phase.EXECUTE, State.COMPLETE): "complete",
    (Phase.EXECUTE, State.ERRORED): "failed",
    (Phase.EXECUTE, State.CANCELLED): "cancelled",
    (Phase.EXECUTE, State.CONSTRAINED): "waiting for you",
    (Phase.APPLY, State.PROCESSING): "being applied",
    (Phase.APPLY, State.CONSTRAINED): "waiting for you",
    (Phase.APPLY, State.APPLIED): "applied",
    (Phase.APPLY, State.CANCELLED): "taken back",
}
STEP_STATES = {
    StepStatus.PENDING: "to do",
    StepStatus.RUNNING: "running",
    StepStatus.DONE: "ok",
    StepStatus.FAILED: "failed",
}
TAKEN = "taken"  # a step that failed or was cut off, and whose changes count
# `{next}` is the number of the step that was to run, or ran, at that moment, `{done}` that of the last complete one.
MOMENTS = {
    CheckpointType.BEFORE_STEP: "before step {next}",
    CheckpointType.AFTER_STEP: "after step {done}",
    CheckpointType.ON_TOOL_WRITE: "before a write in step {next}",
    CheckpointType.ON_QUIET: "in a quiet moment of step {next}",
    CheckpointType.ON_INTERVAL: "while step {next} was at work",
    CheckpointType.ON_TOOL_WRITE_COMPLETE: "after a write",
    CheckpointType.ON_SUBPLAN_SPAWN: "before the child plans of step {next}",
    CheckpointType.AFTER_SUBPLAN: "after a child plan of step {next}",
    CheckpointType.ON_ERROR: "what step {next} left when it failed",
    CheckpointType.PRE_EXECUTE: "at the start",
    CheckpointType.POST_EXECUTE: "at the end",
    CheckpointType.DECISION: "after a decision",
    CheckpointType.MANUAL: "your label",
    CheckpointType.PRE_ROLLBACK: "before a rollback",
    CheckpointType.PRE_APPLY: "the real resources before the apply",
    CheckpointType.PRE_RESTORE: "before paths were restored",
    CheckpointType.POST_RESTORE: "after paths were restored",
    CheckpointType.FOUND: "changes found",
    CheckpointType.POST_UNDO: "after an undo or redo",
}
_TYPES = "|".join(CheckpointType)
_OF_TYPE = rf"\bthe ({_TYPES}) checkpoint of (plan \S+)|\b(checkpoint \S+) \(({_TYPES})\)"
_NUMBER = re.compile(r"step \{(?:next|done)\}")
_PAIR = rf"\b({'|'.join(Phase)})/({'|'.join(State)})\b"


def moment(type: CheckpointType, step_index: int, label: str | None) -> str:
    """Describe when a checkpoint was taken: `before step 2`, `your label 'French'`."""
    if type is CheckpointType.MANUAL and not label:
        return "kept as it was"
    words = MOMENTS[type].format(next=step_index + 1, done=step_index)
    return f"{words} {label!r}" if label else words


def no_repository(folders: Sequence[str]) -> str:
    """Say that checkpoints of git checkouts lack what they borrow, and what to do."""
    return (
        f"{', '.join(folders)} is not a clone of the git repository whose objects the checkpoints borrow: they are"
        " incomplete until a clone of it is there (`git clone`)"
    )


def state_words(phase: Phase, state: State) -> str:
    """Describe phase and state of a plan."""
    return STATES[phase, state]


def standing(status: PlanStatus) -> str:
    """Describe the state of a plan, with the step, the question or the conflicts that it is about."""
    words = state_words(status.phase, status.state)
    if status.state is State.CONSTRAINED:
        if status.waiting is not None and status.waiting["reason"] == "question":
            return f"{words}: {status.waiting['question']}"
        return f"{words}: {counted(len(status.conflicts), 'conflict')}" if status.conflicts else words
    if status.state is State.PROCESSING and status.error is not None:  # its process is gone
        words = "interrupted"
    if status.phase is not Phase.EXECUTE:
        return words
    match status.state:
        case State.ERRORED:
            return words + _at(status.steps[::-1], StepStatus.FAILED, "at")  # earlier ones were accepted
        case State.PROCESSING:
            return words + _at(status.steps, StepStatus.RUNNING, "at")
        case State.QUEUED:
            return words + _at(status.steps, StepStatus.PENDING, "with")
        case _:
            return words


def in_words(text: str, step_index: int | None = None) -> str:
    """Return a sentence with the words for people in place of a phase and a state such as `execute/queued`.

    Types of checkpoints become moments; `step_index` is that of the step that they are about, where it is known.
    The branch of a checkout, which documents name as a part of its git directory, is not a path to people.
    """
    text = re.sub(r"([^\s,:]*)/\.git/branch\b", r"the branch of \1", text)
    text = re.sub(_OF_TYPE, lambda found: _checkpoint_in_words(found, step_index), text)
    return re.sub(_PAIR, lambda found: STATES.get((Phase(found[1]), State(found[2])), found[0]), text)


def _checkpoint_in_words(found: re.Match[str], step_index: int | None) -> str:
    type = CheckpointType(found[1] or found[4])
    if type is CheckpointType.MANUAL:  # which has a label, or no words of its own
        words = ""
    elif step_index is not None:
        words = f" ({moment(type, step_index, None)})"
    else:
        words = f" ({_NUMBER.sub('a step', MOMENTS[type])})"
    return f"{found[3] or f'the checkpoint of {found[2]}'}{words}"


def _at(steps: Sequence[StepView], wanted: StepStatus, preposition: str) -> str:
    """Return the first step of that state: ` at step 2 (tests)`."""
    step = next((step for step in steps if step.status is wanted), None)
    return f" {preposition} step {step.index + 1} ({step.about or step.name})" if step is not None else ""
