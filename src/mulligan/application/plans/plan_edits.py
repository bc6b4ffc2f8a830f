"""Adopts an edited plan file for a plan that stopped: completed steps stay, later ones are replaced."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.domain.history.correction import with_appended
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan, PlanDefinition
from mulligan.domain.plans.step import StepRecord, StepStatus
from mulligan.errors import Advice, NextStep, PlanFileDiffers
from mulligan.ports import Clock
from mulligan.rows.database import Database

_NEW = Advice("run it as a plan of its own with ", NextStep("execute", plan=...))


class PlanMending(Struct, kw_only=True, frozen=True, eq=False):
    """Replaces the steps of a plan that are not completed."""

    database: Database
    settings: SettingsSource
    clock: Clock

    def adopt(self, run: Run, corrected: PlanDefinition) -> None:
        """Adopt a plan file whose completed steps are the recorded ones; refuse any other."""
        with self.database.reading() as db:
            start = db.checkpoints.newest_between_steps(run.plan.plan_id)
        completed = start.step_index if start else run.plan.progress.step_index
        corrected = corrected_plan(run.plan, corrected, completed)
        now = self.clock.now()
        entry = Entry(type=EventType.PLAN_MENDED, data={"from_step": completed}, at=now)
        settings = self.settings.for_plan(corrected.config)
        with run.commit("plan.mend") as commit:
            db, plan_id = commit.db, run.plan.plan_id
            commit.plan = replace(run.plan, definition=corrected, updated_at=now)
            db.plans.redefine(commit.plan)
            db.steps.replace(plan_id, 0, steps_at(corrected, db.steps.list(plan_id), completed))
            commit.record(entry)
            commit.afterwards(lambda: run.use(settings))


def steps_at(definition: PlanDefinition, recorded: Sequence[StepRecord], completed: int) -> list[StepRecord]:
    """Return the steps of a definition, the first `completed` as they are recorded."""
    known = {(s.index, s.name): s for s in recorded}
    return [
        known[index, step.name]
        if index < completed and (index, step.name) in known
        else StepRecord(index=index, name=step.name, status=StepStatus.PENDING, duration_ms=None)
        for index, step in enumerate(definition.steps)
    ]


def corrected_plan(plan: Plan, file: PlanDefinition, completed: int) -> PlanDefinition:
    """Return the plan with the steps of an edited file, and with those that corrections appended.

    Refuse a file of another plan, or one whose completed steps differ.
    """
    plan_id, recorded = plan.plan_id, plan.definition
    corrected = with_appended(file, recorded)
    if len({step.name for step in corrected.steps}) < len(corrected.steps):
        raise PlanFileDiffers(
            plan_id=plan_id,
            reason="a step has the name of one that a correction appended",
            hint="give that step another name in the file",
        )
    if corrected.name != recorded.name:
        raise PlanFileDiffers(
            plan_id=plan_id,
            reason=f"the plan is called {recorded.name!r}, not {corrected.name!r}",
            hint=Advice(f"put `name: {recorded.name}` back in the file, or ", _NEW),
        )
    if corrected.resources != recorded.resources:
        raise PlanFileDiffers(
            plan_id=plan_id,
            reason="its resources are not those of the plan",
            hint=Advice("put its `resources:` back in the file, or ", _NEW),
        )
    for index, step in enumerate(recorded.steps[:completed]):
        if index >= len(corrected.steps) or corrected.steps[index] != step:
            raise PlanFileDiffers(
                plan_id=plan_id,
                reason=f"step {index + 1} ({step.name!r}) is completed and differs in the file",
            )
    return replace(corrected, fork=recorded.fork)
