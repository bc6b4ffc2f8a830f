"""The run of a session: what its program can do with steps, decisions and checkpoints."""

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import cast

from msgspec import Struct

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.guards import open_question
from mulligan.application.rollback.rollback_service import Rollback, RollbackService
from mulligan.application.runs.commit import Commit
from mulligan.application.runs.execute_phase import ExecutePhase
from mulligan.application.runs.run import Run
from mulligan.application.runs.run_stages import RunStages
from mulligan.application.runs.step_failure import FailureService
from mulligan.application.runs.tool_calls import values_of
from mulligan.domain.plans.decision import Choice, Question
from mulligan.domain.plans.plan import ResumedFrom, State
from mulligan.domain.plans.step import Step, question_step
from mulligan.domain.text.ids import DecisionId, GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.text.names import name_problem
from mulligan.errors import (
    CheckpointFailed,
    DatabaseUnusable,
    MulliganError,
    NoStepUnderWay,
    PlanTakenOver,
    ProgramFailed,
    RestoreIncomplete,
    SessionClosed,
    StateNotJson,
    StepNameTaken,
    StepUnderWay,
    UsageWrong,
)
from mulligan.ports import Clock

# After these it is uncertain what is recorded, or nothing may be: a plan never continues without a checkpoint.
_FATAL = (CheckpointFailed, DatabaseUnusable, PlanTakenOver, RestoreIncomplete)


