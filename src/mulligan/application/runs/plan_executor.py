"""Executes a plan: claims it, makes or restores its sandboxes, runs its steps, records how it ended."""

from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.acceptance import AcceptService
from mulligan.application.plans.guards import refuse_ended, refuse_waiting
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_edits import PlanMending
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.rollback.rollback_service import RollbackService
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.execute_phase import ExecutePhase
from mulligan.application.runs.preflight import check_before_running
from mulligan.application.runs.run import Run
from mulligan.application.runs.run_stages import RunStages
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.config import Settings
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Conflict, Phase, PlanDefinition, PlanFailure, ResumedFrom, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.text.ids import PlanId
from mulligan.errors import (
    Advice,
    Interrupted,
    MulliganError,
    NextStep,
    PlanAlreadyComplete,
    PlanFileDiffers,
    PlanTakenOver,
    QuestionOpen,
    StepFailed,
    SubplanConflicts,
)
from mulligan.ports import Clock, Locks, Observer, StopRequest, Streams, Toolbox


class Execution(Struct, frozen=True, kw_only=True):
    """The end of an execution."""

    plan_id: PlanId
    resumed_from: ResumedFrom | None
    error: MulliganError | None  # None: it ran to its end
    messages: tuple[str, ...]  # for the user
    only_restored: bool  # no step was run: those of a session are in its program
    kept: MulliganError | None = None  # how a step failed whose changes are kept all the same


