"""Applies a plan: merges its sandboxes into the real resources, all at once or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.apply.apply_preparation import (
    NOTHING,
    Application,
    ApplyPreparing,
    Prepared,
    Wanted,
    application_of,
)
from mulligan.application.apply.branch_rule import OnBranch, branches_of
from mulligan.application.apply.real_change_service import RealChangeService, record_deed
from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import not_ready, on_another, refuse_ended
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.config import Cleanup
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.timeline_entry import NEW_ACT, DeedKind, Turn
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import ApplyWork, Intent, IntentKind
from mulligan.domain.plans.plan import Conflict, Phase, Plan, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.real_change import RealChange
from mulligan.domain.trees.text_merge import Labels
from mulligan.errors import (
    Advice,
    LocationChanged,
    MulliganError,
    NextStep,
    ResourceUnsuitable,
    ResultChanged,
    SandboxMissing,
    UsageWrong,
)
from mulligan.ports import Clock, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_READY = ((Phase.EXECUTE, State.COMPLETE), (Phase.APPLY, State.CONSTRAINED))
_SIDES = Labels(ours="others", theirs="the plan")


class ApplyWishes(Struct, frozen=True, kw_only=True):
    """Options of an apply."""

    commit: bool | None  # None: a message asks for one, otherwise the setting `apply.commit` decides
    message: str | None  # of the commit; None: the plan's name and description
    included: frozenset[str]  # paths in git directories, and hidden ones, to apply as well
    onto_branch: bool = False  # also onto another branch than the plan began on
    branches: Mapping[str, str] | None = None  # of an undo or redo, by resource: where it was done before
    agreed: str | None = None  # the `result_id` of a preview: another result is refused

    def to_json(self) -> JsonObject:
        """The same as a document, for the apply to be repeated."""
        return {"commit": self.commit, "message": self.message, "include": [*sorted(self.included)]}


class PlanApplyService(Struct, kw_only=True, frozen=True, eq=False):
    """Brings the result of a plan into the real resources."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService
    preparing: ApplyPreparing
    real_changes: RealChangeService
    sandboxes: SandboxService
    clock: Clock

    def preview(
        self, plan_id: PlanId, wishes: ApplyWishes, observer: Observer, turn: Turn = NEW_ACT
    ) -> Application:
        """Return what applying would do, without changing a resource or a row."""
        with self.claims.look(plan_id, observer) as run:
            if _is_done_in_place(run):
                return _answer(run, NOTHING, dry_run=True, removed=False)
            wishes = _decided(run, wishes)
            cut_off = self._cut_off(run)
            if not cut_off:
                _refuse_unready(run.plan)
            reals = self._reals(run, wishes, turn)
            if cut_off:
                run.inform("an interrupted apply would be taken back first")
            with self.store.hold():
                ours = {real.resource: self._present(run, real, cut_off) for real in reals}
                self._refuse_inner(reals, looked_at=not cut_off)
                prepared = self.preparing.prepare(run, self._wanted(run, reals, ours, wishes), None)
            return _answer(run, prepared, dry_run=True, removed=_cleans_up(run))

    def apply(
        self, plan_id: PlanId, wishes: ApplyWishes, observer: Observer, turn: Turn = NEW_ACT
    ) -> Application:
        """Merge all sandboxes into the real resources, or none. Conflicts are part of the answer, not an error."""
        with self.claims.open(plan_id, observer) as run:
            if _is_done_in_place(run):
                return _answer(run, NOTHING, dry_run=False, removed=False)
            wishes = _decided(run, wishes)
            _refuse_unready(run.plan)
            reals = self._reals(run, wishes, turn)
            locations = tuple(real.path for real in reals)
            work = ApplyWork(locations=locations, undoes=turn.undoes, redoes=turn.redoes)
            intent = self.real_changes.begin(run, work, turn)
            again = Advice("nothing is applied; try again with ", NextStep("apply", plan=plan_id))
            ended: Sequence[Sandbox] = ()
            with self.real_changes.all_or_none(run, intent, again):
                with run.showing_later(), self.store.hold():
                    prepared = self._prepare(run, reals, wishes)
                    if wishes.agreed not in (None, prepared.result_id):
                        raise ResultChanged(plan_id=run.plan.plan_id)
                    if not prepared.conflicts:
                        self.real_changes.ready(run, prepared.changes)
                if prepared.conflicts and turn.is_undo_or_redo:
                    self.real_changes.take_back(run, intent)  # what is refused leaves the plan as it was
                elif prepared.conflicts:
                    self._constrain(run, intent, prepared.conflicts)
                else:
                    self.real_changes.carry_out(run, intent, prepared.changes)
                    ended = self._settle(run, intent, prepared, wishes, turn)
            if ended:
                self._clean_up(run, ended)
            return _answer(run, prepared, dry_run=False, removed=bool(ended))

    def _reals(self, run: Run, wishes: ApplyWishes, turn: Turn) -> list[Sandbox]:
        """Return the real resources behind the plan's copies; each must still suit its sandbox."""
        if not run.sandboxes:
            name = run.plan.definition.resources[0].name
            raise SandboxMissing(resource=name, path="it was removed when the plan was applied")
        with self.database.reading() as db:
            for sandbox in copies(run.sandboxes):
                if db.hosts.is_elsewhere(sandbox.real_host):
                    raise on_another(db, run.plan.plan_id, sandbox.resource, sandbox.real_host)
        self.manager.require(run.sandboxes)
        reals: list[Sandbox] = []
        for sandbox in copies(run.sandboxes):
            resource = replace(run.plan.definition.resource(sandbox.resource), from_revision=None)
            location = Path(sandbox.location)
            try:
                self.kinds.of(sandbox).check(resource, location)
            except ResourceUnsuitable as exc:
                raise LocationChanged(
                    resource=sandbox.resource, path=sandbox.location, reason=exc.facts["reason"]
                ) from exc
            path = str(location.resolve())
            real = replace(sandbox, strategy=Strategy.IN_PLACE, path=path, host=sandbox.real_host)
            self.kinds.of(real).refuse_apply(real, commit=_gets_commit(real, wishes))
            if not wishes.onto_branch:
                self._refuse_other_branch(run, sandbox, real, wishes, turn)
            self.sandboxes.refuse_neighbours(Path(real.path), ())  # inside of it once it was looked at
            reals.append(real)
        if wishes.message is not None and not any(r.type.traits.has_commits for r in reals):
            raise UsageWrong(
                reason="a message is for a commit, and no resource of the plan is a git checkout that gets one",
                hint="omit the message",
            )
        return reals

    def _refuse_other_branch(
        self, run: Run, sandbox: Sandbox, real: Sandbox, wishes: ApplyWishes, turn: Turn
    ) -> None:
        """Refuse a checkout that was switched to another branch since; a plan that names a revision began on none."""
        now = self.kinds.of(real).branch_of(real)
        if wishes.branches is not None:
            on = OnBranch(branch=wishes.branches.get(sandbox.resource), deed="was taken back")
        elif run.plan.definition.resource(sandbox.resource).from_revision is not None:
            return
        else:
            on = OnBranch(branch=sandbox.branch, deed="began")
        on.refuse_other(now, real, turn, "apply")

    def _cut_off(self, run: Run) -> list[RealChange]:
        with self.database.reading() as db:
            changes = db.real_changes.list(run.plan.plan_id)
        return [c for c in changes if c.act is IntentKind.APPLY and run.plan.state is State.PROCESSING]

    def _present(self, run: Run, real: Sandbox, cut_off: Sequence[RealChange]) -> Snapshot:
        """Capture a real resource, as it will be once an interrupted apply is taken back."""
        for change in cut_off:
            if change.real.resource == real.resource:
                return self.real_changes.way_back(run, change)
        return self.kinds.of(real).capture(real, run.observer).snapshot

    def _prepare(self, run: Run, reals: Sequence[Sandbox], wishes: ApplyWishes) -> Prepared:
        """Capture the real resources, in a `pre_apply` group unless checkpoints are off, and merge."""
        if not run.plan.definition.rollback_policy.enabled:
            ours = {real.resource: self._present(run, real, ()) for real in reals}
            self._refuse_inner(reals, looked_at=True)
            return self.preparing.prepare(run, self._wanted(run, reals, ours, wishes), None)
        by_name = {real.resource: real for real in reals}
        real = run.over(by_name.get(sandbox.resource, sandbox) for sandbox in run.sandboxes)
        reason = reason_for(CheckpointType.PRE_APPLY, {"phase": "apply"}, between_steps=False)
        group = self.checkpoints.create_checkpoint(real, reason)
        run.follow(real)
        self._refuse_inner(reals, looked_at=True)
        ours = {name: group.snapshot_of(name) for name in by_name}
        return self.preparing.prepare(run, self._wanted(run, reals, ours, wishes), group.group_id)

    def _wanted(
        self, run: Run, reals: Sequence[Sandbox], ours: dict[str, Snapshot], wishes: ApplyWishes
    ) -> list[Wanted]:
        """Return the plan's result in each copy: its present contents, whether or not a checkpoint holds them."""
        by_name = {real.resource: real for real in reals}
        return [
            Wanted(
                act=IntentKind.APPLY,
                sandbox=sandbox,
                real=by_name[sandbox.resource],
                base=sandbox.base,
                theirs=self.kinds.of(sandbox).capture(sandbox, run.observer).snapshot,
                ours=ours[sandbox.resource],
                names=_SIDES,
                message=_message(run.plan, wishes) if _gets_commit(sandbox, wishes) else None,
                withdraws=None,
                included=wishes.included,
                hidden=run.plan.hidden,
            )
            for sandbox in copies(run.sandboxes)
        ]

    def _refuse_inner(self, reals: Sequence[Sandbox], *, looked_at: bool) -> None:
        """Refuse where a project in a folder below works in place.

        Captures that were just made know all folders; what they leave out is not written either.
        """
        for real in reals:
            known = [self.store.folders_leaving_out(tree) for tree in self.kinds.of(real).trees(real)]
            inside = [folder for folders in known for folder in folders or ()]
            is_known = looked_at and None not in known
            self.sandboxes.refuse_neighbours(Path(real.path), inside if is_known else None)

    def _constrain(self, run: Run, intent: Intent, conflicts: tuple[Conflict, ...]) -> None:
        now = self.clock.now()
        data: JsonObject = {"state": "constrained", "conflicts": [c.to_json() for c in conflicts]}
        with run.commit("apply.settle") as commit:
            commit.db.intents.close(intent.intent_id)
            commit.plan = replace(run.plan.moved_to(Phase.APPLY, State.CONSTRAINED, now), conflicts=conflicts)
            commit.record(Entry(type=EventType.PLAN_STATE, data=data, at=now))

    def _settle(
        self, run: Run, intent: Intent, prepared: Prepared, wishes: ApplyWishes, turn: Turn
    ) -> Sequence[Sandbox]:
        now = self.clock.now()
        with run.commit("apply.settle") as commit:
            sandboxes = self.sandboxes.forget(commit, run, copies_only=True) if _cleans_up(run) else ()
            commit.db.intents.close(intent.intent_id)
            commit.plan = run.plan.moved_to(Phase.APPLY, State.APPLIED, now)
            commit.record(Entry(type=EventType.APPLIED, data=logged(prepared), at=now))
            files = sum(each.files for each in prepared.applied)
            branches = branches_of(self.kinds, prepared)
            detail: JsonObject = {**wishes.to_json(), "branches": branches}
            record_deed(commit, DeedKind.APPLY, turn, now, files=files, detail=detail)
        return sandboxes

    def _clean_up(self, run: Run, sandboxes: Sequence[Sandbox]) -> None:
        """Remove sandboxes that no row refers to; a failure here does not undo the apply."""
        try:
            self.sandboxes.remove(sandboxes, run.observer)
        except MulliganError as exc:
            run.inform(Advice(f"a sandbox is not removed yet: {exc.text}; ", NextStep("gc"), " removes it"))


