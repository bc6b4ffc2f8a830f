"""The newest command that a process did not bring to its end, as an undo or redo after it means it.

An undo that follows a killed command has the same result as if the command had been completed: a killed apply or
restore that is taken back is undone with that, and no earlier entry is. A killed undo is repeated, not followed by
another one.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.domain.history.timeline_entry import TimelineEntry
from mulligan.domain.plans.intent import Intent, IntentKind, RealWork, ReturnWork
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Advice, NextStep, NothingToRedo, NothingToUndo
from mulligan.ports import Locks, Observer
from mulligan.rows.database import Database

_WORDS = {IntentKind.RESTORE: "restore of paths"}
# What a claim takes back; what else it finds it completes.
_TAKEN_BACK = (IntentKind.APPLY, IntentKind.UNAPPLY, IntentKind.RESTORE, IntentKind.UNDO)


class Remnant(Struct, frozen=True, kw_only=True):
    """An operation that was cut off."""

    plan_id: PlanId
    handle: str
    kind: IntentKind
    undoes: int | None  # the entry that it was taking back
    redoes: int | None  # the entry that it was bringing back

    @property
    def is_taken_back(self) -> bool:
        """Return whether the next claim of the plan takes it back; else it is completed."""
        return self.kind in _TAKEN_BACK

    @property
    def title(self) -> str:
        """Return what it is called for people."""
        number = self.undoes or self.redoes
        if number is None:
            return f"{_WORDS.get(self.kind, self.kind.value)} of {self.handle}"
        return f"{'undo' if self.undoes else 'redo'} of entry {number}"


class Remnants(Struct, kw_only=True, frozen=True, eq=False):
    """Finds operations that were cut off, and settles them."""

    database: Database
    locks: Locks
    claims: PlanClaims

    def newest(self, plan_id: PlanId | None, last: TimelineEntry | None) -> Remnant | None:
        """Return the newest operation, of the folder or of a plan, that was cut off after the last entry."""
        since = last.created_at if last is not None else None
        with self.database.reading() as db:
            open_intents = db.intents.all() if plan_id is None else db.intents.list(plan_id)
            found = self._cut_off(open_intents, since)
            if found is None:
                return None
            handle = db.plans.get(found.plan_id).handle
        work = found.work
        assert isinstance(work, (RealWork, ReturnWork)), "sandboxes that are being made are left out"
        return Remnant(
            plan_id=found.plan_id, handle=handle, kind=found.kind, undoes=work.undoes, redoes=work.redoes
        )

    def _cut_off(self, intents: Sequence[Intent], since: datetime | None) -> Intent | None:
        for intent in reversed(intents):
            if intent.kind is IntentKind.SANDBOX or (since is not None and intent.created_at < since):
                continue
            if self.locks.holder(intent.plan_id) is None:
                return intent
        return None

    def settle(self, remnant: Remnant, observer: Observer) -> None:
        """Take it back, or complete it."""
        with self.claims.open(remnant.plan_id, observer):
            pass


def undone_with(remnant: Remnant, last: TimelineEntry | None, *, settled: bool) -> NothingToUndo:
    """Return the end of an undo that a remnant leaves nothing to do for: it is taken back, and nothing else."""
    further = NextStep("undo", what=str(last.number)) if last is not None else None
    return NothingToUndo(
        plan_id=remnant.plan_id,
        reason=_reason(remnant, settled=settled),
        **({"hint": Advice(further, f" takes back {last.title!r}")} if further and last else {}),
    )


def redone_with(remnant: Remnant, *, settled: bool) -> NothingToRedo:
    """Return the end of a redo after an undo that was cut off and is taken back: the entry is there."""
    return NothingToRedo(reason=_reason(remnant, settled=settled))


def _reason(remnant: Remnant, *, settled: bool) -> str:
    deed = "taken back" if remnant.is_taken_back else "finished"
    if not settled:
        return f"the {remnant.title} was interrupted, and would be {deed} first"
    return f"the {remnant.title} was interrupted, and is {deed} now; nothing else was changed"
