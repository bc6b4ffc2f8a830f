"""The stages of every run, of a plan file or a session: started or resumed, completed or stopped."""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run, at_work, finished_state
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.timeline.in_place_plans import InPlacePlans
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, PlanFailure, ResumedFrom, State
from mulligan.domain.plans.step import Step, StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.ports import Clock


class RunStages(Struct, kw_only=True, frozen=True, eq=False):
    """Brings a claimed plan into `processing`, and out of it."""

    sandboxes: SandboxService
    resumes: PlanResumeService
    in_place_plans: InPlacePlans
    checkpoints: CheckpointService
    clock: Clock

    def start(self, run: Run) -> bool:
        """Make the sandboxes of a plan and bring it into `processing`; return False if it has sandboxes already."""
        if run.plan.phase is Phase.STRATEGIZE:
            run.record(run.plan.moved_to(Phase.EXECUTE, State.QUEUED, self.clock.now()))
        if run.sandboxes:
            if run.in_place:
                self.in_place_plans.settle(run)
            return False
        if run.plan.parent_plan_id is not None:
            self.sandboxes.fork(run, run.plan.parent_plan_id)
            return True
        if run.plan.definition.fork is not None:
            self.sandboxes.fork_group(run, run.plan.definition.fork)
            return True
        self.sandboxes.check(run.plan.definition, run.settings)
        self.in_place_plans.make_way(run)
        self.sandboxes.make(run)
        return True

    def resume(self, run: Run) -> ResumedFrom | None:
        """Restore the last good group and bring the plan into `processing`."""
        resumed = self.restore(run)
        self.go_on(run)
        return resumed

    def restore(self, run: Run) -> ResumedFrom | None:
        """Restore the last good group."""
        # Without a group no step has begun: the run was interrupted right after its sandboxes were made.
        return self.resumes.restore(run) if run.plan.current_group_id else None

    def go_on(self, run: Run) -> None:
        """Bring the plan into `processing` without a restore."""
        now = self.clock.now()
        plan = replace(run.plan.moved_to(Phase.EXECUTE, State.PROCESSING, now), failure=None)
        run.record(plan, at_work(plan, now))

    def begin(self, run: Run) -> None:
        """Take the group before the first step, if there is none yet."""
        if run.plan.definition.rollback_policy.enabled and run.plan.current_group_id is None:
            reason = reason_for(CheckpointType.PRE_EXECUTE, {}, between_steps=True)
            self.checkpoints.create_checkpoint(run, reason)

    def keep_place(self, run: Run) -> None:
        """Take a group between two steps, from which another process goes on."""
        if run.plan.definition.rollback_policy.enabled:
            step = run.plan.definition.steps[run.step_index]
            reason = reason_for(CheckpointType.BEFORE_STEP, {"step": step.name}, between_steps=True)
            self.checkpoints.create_checkpoint(run, reason)

    def complete(self, run: Run) -> None:
        """Take the group after the last step, and end in `complete`; in place there is nothing left to apply."""
        if run.plan.definition.rollback_policy.enabled:
            reason = reason_for(CheckpointType.POST_EXECUTE, {}, between_steps=True)
            self.checkpoints.create_checkpoint(run, reason)
        phase, state = finished_state(run)
        done = Entry(type=EventType.PLAN_STATE, data={"state": state.value}, at=self.clock.now())
        run.record(run.plan.moved_to(phase, state, done.at), done)

    def wait_for_answer(self, run: Run, step: Step, question: Question, message: str) -> None:
        """Take a group between two steps of a session, and record that the plan waits for an answer."""
        reason = reason_for(CheckpointType.BEFORE_STEP, {"step": step.name}, between_steps=True)
        self.checkpoints.create_checkpoint(run, reason)
        now = self.clock.now()
        failure = PlanFailure(message=message, step=step.name, tool=None, checkpoint=None, question=question)
        with run.commit("plan.constrain") as commit:
            waits = run.plan.moved_to(Phase.EXECUTE, State.CONSTRAINED, now)
            commit.plan = replace(waits, failure=failure)
            commit.record(Entry(type=EventType.PLAN_STATE, data={"state": "constrained"}, at=now))

    def interrupt(self, run: Run) -> None:
        """Record that the run was stopped from outside, as by Ctrl-C: it can be resumed."""
        interrupted = PlanFailure(message="interrupted", step=None, tool=None, checkpoint=None)
        self.stop(run, State.QUEUED, interrupted)

    def pause(self, run: Run) -> None:
        """Record that the run waits to be resumed, with nothing ahead of its last group."""
        now = self.clock.now()
        paused = run.plan.moved_to(Phase.EXECUTE, State.QUEUED, now)
        run.record(paused, Entry(type=EventType.PLAN_STATE, data={"state": paused.state.value}, at=now))

    def stop(self, run: Run, state: State, failure: PlanFailure) -> None:
        """Record that the run stopped; a resume discards what is ahead of the last group."""
        run.discard_pending()
        now = self.clock.now()
        with run.commit("plan.stop") as commit:
            db = commit.db
            # Read again: a signal during a commit is raised before the run knows the committed plan.
            recorded = db.plans.get(run.plan.plan_id)
            if recorded.state in (State.COMPLETE, State.APPLIED):  # not started yet, or done
                return
            commit.plan = replace(recorded.moved_to(Phase.EXECUTE, state, now), failure=failure)
            db.tool_calls.interrupt(recorded.plan_id)
            if run.interrupted is not None:
                db.tool_calls.save(run.interrupted)
            stopped = [s for s in db.steps.list(recorded.plan_id) if s.status is StepStatus.RUNNING]
            entry = Entry(type=EventType.PLAN_STATE, data={"state": state.value}, at=now)
            commit.record(*(replace(s, status=StepStatus.PENDING) for s in stopped), entry)