def copies(sandboxes: Sequence[Sandbox]) -> list[Sandbox]:
    """Return the sandboxes that are copies: work in place leaves nothing to merge."""
    return [sandbox for sandbox in sandboxes if sandbox.strategy is not Strategy.IN_PLACE]


def logged(prepared: Prepared) -> JsonObject:
    """Return the data of the log entry."""
    return {
        "resources": [
            {"resource": each.resource, "files": each.files, "commit": each.commit}
            for each in prepared.applied
        ]
    }


def _decided(run: Run, wishes: ApplyWishes) -> ApplyWishes:
    """Return the options with whether a commit is made; refuse a message for a commit that is not made."""
    remote = [r.name for r in run.plan.definition.resources if r.type.traits.is_remote]
    if wishes.commit is False and remote:
        raise UsageWrong(
            reason=f"{remote[0]} is a remote branch, which can get nothing but a commit",
            hint="omit the wish for none",
        )
    if wishes.commit is None:
        return replace(wishes, commit=wishes.message is not None or run.settings.apply_commit)
    if wishes.message is not None and not wishes.commit:
        raise UsageWrong(
            reason="a message is for a commit, and none is to be made",
            hint="omit the message, or ask for a commit",
        )
    return wishes


def _is_done_in_place(run: Run) -> bool:
    """Return whether the plan did all in place and has ended: there is nothing to apply."""
    return run.only_in_place and run.plan.state is State.APPLIED


