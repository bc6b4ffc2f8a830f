"""Executes a plan: claims it, makes or finds its sandboxes, walks its steps, ends in a state."""

from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoint_service import CheckpointService, reason_for
from mulligan.application.execute_phase import ExecutePhase
from mulligan.application.guards import refuse_conflicts, refuse_ended
from mulligan.application.plan_claims import PlanClaims
from mulligan.application.plan_mending import PlanMending
from mulligan.application.plan_resume_service import PlanResumeService
from mulligan.application.preflight import check_before_running
from mulligan.application.recorder import Recorder
from mulligan.application.run import Entry, Run
from mulligan.application.sandbox_service import SandboxService
from mulligan.application.sweep_service import SweepService
from mulligan.boundaries import act
from mulligan.config import Settings
from mulligan.domain.checkpoint import CheckpointType
from mulligan.domain.event import EventType
from mulligan.domain.ids import PlanId
from mulligan.domain.plan import Conflict, Phase, PlanDefinition, PlanFailure, ResumedFrom, State
from mulligan.domain.step import StepRecord, StepStatus
from mulligan.errors import (
    Interrupted,
    MulliganError,
    PlanAlreadyComplete,
    PlanTakenOver,
    StepFailed,
    SubplanConflicts,
)
from mulligan.ports import Clock, Database, Observer, StopRequest, Toolbox


class Execution(Struct, frozen=True, kw_only=True):
    """How an execution ended."""

    plan_id: PlanId
    resumed_from: ResumedFrom | None
    error: MulliganError | None  # what stopped it, if something did
    messages: tuple[str, ...]  # what the caller must know of this run


