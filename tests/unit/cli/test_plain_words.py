"""Every state, and every moment at which a checkpoint is taken, has words for people."""

import re
from datetime import UTC, datetime

import pytest

from mulligan.application.queries.plan_queries import PlanStatus, PlanTiming
from mulligan.cli.answers.plain_words import MOMENTS, STATES, STEP_STATES, in_words, moment, standing
from mulligan.domain.plans.plan import LEGAL, Phase, State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.views.status_view import ExecutionCounts, PlanErrorView, StepView

GONE = PlanErrorView(message="gone", step=None, tool=None, checkpoint=None, recoverable=True, hint="")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_every_state_and_every_moment_has_words() -> None:
    reached = {*LEGAL, *(state for states in LEGAL.values() for state in states)}
    assert set(STATES) == reached
    assert set(MOMENTS) == set(CheckpointType)
    assert set(STEP_STATES) == set(StepStatus)
    exact = {*State, *CheckpointType} - {State.COMPLETE, State.CANCELLED, State.APPLIED}
    assert not [words for words in (*STATES.values(), *MOMENTS.values()) if words in exact or "_" in words]


@pytest.mark.parametrize("type", CheckpointType)
def test_a_moment_counts_steps_from_one(type: CheckpointType) -> None:
    assert "0" not in moment(type, 0 if type is not CheckpointType.AFTER_STEP else 1, None)
    assert moment(type, 1, "draft").endswith(" 'draft'")


def test_moments() -> None:
    assert moment(CheckpointType.BEFORE_STEP, 1, None) == "before step 2"
    assert moment(CheckpointType.AFTER_STEP, 1, None) == "after step 1"
    assert moment(CheckpointType.MANUAL, 2, "French") == "your label 'French'"


def status(
    phase: Phase,
    state: State,
    *steps: StepStatus,
    conflicts: int = 0,
    gone: bool = False,
    waiting: JsonObject | None = None,
) -> PlanStatus:
    return PlanStatus(
        plan_id=PlanId("01P"),
        handle="tune",
        name="tune",
        phase=phase,
        state=state,
        attempt=1,
        parent_plan_id=None,
        forked_from=None,
        steps=tuple(StepView(index=n, name=f"s{n}", status=s, duration_ms=None) for n, s in enumerate(steps)),
        last_checkpoint_id=None,
        last_checkpoint_number=None,
        sandboxes=(),
        resumed_from=None,
        corrections=(),
        execution=ExecutionCounts(tool_calls=0, files_modified=0, child_plans=0, decisions=0, checkpoints=0),
        conflicts=({},) * conflicts,
        error=GONE if gone else None,
        waiting=waiting,
        timing=PlanTiming(created_at=NOW, updated_at=NOW),
        messages=(),
    )


ASKED: JsonObject = {"reason": "question", "question": "Which language?"}
DONE, FAILED, RUNS, TO_DO = StepStatus.DONE, StepStatus.FAILED, StepStatus.RUNNING, StepStatus.PENDING


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (status(Phase.EXECUTE, State.COMPLETE, DONE), "complete"),
        (status(Phase.EXECUTE, State.ERRORED, DONE, FAILED), "failed at step 2 (s1)"),
        (status(Phase.EXECUTE, State.ERRORED, DONE), "failed"),
        (status(Phase.EXECUTE, State.QUEUED, DONE, TO_DO), "ready to go on with step 2 (s1)"),
        (status(Phase.EXECUTE, State.PROCESSING, RUNS), "running at step 1 (s0)"),
        (status(Phase.EXECUTE, State.PROCESSING, RUNS, gone=True), "interrupted at step 1 (s0)"),
        (status(Phase.APPLY, State.PROCESSING, DONE, gone=True), "interrupted"),
        (status(Phase.APPLY, State.PROCESSING, DONE), "being applied"),
        (status(Phase.EXECUTE, State.CONSTRAINED, RUNS, conflicts=1), "waiting for you: 1 conflict"),
        (status(Phase.APPLY, State.CONSTRAINED, DONE, conflicts=2), "waiting for you: 2 conflicts"),
        (status(Phase.EXECUTE, State.CONSTRAINED, RUNS), "waiting for you"),
        (
            status(Phase.EXECUTE, State.CONSTRAINED, RUNS, waiting=ASKED),
            "waiting for you: Which language?",
        ),
        (status(Phase.APPLY, State.CANCELLED, DONE), "taken back"),
    ],
)
def test_a_plan_in_words(seen: PlanStatus, words: str) -> None:
    assert standing(seen) == words


@pytest.mark.parametrize(
    ("text", "step_index", "words"),
    [
        (
            "the before_step checkpoint of plan x could not",
            1,
            "the checkpoint of plan x (before step 2) could not",
        ),
        (
            "the after_step checkpoint of plan x could not",
            None,
            "the checkpoint of plan x (after a step) could not",
        ),
        ("the manual checkpoint of plan x could not", 1, "the checkpoint of plan x could not"),
        (
            "checkpoint x@2 (pre_apply) holds",
            None,
            "checkpoint x@2 (the real resources before the apply) holds",
        ),
        ("my file (manual) of before_step", 1, "my file (manual) of before_step"),
    ],
)
def test_a_sentence_has_a_moment_in_place_of_the_type_of_a_checkpoint(
    text: str, step_index: int | None, words: str
) -> None:
    assert in_words(text, step_index) == words


def test_a_sentence_has_words_in_place_of_phase_and_state() -> None:
    told = "plan tune is execute/queued: run it; b is apply/constrained"
    assert in_words(told) == "plan tune is ready to go on: run it; b is waiting for you"
    assert in_words("strategize/errored stays") == "strategize/errored stays", "there is no such state"
    assert not re.search("execute/|apply/", in_words(" ".join(f"{p}/{s}" for p, s in LEGAL)))
