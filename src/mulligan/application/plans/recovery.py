"""Brings a plan that was just claimed into a known state, after a process that died or lost it."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.apply.real_change_service import RealChangeService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.sandboxes.sandbox_transfer import SandboxTransfer
from mulligan.boundaries import act
from mulligan.domain.plans.intent import Intent, IntentKind
from mulligan.domain.text.ids import PlanId
from mulligan.ports import Clock, Toolbox
from mulligan.rows.database import Database


class Recovery(Struct, kw_only=True, frozen=True, eq=False):
    """Ends, renews and finishes what an earlier process left behind."""

    database: Database
    toolbox: Toolbox
    returns: ReturnService
    real_changes: RealChangeService
    sandboxes: SandboxService
    renewal: SandboxRenewal
    transfer: SandboxTransfer
    clock: Clock

    def finish(self, run: Run, intent: Intent) -> None:
        """Finish or undo the work of a process that died."""
        match intent.kind:
            case IntentKind.SANDBOX:
                self.sandboxes.undo(run, intent)  # the next start makes them again
            case IntentKind.APPLY | IntentKind.UNAPPLY | IntentKind.RESTORE | IntentKind.UNDO:
                self.real_changes.finish(run, intent)  # puts the real resources back
            case IntentKind.ROLLBACK | IntentKind.RETURN | IntentKind.CORRECTION:
                self.returns.finish(run, intent)  # completes it, or else takes it back

    def end_survivors(self, run: Run, plan_ids: Sequence[PlanId]) -> None:
        """End the processes that killed runs of these plans left running, before anything is restored."""
        for plan_id in plan_ids:
            with self.database.reading() as db:
                sandboxes = db.sandboxes.list(plan_id)
            with act("survivors.end"):
                ended = self.toolbox.end_survivors(plan_id, sandboxes)
            for process in ended:
                text = f"ended a process that a killed run had left running: {process}"
                run.announce(text, self.clock.now())

    def bring(self, run: Run) -> None:
        """Make sandboxes again that another machine has."""
        self.transfer.bring(run, self.clock.now())

    def renew(self, run: Run, children: Sequence[PlanId]) -> None:
        """Move the sandboxes of the plan, and of the children taken with it, to folders that no process has open."""
        with self.database.reading() as db:
            of_children = [s for child in children for s in db.sandboxes.list(child)]
        self.renewal.renew([*run.sandboxes, *of_children], run.observer)
