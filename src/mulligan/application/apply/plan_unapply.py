"""Takes an apply back: the same merge in the other direction, which keeps later work of others."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.apply.apply_preparation import (
    Application,
    ApplyPreparing,
    Prepared,
    Wanted,
    application_of,
)
from mulligan.application.apply.branch_rule import OnBranch, branches_of
from mulligan.application.apply.plan_apply import logged
from mulligan.application.apply.real_change_service import RealChangeService, record_deed
from mulligan.application.plans.guards import cancelled
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_revival import SandboxRevival
from mulligan.domain.history.timeline_entry import NEW_ACT, DeedKind, Turn
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import Intent, IntentKind, UnapplyWork
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.text_merge import Labels
from mulligan.errors import Advice, LocationChanged, NextStep, NothingApplied
from mulligan.ports import Clock, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_SIDES = Labels(ours="others since", theirs="taking it back")


class PlanUnapplyService(Struct, kw_only=True, frozen=True, eq=False):
    """Takes the result of a plan out of the real resources."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    claims: PlanClaims
    preparing: ApplyPreparing
    real_changes: RealChangeService
    revival: SandboxRevival
    clock: Clock

    def preview(
        self, plan_id: PlanId, observer: Observer, turn: Turn = NEW_ACT, *, onto_branch: bool = False
    ) -> Application:
        """Return what unapplying would do, without changing a resource or a row."""
        with self.claims.look(plan_id, observer) as run:
            applied, cut_off = self._applied(run)
            if not onto_branch:
                self._refuse_other_branch(applied, turn)
            if cut_off:
                run.inform("an interrupted unapply would be taken back first")
            with self.store.hold():
                prepared = self._prepare(run, applied, cut_off)
            _refuse_nothing(run.plan, applied, prepared)
            return _answer(run, prepared, dry_run=True)

    def unapply(
        self, plan_id: PlanId, observer: Observer, turn: Turn = NEW_ACT, *, onto_branch: bool = False
    ) -> Application:
        """Take it out of all real resources, or of none. Conflicts are part of the answer, not an error."""
        with self.claims.open(plan_id, observer) as run:
            applied, _ = self._applied(run)
            if not onto_branch:
                self._refuse_other_branch(applied, turn)
            locations = tuple(change.real.path for change in applied)
            work = UnapplyWork(locations=locations, undoes=turn.undoes, redoes=turn.redoes)
            intent = self.real_changes.begin(run, work, turn)
            again = Advice("nothing is taken back; try again with ", NextStep("unapply", plan=plan_id))
            revived: Sequence[Sandbox] = ()
            with self.real_changes.all_or_none(run, intent, again):
                with run.showing_later(), self.store.hold():
                    prepared = self._prepare(run, applied, ())
                    _refuse_nothing(run.plan, applied, prepared)
                    if not prepared.conflicts:
                        self.real_changes.ready(run, prepared.changes)
                        revived = self.revival.revive(run, applied)
                if prepared.conflicts:
                    self.real_changes.take_back(run, intent)
                else:
                    self.real_changes.carry_out(run, intent, prepared.changes)
                    self._settle(run, intent, prepared, revived, turn)
            self._let_go(run, applied)
            return _answer(run, prepared, dry_run=False)

    def _applied(self, run: Run) -> tuple[list[RealChange], list[RealChange]]:
        """Return what was applied, and the changes of an interrupted unapply."""
        plan = run.plan
        _refuse_unapplied(plan)
        with self.database.reading() as db:
            changes = db.real_changes.list(plan.plan_id)
        applied = [change for change in changes if change.act is IntentKind.APPLY]
        if not applied:
            raise NothingApplied(
                plan_id=plan.plan_id,
                reason="it worked in place, so that applying it merged nothing",
                hint=Advice(NextStep("undo", what=plan.plan_id), " takes back what it did"),
            )
        for change in applied:
            if not self.kinds.of(change.real).exists(change.real):
                raise LocationChanged(
                    resource=change.real.resource, path=change.real.path, reason="it no longer exists"
                )
        return applied, [change for change in changes if change.act is IntentKind.UNAPPLY]

    def _refuse_other_branch(self, applied: Sequence[RealChange], turn: Turn) -> None:
        """Refuse a checkout that is on another branch than the one that the plan was applied to."""
        for change in applied:
            kind = self.kinds.of(change.real)
            on = OnBranch(branch=kind.branch_in(change.written), deed="was applied")
            on.refuse_other(kind.branch_of(change.real), change.real, turn, "unapply")

    def _prepare(self, run: Run, applied: Sequence[RealChange], cut_off: Sequence[RealChange]) -> Prepared:
        halfway = {change.real.resource: change for change in cut_off}
        message = f'Revert "{run.plan.name}"\n\nThis takes back what plan {run.plan.plan_id} did.'
        wanted: list[Wanted] = []
        for change in applied:
            real = change.real
            kind = self.kinds.of(real)
            kind.refuse_apply(real, commit=change.commit is not None)
            if real.resource in halfway:
                ours = self.real_changes.way_back(run, halfway[real.resource])
            else:
                ours = kind.capture(real, run.observer).snapshot
            wanted.append(
                Wanted(
                    act=IntentKind.UNAPPLY,
                    sandbox=real,
                    real=real,
                    base=change.written,
                    theirs=change.before,
                    ours=ours,
                    names=_SIDES,
                    message=message if change.commit is not None else None,
                    withdraws=change.commit,
                    included=None,
                    hidden=(),  # all that was applied goes again
                )
            )
        return self.preparing.prepare(run, wanted, None)

    def _let_go(self, run: Run, applied: Sequence[RealChange]) -> None:
        """Remove what a capture keeps beside a real resource, unless a sandbox uses it too."""
        with_sandbox = {sandbox.resource for sandbox in run.sandboxes}
        for change in applied:
            if change.real.resource not in with_sandbox:
                self.kinds.of(change.real).remove(change.real)

    def _settle(
        self, run: Run, intent: Intent, prepared: Prepared, revived: Sequence[Sandbox], turn: Turn
    ) -> None:
        """Record that nothing is applied: the plan is complete again, with sandboxes."""
        now = self.clock.now()
        with run.commit("apply.settle") as commit:
            for act in (IntentKind.APPLY, IntentKind.UNAPPLY):
                commit.db.real_changes.remove(run.plan.plan_id, act)
            commit.db.intents.close(intent.intent_id)
            if revived:
                self.revival.record(commit, run, revived)
            commit.plan = run.plan.moved_to(Phase.EXECUTE, State.COMPLETE, now)
            commit.record(Entry(type=EventType.UNAPPLIED, data=logged(prepared), at=now))
            files = sum(each.files for each in prepared.applied)
            detail: JsonObject = {"branches": branches_of(self.kinds, prepared)}
            record_deed(commit, DeedKind.UNAPPLY, turn, now, files=files, detail=detail)


