"""Claims a plan for this process: its lock, and the fence that every write checks."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.guards import refuse_elsewhere
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import below
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Claim, Locks, Observer
from mulligan.rows.database import Database

if TYPE_CHECKING:
    from mulligan.application.plans.recovery import Recovery


class PlanClaims:
    """Opens plans for work: one process at a time, from a known state."""

    def __init__(
        self,
        *,
        database: Database,
        locks: Locks,
        settings: SettingsSource,
        sweeps: SweepService,
        find_recovery: Callable[[], "Recovery"],
        here: str | None,
    ) -> None:
        """Call `find_recovery` only where a process that died, or lost the plan, left work behind.

        `here` is the id of this machine in a project of several.
        """
        self._here = here
        self._database = database
        self._locks = locks
        self._settings = settings
        self._sweeps = sweeps
        self._find_recovery = find_recovery
        # Plans taken from processes that may still be alive, each with the child plans taken with it.
        self._outlived: dict[PlanId, tuple[PlanId, ...]] = {}

    @contextmanager
    def open(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Hold the plan with its lock and a new fence, and without processes or unfinished work of a killed run."""
        with self.open_as_it_is(plan_id, observer) as run:
            self.finish_unfinished(run)
            yield run

    @contextmanager
    def open_as_it_is(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Hold the plan, including the unfinished work of a process that died."""
        with self._locks.hold(plan_id):
            with act("plan.claim"), self._database.writing() as db:
                if self._here is not None:
                    refuse_elsewhere(db, plan_id)
                claim = Claim(plan_id=plan_id, fence=db.plans.raise_fence(plan_id))
                for child in self._outlived.get(plan_id, ()):
                    db.plans.raise_fence(child)
                plan = db.plans.get(plan_id)
                if plan.state is State.PROCESSING:  # its process is dead, since this one has the lock
                    db.tool_calls.interrupt(plan_id)
                    db.entries.interrupt(plan_id)
                cut_off = [plan_id] if plan.state is State.PROCESSING or db.intents.list(plan_id) else []
                worked_on = [c.plan_id for c in below(db, plan_id) if c.plan.state is State.PROCESSING]
            run = self._run(claim, plan, observer)
            # Children run in the process of their parent; one that is claimed separately has a live process.
            cut_off += [child for child in worked_on if not self._locks.holder(child)]
            if cut_off:
                self._find_recovery().end_survivors(run, cut_off)
            if plan_id in self._outlived:
                self._find_recovery().renew(run, self._outlived[plan_id])
                del self._outlived[plan_id]
            if self._here is not None and any(s.host not in (None, self._here) for s in run.sandboxes):
                self._find_recovery().bring(run)
            yield run
            self._sweeps.after_work(run)

    @contextmanager
    def look(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Hold the plan's lock only, to preview what opening it would do; nothing is changed."""
        with self._locks.hold(plan_id):
            with self._database.reading() as db:
                plan = db.plans.get(plan_id)
            yield self._run(Claim(plan_id=plan_id, fence=plan.fence), plan, observer)

    def finish_unfinished(self, run: Run) -> None:
        """Finish or undo the work of a process that died."""
        with self._database.reading() as db:
            intents = db.intents.list(run.plan.plan_id)
        for intent in intents:
            self._find_recovery().finish(run, intent)

    def take_over(self, plan_id: PlanId) -> None:
        """End the process that works on the plan, or at least its claim."""
        with self._database.reading() as db:
            children = [child.plan_id for child in below(db, plan_id)]
        if taken := self._locks.take_over(plan_id, children):
            self._outlived[plan_id] = tuple(each for each in taken if each != plan_id)

    def _run(self, claim: Claim, plan: Plan, observer: Observer) -> Run:
        with self._database.reading() as db:
            sandboxes = tuple(db.sandboxes.list(plan.plan_id))
            latest: dict[str, Checkpoint] = {}
            if plan.current_group_id is not None:
                group = db.checkpoints.get(plan.current_group_id)
                latest = {c.resource: c for c in group.checkpoints}
        progress = plan.progress
        return Run(
            database=self._database,
            claim=claim,
            plan=plan,
            settings=self._settings.for_plan(plan.definition.config),
            observer=observer,
            sandboxes=sandboxes,
            step_index=progress.step_index,
            outputs=dict(progress.outputs),
            memory=progress.memory,
            decisions=list(progress.decisions),
            merged=list(progress.merged),
            steps=list(progress.steps),
            taken=list(progress.taken),
            latest=latest,
        )
