"""Settles what processes that died left on real resources, before something new happens there."""

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import changing_at, left_open_at
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.run import Run
from mulligan.application.timeline.redoable_entries import clear_redo, cleared_entries
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, ApplyUnderWay, CheckpointFailed, NextStep, PlanBusy, SandboxMissing
from mulligan.ports import Locks
from mulligan.rows.database import Database

_PATIENCE = 60.0  # seconds that a plan waits for others
_TRIES = 5  # where nobody is there to wait for
_T = TypeVar("_T")


class CutOffWork(Struct, kw_only=True, frozen=True, eq=False):
    """The work that processes left unfinished on real resources."""

    database: Database
    locks: Locks
    claims: PlanClaims
    checkpoints: CheckpointService

    def settle(self, run: Run, locations: Iterable[str], at_work: Collection[PlanId] = ()) -> None:
        """Finish or take back what other plans left unfinished there, and keep where their cut-off steps ended.

        The steps of plans that are `at_work` have no end yet. Raise ApplyUnderWay where a live process is changing
        the folders.
        """
        for path in locations:
            with self.database.reading() as db:
                unfinished = changing_at(db, run.plan.plan_id, path)
                left_open = [each for each in left_open_at(db, run.plan.plan_id, path) if each not in at_work]
            for plan_id in dict.fromkeys([*unfinished, *left_open]):
                try:
                    self._settle(run, plan_id)
                except PlanBusy as exc:
                    if plan_id in unfinished or not self._is_running(plan_id):
                        raise ApplyUnderWay(plan_id=plan_id, path=path) from exc

    def wait(self, run: Run, act: Callable[[], _T]) -> _T:
        """Do it once no live process of another plan is changing the same resources; refuse where that takes long."""
        patience, alone = _PATIENCE, 0
        while True:
            try:
                return act()
            except ApplyUnderWay as exc:
                other = PlanId(str(exc.facts["plan_id"]))
                run.observer.progress(f"waiting for {self._handle(other)} to change the same folder", 0, None)
                holder = self.locks.holder(other)
                alone += holder is None
                if alone == _TRIES:
                    raise
                waited = self.locks.wait_for(other, patience)
                if waited is None:
                    facts = {**exc.facts, "pid": holder.pid} if holder else exc.facts
                    raise ApplyUnderWay(**facts, hint=_waited(other)) from exc
                patience -= waited

    def keep_end(self, run: Run) -> None:
        """Keep the present contents as the end of a step that was cut off: later changes are not its own."""
        with self.database.reading() as db:
            left = [entry for entry in db.entries.live_of(run.plan.plan_id) if entry.is_open]
        if not run.in_place:  # an apply that was cut off did not change the sandboxes
            left = [entry for entry in left if entry.kind.is_step]
        if not left or left[0].before_group is None:
            return
        type = CheckpointType.ON_ERROR
        if run.plan.definition.agent:  # whose calls may still be running
            type = CheckpointType.FOUND
            with run.commit("plan.record") as commit:
                commit.db.entries.interrupt(run.plan.plan_id)
        metadata: JsonObject = {"step": left[0].title, "tool": None, "error": "cut off"}
        reason = reason_for(type, metadata, between_steps=False)
        try:
            self.checkpoints.create_checkpoint(run, reason)
        except CheckpointFailed as exc:
            if not isinstance(
                exc.__cause__, SandboxMissing
            ):  # else what the step did is gone with its folder
                raise
        with self.database.reading() as db:
            is_new = bool(cleared_entries(db))
        if is_new:
            with run.commit("plan.record") as commit:
                clear_redo(commit.db)

    def _settle(self, run: Run, plan_id: PlanId) -> None:
        with self.claims.open(plan_id, run.observer) as other:
            self.keep_end(other)
            run.inform(*(Advice(f"{other.plan.handle}: ", text) for text in other.messages))

    def _handle(self, plan_id: PlanId) -> str:
        with self.database.reading() as db:
            return db.plans.get(plan_id).handle

    def _is_running(self, plan_id: PlanId) -> bool:
        with self.database.reading() as db:
            return db.plans.get(plan_id).state is State.PROCESSING


def _waited(plan_id: PlanId) -> Advice:
    return Advice(
        "its process is still at it; wait until it has finished, or look at it with ",
        NextStep("status", plan=plan_id),
    )