class PlanExecutor:
    """Runs a plan from where it stands to its end."""

    def __init__(
        self,
        *,
        database: Database,
        claims: PlanClaims,
        sandboxes: SandboxService,
        resumes: PlanResumeService,
        mending: PlanMending,
        checkpoints: CheckpointService,
        manager: CheckpointManager,
        phase: ExecutePhase,
        recorder: Recorder,
        sweeps: SweepService,
        toolbox: Toolbox,
        stop: StopRequest,
        clock: Clock,
    ) -> None:
        """Use these collaborators; `stop` is obeyed between two steps."""
        self._stop_request = stop
        self._database = database
        self._claims = claims
        self._sandboxes = sandboxes
        self._resumes = resumes
        self._mending = mending
        self._checkpoints = checkpoints
        self._manager = manager
        self._phase = phase
        self._recorder = recorder
        self._sweeps = sweeps
        self._toolbox = toolbox
        self._clock = clock

    def execute(self, plan_id: PlanId, mended: PlanDefinition | None, observer: Observer) -> Execution:
        """Run the plan's steps from the one that comes next. A step that fails is an answer, not an exception.

        `mended` replaces what the plan file said of the steps that are not completed.
        """
        with self._claims.open(plan_id, observer) as run:
            refuse_ended(run.plan)
            if run.plan.is_executed:
                raise PlanAlreadyComplete(plan_id=plan_id)
            refuse_conflicts(run.plan)
            self._resumes.refuse_where_impossible(run)
            if mended is not None:
                self._mending.adopt(run, mended)
            self.check(run, run.plan.definition, run.settings)
            return self.run_on(run)

    def check(self, run: Run, definition: PlanDefinition, settings: Settings) -> None:
        """Refuse, before anything is changed, to run the claimed plan as these say."""
        self._sandboxes.refuse_taken(run)
        check_before_running(definition, self._toolbox.declarations())
        self._sandboxes.check_confinement(definition, settings)

    def run_on(self, run: Run) -> Execution:
        """Run the steps of a claimed plan that passed its checks, from the one that comes next."""
        plan_id = run.plan.plan_id
        resumed: ResumedFrom | None = None
        try:
            is_new = self._start(run)
            with self._manager.watch(run):
                resumed = None if is_new else self._resume(run)
                self._walk(run)
        except KeyboardInterrupt:
            self._stop(run, State.QUEUED, None)
            raise Interrupted(plan_id=plan_id, hint=f"run on with `mulligan plan resume {plan_id}`") from None
        except SubplanConflicts as exc:
            self._constrain(run, exc)
            return Execution(plan_id=plan_id, resumed_from=resumed, error=exc, messages=tuple(run.told))
        except StepFailed as exc:
            return Execution(plan_id=plan_id, resumed_from=resumed, error=exc, messages=tuple(run.told))
        except PlanTakenOver:
            raise  # this process may write nothing any more
        except MulliganError as exc:
            failure = PlanFailure(message=exc.text, step=None, tool=None, checkpoint=None)
            self._stop(run, State.ERRORED, failure)
            return Execution(plan_id=plan_id, resumed_from=resumed, error=exc, messages=tuple(run.told))
        finally:
            self._toolbox.forget_processes()
        return Execution(plan_id=plan_id, resumed_from=resumed, error=None, messages=tuple(run.told))

    def _start(self, run: Run) -> bool:
        """Make the sandboxes of a plan that has none, which brings it into `processing`; False: it has some."""
        if run.plan.phase is Phase.STRATEGIZE:
            self._recorder.move(run, Phase.EXECUTE, State.QUEUED, ())
        if run.sandboxes:
            return False
        if run.plan.parent_plan_id is not None:
            self._sandboxes.fork(run, run.plan.parent_plan_id)
            return True
        self._sandboxes.check(run.plan.definition, run.settings)
        self._sandboxes.make(run)
        return True

    def _resume(self, run: Run) -> ResumedFrom | None:
        """Bring the plan into `processing` on the known state of its last good group."""
        # Without a group no step has begun: the run was cut off right after its sandboxes were made.
        resumed = self._resumes.restore(run) if run.plan.current_group_id else None
        plan = replace(run.plan.moved_to(Phase.EXECUTE, State.PROCESSING, self._clock.now()), failure=None)
        self._recorder.record(run, plan, ())
        return resumed

    def _walk(self, run: Run) -> None:
        enabled = run.plan.definition.rollback_policy.enabled
        if enabled and run.plan.current_group_id is None:
            self._checkpoints.create_checkpoint(
                run, reason_for(CheckpointType.PRE_EXECUTE, {}, between_steps=True), ()
            )
        while run.step_index < len(run.plan.definition.steps):
            self._stop_request.obey()
            self._phase.run_step(run)
            self._sweeps.while_running(run)
        if enabled:
            self._checkpoints.create_checkpoint(
                run, reason_for(CheckpointType.POST_EXECUTE, {}, between_steps=True), ()
            )
        done = Entry(type=EventType.PLAN_STATE, data={"state": "complete"}, at=self._clock.now())
        self._recorder.move(run, Phase.EXECUTE, State.COMPLETE, [done])

    def _constrain(self, run: Run, conflict: SubplanConflicts) -> None:
        """Record that the plan waits for someone to mend what could not be merged, on the state it stands in."""
        now = self._clock.now()
        step = run.plan.definition.steps[run.step_index]
        failure = PlanFailure(message=conflict.text, step=step.name, tool=None, checkpoint=None)
        plan = replace(
            run.progressed().moved_to(Phase.EXECUTE, State.CONSTRAINED, now),
            failure=failure,
            conflicts=tuple(
                Conflict(**each) for each in cast("list[dict[str, str]]", conflict.facts["conflicts"])
            ),
        )
        entry = Entry(type=EventType.PLAN_STATE, data={"state": plan.state.value}, at=now)
        waiting = StepRecord(
            index=run.step_index, name=step.name, status=StepStatus.PENDING, duration_ms=None
        )
        with act("plan.constrain"), self._database.writing_as(run.claim) as db:
            events = self._recorder.write(db, plan, [*run.pending, waiting, entry])
            db.tool_calls.interrupt(plan.plan_id)
            db.plans.save(plan)
        run.plan, run.pending = plan, []
        self._recorder.show(run, events)

    def _stop(self, run: Run, state: State, failure: PlanFailure | None) -> None:
        """Record that the run stopped; what was ahead of the last group is discarded when it goes on."""
        run.pending = []
        now = self._clock.now()
        with act("plan.stop"), self._database.writing_as(run.claim) as db:
            # As it is recorded: a signal that comes during a commit is raised before the run has learned of it.
            recorded = db.plans.get(run.plan.plan_id)
            if recorded.state is State.COMPLETE:  # not begun yet, or done
                return
            plan = replace(recorded.moved_to(Phase.EXECUTE, state, now), failure=failure)
            db.tool_calls.interrupt(plan.plan_id)
            stopped = [s for s in db.steps.list(plan.plan_id) if s.status is StepStatus.RUNNING]
            entry = Entry(type=EventType.PLAN_STATE, data={"state": state.value}, at=now)
            records = [*(replace(s, status=StepStatus.PENDING) for s in stopped), entry]
            events = self._recorder.write(db, plan, records)
            db.plans.save(plan)
        self._recorder.show(run, events)