class PlanExecutor(Struct, kw_only=True, frozen=True, eq=False):
    """Runs a plan from its present step to its end."""

    claims: PlanClaims
    locks: Locks
    sandboxes: SandboxService
    resumes: PlanResumeService
    rollbacks: RollbackService
    acceptances: AcceptService
    mending: PlanMending
    stages: RunStages
    manager: CheckpointManager
    phase: ExecutePhase
    sweeps: SweepService
    toolbox: Toolbox
    stop: StopRequest
    clock: Clock

    def execute(
        self,
        plan_id: PlanId,
        corrected: PlanDefinition | None,
        observer: Observer,
        start: str | None = None,
        streams: Streams | None = None,
    ) -> Execution:
        """Run the plan from its next step on. A failed step is part of the answer, not an exception.

        `corrected` replaces the plan file for steps that are not completed. `start` is a group to go to first. Commands
        are attached to `streams`.
        """
        with self.claims.open(plan_id, observer) as run:
            run.streams = streams
            if start is not None:
                self._go_to(run, start)
            refuse_ended(run.plan, run.sandboxes)
            if run.plan.is_executed:
                raise PlanAlreadyComplete(plan_id=plan_id)
            refuse_waiting(run.plan)
            self.resumes.refuse_where_impossible(run)
            if corrected is not None:
                if run.plan.definition.session:
                    reason = "the steps of the plan are those of a program"
                    raise PlanFileDiffers(plan_id=plan_id, reason=reason, hint=run.plan.way_on)
                self.mending.adopt(run, corrected)
            self.check(run, run.plan.definition, run.settings)
            return self.run_on(run)

    def _go_to(self, run: Run, start: str) -> None:
        if self.rollbacks.state_after(run, start) is State.COMPLETE:
            raise PlanAlreadyComplete(plan_id=run.plan.plan_id)
        with self.manager.watch(run):
            self.rollbacks.go_back(run, start)

    def check(self, run: Run, definition: PlanDefinition, settings: Settings) -> None:
        """Refuse to run the claimed plan with this definition and these settings, if it could not run."""
        self.sandboxes.refuse_taken(run)
        if definition.session:
            return
        check_before_running(definition, self.toolbox.declarations())
        self.sandboxes.check_confinement(definition, settings)

    def run_on(self, run: Run) -> Execution:
        """Run a claimed plan that passed its checks from its next step on."""
        if run.plan.definition.session:
            return self._restore(run)
        resumed: ResumedFrom | None = None
        try:
            is_new = self.stages.start(run)
            with self.manager.watch(run):
                resumed = None if is_new else self.stages.resume(run)
                self._walk(run)
        except KeyboardInterrupt:
            self.stages.interrupt(run)
            raise self._interrupted(run) from None
        except (SubplanConflicts, QuestionOpen) as exc:
            self._constrain(run, exc)
            return _ended(run, resumed, exc)
        except StepFailed as exc:
            return _ended(run, resumed, exc)
        except PlanTakenOver:
            raise  # this process may no longer write
        except MulliganError as exc:
            failure = PlanFailure(message=exc.text, step=None, tool=None, checkpoint=None)
            self.stages.stop(run, State.ERRORED, failure)
            return _ended(run, resumed, exc)
        finally:
            self.toolbox.forget_processes()
        return _ended(run, resumed, None)

    def _interrupted(self, run: Run) -> Interrupted:
        """Return the error of an interruption, once what is to be kept of the step is accepted."""
        plan_id, steps = run.plan.plan_id, run.plan.definition.steps
        # A variant of a try runs again where it is resumed: half of its work is not comparable.
        may_keep = bool(run.sandboxes) and not run.plan.definition.variant
        keeps = may_keep and run.step_index < len(steps) and steps[run.step_index].keep
        if keeps:
            self.acceptances.accept_left(run)
        if self.locks.was_asked_to_stop(plan_id):
            hint = Advice(
                "another command cancelled it; ", NextStep("status", plan=plan_id), " shows its steps"
            )
            return Interrupted(plan_id=plan_id, cancelled=True, hint=hint)
        if not keeps:
            return Interrupted(plan_id=plan_id, hint=run.plan.way_on)
        hint = Advice("what it did is kept; ", NextStep("apply", plan=plan_id), " applies it")
        return Interrupted(plan_id=plan_id, kept=True, hint=hint)

    def _walk(self, run: Run) -> None:
        self.stages.begin(run)
        first = run.step_index
        while run.step_index < len(run.plan.definition.steps):
            self.stop.obey()
            if self.stop.is_ending:
                if run.step_index > first:
                    self.stages.keep_place(run)
                raise KeyboardInterrupt
            self.phase.run_step(run)
            self.sweeps.while_running(run)
        self.stages.complete(run)

    def _restore(self, run: Run) -> Execution:
        """Bring a session's plan back to its last good group: its next steps are in its own program."""
        with self.manager.watch(run):
            resumed = self.stages.restore(run)
        if run.plan.state is State.PROCESSING:
            run.record(run.plan.moved_to(Phase.EXECUTE, State.QUEUED, self.clock.now()))
        message = Advice(
            "nothing was run: this plan is a session, its steps are those of a program; ", run.plan.way_on
        )
        return Execution(
            plan_id=run.plan.plan_id,
            resumed_from=resumed,
            error=None,
            messages=(*run.messages, message),
            only_restored=True,
        )

    def _constrain(self, run: Run, reason: SubplanConflicts | QuestionOpen) -> None:
        """Record that the plan waits for its conflicts to be resolved, or its question to be answered, as it is."""
        now = self.clock.now()
        step = run.plan.definition.steps[run.step_index]
        question = None
        if isinstance(reason, QuestionOpen):
            alternatives = tuple(cast("list[str]", reason.facts["alternatives"]))
            question = Question(question=str(reason.facts["question"]), alternatives=alternatives)
        failure = PlanFailure(
            message=reason.text, step=step.name, tool=None, checkpoint=None, question=question
        )
        conflicts = cast("list[dict[str, str]]", reason.facts.get("conflicts", []))
        plan = replace(
            run.progressed().moved_to(Phase.EXECUTE, State.CONSTRAINED, now),
            failure=failure,
            conflicts=tuple(Conflict(**each) for each in conflicts),
        )
        entry = Entry(type=EventType.PLAN_STATE, data={"state": plan.state.value}, at=now)
        waiting = StepRecord(
            index=run.step_index, name=step.name, status=StepStatus.PENDING, duration_ms=None
        )
        with run.commit("plan.constrain") as commit:
            commit.plan = plan
            commit.record(waiting, entry)
            commit.db.tool_calls.interrupt(plan.plan_id)


def _ended(run: Run, resumed: ResumedFrom | None, error: MulliganError | None) -> Execution:
    return Execution(
        plan_id=run.plan.plan_id,
        resumed_from=resumed,
        error=error,
        messages=tuple(run.messages),
        only_restored=False,
        kept=run.kept_failure,
    )