def _refuse_nothing(plan: Plan, applied: Sequence[RealChange], prepared: Prepared) -> None:
    """Refuse where all that was applied is gone already: nothing would be taken back, and it would be recorded."""
    if prepared.conflicts or not any(change.before != change.written for change in applied):
        return
    if all(change.before == change.written for change in prepared.changes):
        raise NothingApplied(
            plan_id=plan.plan_id,
            reason="what it wrote is no longer in the real resources",
            hint=Advice(
                NextStep("undo", what=...),
                " takes back another entry of ",
                NextStep("timeline"),
                ", and ",
                NextStep("remove_plan", plan=plan.plan_id),
                " forgets the plan",
            ),
        )


def _refuse_unapplied(plan: Plan) -> None:
    if plan.state is State.CANCELLED:
        raise cancelled(plan)
    if (plan.phase, plan.state) != (Phase.APPLY, State.APPLIED):
        raise NothingApplied(
            plan_id=plan.plan_id,
            reason=f"it is {plan.phase}/{plan.state}, and the real resources do not contain its result",
            hint=Advice(
                NextStep("timeline"),
                " shows what counts here, ",
                NextStep("checkpoints.list", plan=plan.plan_id),
                " what a rollback can go back to",
            ),
        )


def _answer(run: Run, prepared: Prepared, *, dry_run: bool) -> Application:
    hint = Advice(
        *(
            "no real resource was changed; ",
            NextStep("diff", plan=run.plan.handle),
            " shows what was applied; undo",
        ),
        " or move away what is named, then run the command again",
    )
    return application_of(run, prepared, dry_run=dry_run, cleanup="kept", hint=hint)
