"""Adds a step to a plan that is complete, and runs it: the same sandboxes, the next checkpoint."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.plans.guards import not_ready, refuse_child, refuse_ended
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.plan_executor import Execution, PlanExecutor
from mulligan.application.runs.run import Run
from mulligan.domain.plans.command_plan import with_command
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, NextStep, PlanAlreadyApplied
from mulligan.ports import Clock, Observer, Streams


class ExtensionService(Struct, kw_only=True, frozen=True, eq=False):
    """Continues finished plans with one more command."""

    claims: PlanClaims
    resumes: PlanResumeService
    executor: PlanExecutor
    clock: Clock

    def extend(
        self,
        plan_id: PlanId,
        words: Sequence[str],
        *,
        folder: str,
        keep: bool,
        observer: Observer,
        streams: Streams | None,
    ) -> Execution:
        """Run a command as the next step of a complete plan, in a folder relative to its first resource.

        It starts from the present contents of the sandboxes: changes since the last checkpoint are kept in one first.
        """
        with self.claims.open(plan_id, observer) as run:
            run.streams = streams
            _refuse_unfit(run.plan, in_place=run.only_in_place)
            self.resumes.refuse_where_impossible(run)
            definition = with_command(run.plan.definition, words, folder=folder, keep=keep)
            self.executor.check(run, definition, run.settings)
            self._add(run, definition)
            return self.executor.run_on(run)

    def _add(self, run: Run, definition: PlanDefinition) -> None:
        now = self.clock.now()
        *before, step = definition.steps
        entry = Entry(type=EventType.STEP_ADDED, data={"index": len(before), "step": step.name}, at=now)
        pending = StepRecord(index=len(before), name=step.name, status=StepStatus.PENDING, duration_ms=None)
        with run.commit("step.add") as commit:
            (event,) = commit.record(entry)
            steps = (*before, replace(step, added=event.seq))
            queued = run.plan.moved_to(Phase.EXECUTE, State.QUEUED, now)
            commit.plan = replace(queued, failure=None, definition=replace(definition, steps=steps))
            commit.db.plans.redefine(commit.plan)
            commit.record(pending)


def _refuse_unfit(plan: Plan, *, in_place: bool) -> None:
    if plan.state is State.APPLIED:
        again = NextStep("undo", what=plan.handle) if in_place else NextStep("unapply", plan=plan.handle)
        raise PlanAlreadyApplied(
            plan_id=plan.plan_id,
            hint=Advice(
                "run a new plan without ", NextStep("again", on=...), ", or take it back with ", again
            ),
        )
    refuse_ended(plan)
    refuse_child(plan, "continued")
    if plan.definition.session:
        raise not_ready(plan, "it is a session, whose steps are those of a program", plan.way_on)
    if not plan.is_executed:
        hint = Advice(
            *("take it as it is with ", NextStep("accept", plan=plan.handle)),
            *(", or run it to its end with ", NextStep("resume", plan=plan.handle)),
        )
        raise not_ready(plan, "only a plan that is complete gets another step", hint)
