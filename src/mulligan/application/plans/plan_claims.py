"""Claims a plan for this process, and finishes what a process that died had begun on it."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from mulligan.application.apply.real_change_service import RealChangeService
from mulligan.application.checkpoints.project_sweep import SweepService
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Entry, Run
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.subplans.child_plans import below
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import IntentKind
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Claim, Clock, Database, Locks, Observer, Toolbox


class PlanClaims:
    """Opens plans to be worked on: one process at a time, from a known state."""

    def __init__(
        self,
        *,
        database: Database,
        locks: Locks,
        toolbox: Toolbox,
        settings: SettingsSource,
        returns: ReturnService,
        real_changes: RealChangeService,
        sandboxes: SandboxService,
        sweeps: SweepService,
        renewal: SandboxRenewal,
        clock: Clock,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._locks = locks
        self._toolbox = toolbox
        self._settings = settings
        self._returns = returns
        self._real_changes = real_changes
        self._sandboxes = sandboxes
        self._sweeps = sweeps
        self._renewal = renewal
        self._clock = clock
        # Taken from processes that may live on: plans, each with those below it that were taken with it.
        self._outlived: dict[PlanId, tuple[PlanId, ...]] = {}

    @contextmanager
    def open(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Hold the plan: its lock, a new fence, no process of a killed runner alive, nothing unfinished."""
        with self.open_as_it_is(plan_id, observer) as run:
            self.finish_unfinished(run)
            yield run

    @contextmanager
    def open_as_it_is(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Hold the plan, with whatever a process that died had begun on it."""
        with self._locks.hold(plan_id):
            with act("plan.claim"), self._database.writing() as db:
                claim = Claim(plan_id=plan_id, fence=db.plans.raise_fence(plan_id))
                for child in self._outlived.get(plan_id, ()):
                    db.plans.raise_fence(child)
                plan = db.plans.get(plan_id)
                if plan.state is State.PROCESSING:  # its process is gone, or we would not have the lock
                    db.tool_calls.interrupt(plan_id)
                cut_off = plan.state is State.PROCESSING or bool(db.intents.list(plan_id))
                worked_on = [c.plan_id for c in below(db, plan_id) if c.plan.state is State.PROCESSING]
            run = self._run(claim, plan, observer)
            if cut_off:
                self._end_survivors(run, [plan_id])
            # Children run in the process of their parent; one that runs by itself has a process that lives.
            self._end_survivors(run, [child for child in worked_on if not self._locks.holder(child)])
            if plan_id in self._outlived:
                self._renew(run)
            yield run
            self._sweeps.after_work(run)

    @contextmanager
    def look(self, plan_id: PlanId, observer: Observer) -> Generator[Run]:
        """Keep others from working on the plan, and change nothing: to see what opening it would do."""
        with self._locks.hold(plan_id):
            with self._database.reading() as db:
                plan = db.plans.get(plan_id)
            yield self._run(Claim(plan_id=plan_id, fence=plan.fence), plan, observer)

    def take_over(self, plan_id: PlanId) -> None:
        """End the process that works on the plan, or at least its right to."""
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
            latest=latest,
            added_bytes={},
            pending=[],
            pruned=0,
            told=[],
            still=None,
        )

    def _renew(self, run: Run) -> None:
        """Give the plan, and the children that were taken with it, folders that nobody else has open."""
        plan_id = run.plan.plan_id
        with self._database.reading() as db:
            of_children = [s for child in self._outlived[plan_id] for s in db.sandboxes.list(child)]
        self._renewal.renew([*run.sandboxes, *of_children], run.observer)
        del self._outlived[plan_id]

    def _end_survivors(self, run: Run, plan_ids: Sequence[PlanId]) -> None:
        ended: list[str] = []
        for plan_id in plan_ids:
            with self._database.reading() as db:
                sandboxes = db.sandboxes.list(plan_id)
            with act("survivors.end"):
                ended += self._toolbox.end_survivors(plan_id, sandboxes)
        for described in ended:
            text = f"ended a process that a killed run had left behind: {described}"
            entry = Entry(type=EventType.MESSAGE, data={"message": text}, at=self._clock.now())
            run.pending.append(entry)
            run.told.append(text)

    def finish_unfinished(self, run: Run) -> None:
        """Finish or undo what a process that died had begun."""
        with self._database.reading() as db:
            intents = db.intents.list(run.plan.plan_id)
        for intent in intents:
            if intent.kind is IntentKind.SANDBOX:
                self._sandboxes.undo(run, intent)
            elif intent.kind in (IntentKind.APPLY, IntentKind.UNAPPLY):
                self._real_changes.finish(run, intent)
            else:
                self._returns.finish(run, intent)