class SessionRun(Struct, kw_only=True, eq=False):
    """The run of a session. Its program calls one method at a time."""

    run: Run
    resumed_from: ResumedFrom | None
    phase: ExecutePhase
    failures: FailureService
    rollbacks: RollbackService
    stages: RunStages
    sweeps: SweepService
    clock: Clock
    begun: datetime  # the present step, or the session
    step: Step | None = None
    state: JsonObject = {}
    failed_with: BaseException | None = None  # the exception of the step that failed last
    over: str | None = None  # the reason why the session has ended
    asks: bool = False  # it ended with a question that waits for someone
    pauses: bool = False  # its program goes on another time
    at_rest: list[Callable[[Commit, GroupId], None]] = []  # add rows about the group of a pause

    def __post_init__(self) -> None:
        self._recall()

    @property
    def plan_id(self) -> PlanId:
        """Return the id of the session's plan."""
        return self.run.plan.plan_id

    @property
    def paths(self) -> Mapping[str, Path]:
        """Return the sandboxes, by resource, in the plan's order."""
        return {sandbox.resource: Path(sandbox.path) for sandbox in self.run.sandboxes}

    @property
    def steps(self) -> tuple[str, ...]:
        """Return the completed steps, in order."""
        return tuple(self.run.steps)

    @property
    def guidance(self) -> str:
        """Return the guidance of corrections."""
        return values_of(self.run).guidance

    @property
    def messages(self) -> tuple[str, ...]:
        """Return messages for the user."""
        return (*self.run.plan.messages, *self.run.messages)

    def begin(self, name: str) -> None:
        """Begin a step, with the group that is due before it."""
        self._refuse_inside("another step")
        if problem := name_problem(name):
            raise UsageWrong(reason=f"the step name {name!r} {problem}", hint="choose another name")
        if name in self.run.steps:
            raise StepNameTaken(step=name, plan_id=self.plan_id)
        with self._acting():
            self._go_on()
            self.begun = self.clock.now()
            self.step = self.phase.begin_own(self.run, name)

    def end(self) -> None:
        """Complete the present step, with the group that follows it."""
        step = self._under_way("the end of a step")
        with self._acting():
            self.phase.end_own(self.run, step, self.begun)
            self.step = None
            self.sweeps.while_running(self.run)

    def fail(self, exc: BaseException) -> None:
        """End the present step with an exception: capture what it left, and go back as the plan's policy says.

        Anything but an `Exception` (Ctrl-C, a cancelled task) stops the program from outside: its step is interrupted,
        as by a crash, and the next opening of the session goes back.
        """
        if self.over is not None:
            return  # the session ended before, which is why the step fails
        step = self._under_way("the end of a step")
        if not isinstance(exc, Exception):
            self.over = f"step {step.name!r} was interrupted"
            return
        error = exc
        if not isinstance(error, MulliganError):
            error = ProgramFailed(plan_id=self.plan_id, error=type(exc).__name__, reason=str(exc))
        try:
            self.failures.fail(self.run, step, error)
        except BaseException as worse:  # the next opening of the session finishes a return
            self.over = in_words(worse)
            raise
        self.step, self.failed_with = None, exc
        self._recall()

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:
        """Record a choice with its group."""
        step = self._under_way("recording a decision")
        with self._acting():
            return self.phase.record_decision(self.run, step, choice, metadata)

    def ask(self, question: Question) -> str:
        """Return the answer that someone gave to the question; without one, record it and end the session."""
        self._refuse_inside("a question")
        step = question_step(question.question)
        for decision in self.run.decisions:
            if (decision["step"], decision["question"]) == (step.name, question.question):
                return str(decision["chosen"])
        error = open_question(self.run.plan, question)
        with self._acting():
            self._go_on()
            self.stages.wait_for_answer(self.run, step, question, error.text)
        self.asks, self.over = True, "it waits for an answer"
        raise error

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:
        """Take a labelled group."""
        self._refuse_over()
        with self._acting():
            self._go_on()
            between = self.step is None
            group = self.phase.take_labelled(self.run, self.step, label, metadata, between_steps=between)
            return group.group_id

    def log(self, message: str) -> None:
        """Write into the plan's log, with the next commit."""
        self._refuse_over()
        self.phase.log(self.run, self.step, message)

    def rollback(self, word: str) -> Rollback:
        """Go back, or forward, to a group of this session."""
        self._refuse_inside("a rollback")
        with self._acting():
            rollback = self.rollbacks.go_back(self.run, word)
            self._recall()
            self._go_on()
            return rollback

    def keep(self, metadata: JsonObject, write: Callable[[Commit, GroupId], None]) -> None:
        """Take a group between two steps if something differs from the last one.

        `write` adds rows to the same transaction, with the group that holds the present contents.
        """
        self._refuse_inside("a checkpoint of a graph")
        with self._acting():
            self._go_on()
            self.phase.keep_present(self.run, metadata, write)

    def note(self, write: Callable[[Commit], None]) -> None:
        """Add rows that belong to the plan, without a look at the sandboxes."""
        self._refuse_over()
        with self._acting(), self.run.commit("plan.record") as commit:
            write(commit)

    def pause(self) -> None:
        """Keep the present contents in a group from which `resume` goes on, and close the session."""
        self._refuse_inside("a pause")

        def write(commit: Commit, group_id: GroupId) -> None:
            for each in self.at_rest:
                each(commit, group_id)

        with self._acting():
            self._go_on()
            self.phase.keep_present(self.run, {"reason": "pause"}, write)
            self.stages.pause(self.run)
        self.pauses, self.over = True, "it was paused"

    def complete(self) -> None:
        """End the plan in `complete`."""
        self._refuse_inside("the end of the session")
        with self._acting():
            self._go_on()
            self.stages.complete(self.run)

    def close(self, reason: str) -> None:
        """Refuse everything from here on."""
        self.over = self.over or reason

    def _go_on(self) -> None:
        """Bring the plan back into `processing`, after a failed step that its program handled or a rollback."""
        if self.run.plan.state is not State.PROCESSING:
            self.stages.go_on(self.run)
            self.failed_with = None

    @contextmanager
    def _acting(self) -> Generator[None]:
        """Record the present state with the work of the block; close the session if that is interrupted."""
        self.run.memory = kept(self.state, "session.state")
        try:
            yield
        except BaseException as exc:
            if isinstance(exc, _FATAL) or not isinstance(exc, MulliganError):
                self.over = in_words(exc)
            raise

    def _recall(self) -> None:
        """Refresh the program's `state` dict, in place, from the plan."""
        self.state.clear()
        self.state.update(kept(self.run.memory, "session.state"))

    def fork_at(self, checkpoint: str | None) -> tuple[PlanId, str]:
        """Return the plan and the group that a fork starts from: a given one, or a new one."""
        self._refuse_over()
        if checkpoint is not None:
            return self.plan_id, checkpoint
        self._refuse_inside("a fork without a checkpoint")
        with self._acting():
            self._go_on()
            return self.plan_id, self.phase.take_unnamed(self.run, {"reason": "fork"}).group_id

    def _refuse_over(self) -> None:
        if self.over is not None:
            raise SessionClosed(name=self.run.plan.name, plan_id=self.plan_id, reason=self.over)

    def _refuse_inside(self, wanted: str) -> None:
        self._refuse_over()
        if self.step is not None:
            raise StepUnderWay(wanted=wanted, step=self.step.name, plan_id=self.plan_id)

    def _under_way(self, wanted: str) -> Step:
        self._refuse_over()
        if self.step is None:
            raise NoStepUnderWay(wanted=wanted, plan_id=self.plan_id)
        return self.step


def in_words(exc: BaseException) -> str:
    """Describe an exception in one line."""
    if isinstance(exc, MulliganError):
        return exc.text
    return f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__


def kept(values: JsonObject, what: str) -> JsonObject:
    """Return values as they will be read back; refuse what JSON cannot hold."""
    try:
        return cast("JsonObject", json.loads(json.dumps(values, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as exc:
        raise StateNotJson(what=what, reason=str(exc)) from exc
