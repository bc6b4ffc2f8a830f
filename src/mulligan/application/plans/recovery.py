"""Brings a plan that was just claimed into a known state, after a process that died or lost it."""

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
    """Ends, renews and finishes what an earlier process left behind."""

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
        self._database = database
        self._toolbox = toolbox
        self._renewal = renewal
        self._clock = clock
        self._finish = {
            IntentKind.SANDBOX: sandboxes.undo,  # the next start makes them again
            IntentKind.APPLY: real_changes.finish,  # puts the real resources back
            IntentKind.UNAPPLY: real_changes.finish,
            IntentKind.ROLLBACK: returns.finish,  # completes it, or else takes it back
            IntentKind.RETURN: returns.finish,
            IntentKind.CORRECTION: returns.finish,
        }

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish or undo the work of a process that died."""
        self._finish[intent.kind](run, intent)

    def end_survivors(self, run: Run, plan_ids: Sequence[PlanId]) -> None:
        """End the processes that killed runs of these plans left running, before anything is restored."""
        for plan_id in plan_ids:
            with self._database.reading() as db:
                sandboxes = db.sandboxes.list(plan_id)
            with act("survivors.end"):
                ended = self._toolbox.end_survivors(plan_id, sandboxes)
            for process in ended:
                text = f"ended a process that a killed run had left running: {process}"
                run.announce(text, self._clock.now())

    def renew(self, run: Run, children: Sequence[PlanId]) -> None:
        """Move the sandboxes of the plan, and of the children taken with it, to folders that no process has open."""
        with self._database.reading() as db:
            of_children = [s for child in children for s in db.sandboxes.list(child)]
        self._renewal.renew([*run.sandboxes, *of_children], run.observer)