def _cleans_up(run: Run) -> bool:
    return not run.only_in_place and run.settings.cleanup in (Cleanup.ON_APPLY, Cleanup.ON_TERMINAL)


def _gets_commit(sandbox: Sandbox, wishes: ApplyWishes) -> bool:
    """Return whether a resource gets a commit: a remote branch always does."""
    return bool(wishes.commit) or sandbox.type.traits.is_remote


def _message(plan: Plan, wishes: ApplyWishes) -> str:
    usual = f"{plan.name}\n\n{plan.definition.description}".strip()
    return usual if wishes.message is None else wishes.message


def _refuse_unready(plan: Plan) -> None:
    refuse_ended(plan)
    if plan.parent_plan_id is not None:
        hint = Advice(
            "the parent is applied: ", NextStep("status", plan=plan.parent_plan_id), " shows its state"
        )
        raise not_ready(plan, "it is a child plan, whose result goes into its parent", hint)
    if (plan.phase, plan.state) not in _READY:
        hint = Advice("run it to its end with ", NextStep("execute", plan=plan.plan_id))
        if plan.phase is Phase.EXECUTE:
            resume, accept = NextStep("resume", plan=plan.plan_id), NextStep("accept", plan=plan.plan_id)
            hint = Advice(resume, " runs it to its end, ", accept, " takes it as it is")
        raise not_ready(plan, "only a plan that is complete can be applied", hint)


def _answer(run: Run, prepared: Prepared, *, dry_run: bool, removed: bool) -> Application:
    if not prepared.changes and not prepared.conflicts:
        run.inform("the plan worked in place: what it did is there already, and nothing is merged")
    cleanup = "removed" if removed and not prepared.conflicts else "kept"
    plan = run.plan.handle
    hint = Advice(
        *(
            "no real resource was changed; ",
            NextStep("diff", plan=plan),
            " shows the plan's side; fix it there with ",
        ),
        *(NextStep("run_command", words=..., on=plan), ", or in the real files, then "),
        *(NextStep("apply", plan=plan), " again"),
    )
    return application_of(run, prepared, dry_run=dry_run, cleanup=cleanup, hint=hint)
