"""Brings a plan that was just claimed back to a known state: ends, renews and finishes what others left."""

from collections.abc import Sequence

from mulligan.application.apply.real_change_service import RealChangeService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.boundaries import act
from mulligan.domain.plans.intent import Intent, IntentKind
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Clock, Toolbox
from mulligan.rows.database import Database


class Recovery:
    """What a new claim does about processes that died with the plan in their hands, or lost it."""

    def __init__(
        self,
        *,
        database: Database,
        toolbox: Toolbox,
        returns: ReturnService,
        real_changes: RealChangeService,
        sandboxes: SandboxService,
        renewal: SandboxRenewal,
        clock: Clock,
    ) -> None:
        """Finish each kind of intent as this table says."""
        self._database = database
        self._toolbox = toolbox
        self._renewal = renewal
        self._clock = clock
        self._finish = {
            IntentKind.SANDBOX: sandboxes.undo,  # the next start makes them again
            IntentKind.APPLY: real_changes.finish,  # puts the real resources back
            IntentKind.UNAPPLY: real_changes.finish,
            IntentKind.ROLLBACK: returns.finish,  # completes it, or takes it back where that cannot be
            IntentKind.RETURN: returns.finish,
            IntentKind.CORRECTION: returns.finish,
        }

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish or undo what a process that died had begun."""
        self._finish[intent.kind](run, intent)

    def end_survivors(self, run: Run, plan_ids: Sequence[PlanId]) -> None:
        """End the processes that killed runs of these plans left behind, before anything is restored."""
        for plan_id in plan_ids:
            with self._database.reading() as db:
                sandboxes = db.sandboxes.list(plan_id)
            with act("survivors.end"):
                ended = self._toolbox.end_survivors(plan_id, sandboxes)
            for process in ended:
                text = f"ended a process that a killed run had left behind: {process}"
                run.announce(text, self._clock.now())

    def renew(self, run: Run, children: Sequence[PlanId]) -> None:
        """Give the plan, and the children that were taken with it, folders that no other process has open."""
        with self._database.reading() as db:
            of_children = [s for child in children for s in db.sandboxes.list(child)]
        self._renewal.renew([*run.sandboxes, *of_children], run.observer)
