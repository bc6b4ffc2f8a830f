"""The stages that every run goes through, whoever has its steps: begun or gone on with, completed or stopped."""

from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.runs.recorder import Recorder
from mulligan.application.runs.run import Entry, Run, at_work
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.boundaries import act
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, PlanFailure, ResumedFrom, State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.ports import Clock, Database


class RunStages:
    """Brings a claimed plan into `processing`, and out of it."""

    def __init__(
        self,
        *,
        database: Database,
        sandboxes: SandboxService,
        resumes: PlanResumeService,
        checkpoints: CheckpointService,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._sandboxes = sandboxes
        self._resumes = resumes
        self._checkpoints = checkpoints
        self._recorder = recorder
        self._clock = clock

    def start(self, run: Run) -> bool:
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

    def resume(self, run: Run) -> ResumedFrom | None:
        """Bring the plan into `processing` on the known state of its last good group."""
        resumed = self.restore(run)
        self.go_on(run)
        return resumed

    def restore(self, run: Run) -> ResumedFrom | None:
        """Stand at the last good group."""
        # Without a group no step has begun: the run was cut off right after its sandboxes were made.
        return self._resumes.restore(run) if run.plan.current_group_id else None

    def go_on(self, run: Run) -> None:
        """Bring the plan into `processing` as it stands."""
        now = self._clock.now()
        plan = replace(run.plan.moved_to(Phase.EXECUTE, State.PROCESSING, now), failure=None)
        self._recorder.record(run, plan, [at_work(plan, now)])

    def begin(self, run: Run) -> None:
        """Take the group before the first step, where there is none yet."""
        if run.plan.definition.rollback_policy.enabled and run.plan.current_group_id is None:
            self._checkpoints.create_checkpoint(
                run, reason_for(CheckpointType.PRE_EXECUTE, {}, between_steps=True), ()
            )

    def complete(self, run: Run) -> None:
        """Take the group after the last step, and end in `complete`."""
        if run.plan.definition.rollback_policy.enabled:
            self._checkpoints.create_checkpoint(
                run, reason_for(CheckpointType.POST_EXECUTE, {}, between_steps=True), ()
            )
        done = Entry(type=EventType.PLAN_STATE, data={"state": "complete"}, at=self._clock.now())
        self._recorder.move(run, Phase.EXECUTE, State.COMPLETE, [done])

    def interrupt(self, run: Run) -> None:
        """Record that the run was stopped from outside, as by Ctrl-C: it waits to be gone on with."""
        interrupted = PlanFailure(message="interrupted", step=None, tool=None, checkpoint=None)
        self.stop(run, State.QUEUED, interrupted)

    def stop(self, run: Run, state: State, failure: PlanFailure) -> None:
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
