"""Undo and redo over the whole timeline of a folder: each entry is taken back by the operation that suits it."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.apply.apply_preparation import Application, AppliedResource
from mulligan.application.apply.plan_apply import ApplyWishes, PlanApplyService
from mulligan.application.apply.plan_unapply import PlanUnapplyService
from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.plans.guards import cancelled, is_real_elsewhere, refuse_without_checkpoints
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.impact import Impact, RevertedChange
from mulligan.application.rollback.rollback_service import (
    PostRollbackState,
    Rollback,
    RollbackService,
    RollbackSummary,
    summary_of,
)
from mulligan.application.runs.run import Run
from mulligan.application.timeline.attributions import Attributions
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.application.timeline.known_moments import acts_apart
from mulligan.application.timeline.real_undo import RealUndoService, Result, Turnaround
from mulligan.application.timeline.redoable_entries import open_prompts, redoable_entries
from mulligan.application.timeline.remnants import Remnants, redone_with, undone_with
from mulligan.application.timeline.timeline_queries import (
    EntryPoint,
    EntryView,
    TimelineQueries,
    point_of,
    standing_of,
)
from mulligan.domain.agents.left_process import LeftProcess
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.store_report import ChangeAction
from mulligan.domain.history.lines import Direction
from mulligan.domain.history.timeline_entry import (
    DeedKind,
    Standing,
    TimelineEntry,
    Turn,
    newest_that_counts,
    next_to_redo,
    still_counts,
)
from mulligan.domain.plans.plan import Conflict, Phase, Plan, State
from mulligan.domain.resources.resource import Strategy, is_in_place
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.errors import (
    Advice,
    CheckpointNotFound,
    MulliganError,
    NextStep,
    NothingToRedo,
    NothingToUndo,
    UsageWrong,
)
from mulligan.ports import Observer
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

_QUEUED = (Phase.EXECUTE, State.QUEUED)


class TurnWishes(Struct, frozen=True, kw_only=True):
    """Options of an undo or redo."""

    dry_run: bool
    onto_branch: bool  # of an apply or unapply: also on another branch than it was done on
    keep_commits: bool = False  # of what was done in place: only files change, not the branch


class Undone(Struct, frozen=True, kw_only=True):
    """An undo or redo, done or previewed. The fields are named as in the JSON output."""

    plan_id: PlanId
    handle: str
    dry_run: bool
    direction: Direction
    entry: EntryView | None  # None: a dry run of an undo that becomes an entry of its own
    changes_reverted: tuple[RevertedChange, ...]
    rollback_summary: (
        RollbackSummary | None
    )  # None, as the next two: an apply or unapply was undone or redone
    impact: Impact | None
    post_rollback_state: PostRollbackState | None
    kept: EntryPoint | None  # the group of what was there; None: a dry run, an apply or unapply
    applied: tuple[AppliedResource, ...]  # the effect on real resources, of an apply or unapply
    conflicts: tuple[Conflict, ...]
    messages: tuple[str, ...]
    error: MulliganError | None  # conflicts with what others changed: nothing was changed
    processes: tuple[LeftProcess, ...] = ()  # that calls of agents left running
    only: tuple[str, ...] = ()  # the sessions, prompts and calls that it is about, as they were named


class TimelineService(Struct, kw_only=True, frozen=True, eq=False):
    """Takes entries back, newest first, and brings them back."""

    database: Database
    claims: PlanClaims
    manager: CheckpointManager
    rollbacks: RollbackService
    applies: PlanApplyService
    unapplies: PlanUnapplyService
    real_undos: RealUndoService
    timeline: TimelineQueries
    cut_off: CutOffWork
    remnants: Remnants
    attributions: Attributions

    def to_undo(self, plan_id: PlanId | None, observer: Observer, *, settle: bool) -> int:
        """Return the number of the newest entry that counts, of the folder or within a plan; refuse if none does.

        A killed command that is newer comes first: an undo is repeated, and a command that is taken back is undone with
        that, so that there is nothing left to undo. Only with `settle` is that done here.
        """
        found = self._newest(plan_id)
        left = self.remnants.newest(plan_id, found)
        if left is not None and left.undoes is not None:
            return left.undoes  # its claim settles it first
        if left is not None and settle:
            self.remnants.settle(left, observer)
            found = self._newest(plan_id)
        if left is not None and (left.is_taken_back or not settle):
            raise undone_with(left, found, settled=settle)
        if settle and found is not None and found.kind is DeedKind.PROMPT and found.is_open:
            # A call is at work: what it did until now is its own, and if that is nothing, an earlier entry is meant.
            with self.claims.open(found.plan_id, observer) as run:
                self.cut_off.keep_end(run)
            found = self._newest(plan_id)
        if found is None:
            with self.database.reading() as db:
                raise _nothing_counts(db, plan_id)
        return found.number

    def to_redo(self, observer: Observer, *, settle: bool) -> int:
        """Return the number of the entry that was undone last; refuse if none can be redone.

        A killed redo is repeated. A killed undo is settled first, if `settle` is given: where it is taken back, its
        entry is there again.
        """
        with self.database.reading() as db:
            newest = next(iter(db.entries.newest(1)), None)
        left = self.remnants.newest(None, newest)
        if left is not None and left.redoes is not None:
            return left.redoes
        if left is not None and left.undoes is not None:
            if settle:
                self.remnants.settle(left, observer)
            if left.is_taken_back or not settle:
                raise redone_with(left, settled=settle)
        if settle:  # what a call that is at work did until now is its own, and new
            with self.database.reading() as db:
                at_work = dict.fromkeys(prompt.plan_id for prompt in open_prompts(db))
            for plan_id in at_work:
                with self.claims.open(plan_id, observer) as run:
                    self.cut_off.keep_end(run)
        with self.database.reading() as db:
            found = next_to_redo(redoable_entries(db))
        if found is None:
            raise NothingToRedo(reason="nothing was undone, or something new was done since")
        return found.number

    def _newest(self, plan_id: PlanId | None) -> TimelineEntry | None:
        with self.database.reading() as db:
            return newest_that_counts(_with_standings(db, plan_id))

    def undo(
        self, number: int, observer: Observer, *, dry_run: bool, onto_branch: bool, keep_commits: bool = False
    ) -> Undone:
        """Take back what an entry changed, and nothing else; with `onto_branch` on another branch too.

        With `keep_commits` only the files change of what was done in place: branch and index stay.
        """
        wishes = TurnWishes(dry_run=dry_run, onto_branch=onto_branch, keep_commits=keep_commits)
        entry, plan = self._entry(number)
        if keep_commits and entry.kind in (DeedKind.APPLY, DeedKind.UNAPPLY):
            raise _of_commits("an apply or unapply takes its own commit along")
        match entry.kind:
            case DeedKind.APPLY:
                return self._unapply(entry, plan, Turn(word="undo", undoes=number), observer, wishes)
            case DeedKind.UNAPPLY:
                return self._apply(entry, plan, Turn(word="undo", undoes=number), observer, wishes)
            case DeedKind.UNDO:
                raise _is_undo(entry)
            case _:
                return self._step(entry, plan, observer, wishes, forward=False)

    def redo(self, number: int, observer: Observer, *, dry_run: bool, onto_branch: bool) -> Undone:
        """Bring back what an undo took back; with `onto_branch` on another branch too."""
        wishes = TurnWishes(dry_run=dry_run, onto_branch=onto_branch)
        entry, plan = self._entry(number)
        match entry.kind:
            case DeedKind.APPLY:
                return self._apply(entry, plan, Turn(word="redo", redoes=number), observer, wishes)
            case DeedKind.UNAPPLY:
                return self._unapply(entry, plan, Turn(word="redo", redoes=number), observer, wishes)
            case _:
                return self._step(entry, plan, observer, wishes, forward=True)

    # --- applies -------------------------------------------------------------------------------------------

    def _apply(
        self, entry: TimelineEntry, plan: Plan, turn: Turn, observer: Observer, wishes: TurnWishes
    ) -> Undone:
        with self.database.reading() as db:
            first = db.entries.newest_of_kind(plan.plan_id, DeedKind.APPLY)
        detail = first.detail if first else {}
        included, branches = detail.get("include"), entry.detail.get("branches")
        message = detail.get("message")
        again = ApplyWishes(
            commit=bool(detail.get("commit", True)),
            message=message if isinstance(message, str) else None,
            included=frozenset(map(str, included)) if isinstance(included, list) else frozenset(),
            onto_branch=wishes.onto_branch,
            # None: an earlier version recorded it
            branches={k: str(v) for k, v in branches.items()} if isinstance(branches, dict) else None,
        )
        act = self.applies.preview if wishes.dry_run else self.applies.apply
        return self._of_application(entry, plan, turn, act(plan.plan_id, again, observer, turn))

    def _unapply(
        self, entry: TimelineEntry, plan: Plan, turn: Turn, observer: Observer, wishes: TurnWishes
    ) -> Undone:
        act = self.unapplies.preview if wishes.dry_run else self.unapplies.unapply
        done = act(plan.plan_id, observer, turn, onto_branch=wishes.onto_branch)
        return self._of_application(entry, plan, turn, done)

    def _of_application(self, entry: TimelineEntry, plan: Plan, turn: Turn, done: Application) -> Undone:
        changes = tuple(
            RevertedChange(
                resource=c.resource,
                file=c.path,
                action=ChangeAction.REMOVED if c.status == "deleted" else ChangeAction.RESTORED,
            )
            for c in (*done.files, *done.folders)
        )
        return Undone(
            plan_id=plan.plan_id,
            handle=plan.handle,
            dry_run=done.dry_run,
            direction=Direction.FORWARD if turn.redoes else Direction.BACK,
            entry=self.timeline.entry(entry.number),
            changes_reverted=changes,
            rollback_summary=None,
            impact=None,
            post_rollback_state=None,
            kept=None,
            applied=done.applied,
            conflicts=done.conflicts,
            messages=done.messages,
            error=done.error,
        )

    # --- steps ---------------------------------------------------------------------------------------------

    def _step(
        self, entry: TimelineEntry, plan: Plan, observer: Observer, wishes: TurnWishes, *, forward: bool
    ) -> Undone:
        refuse_without_checkpoints(plan)
        kept = wishes.keep_commits
        with self.database.reading() as db:
            in_place = entry.kind.is_restore or any(
                s.strategy is Strategy.IN_PLACE for s in db.sandboxes.list(plan.plan_id)
            )
        if kept and not in_place:
            raise _of_commits("a sandbox has commits of its own")
        if wishes.dry_run:
            turn = replace(self._turnaround(entry.number, forward=forward), keep_commits=kept)
            if in_place:
                return self._of_result(plan, turn, self.real_undos.preview(turn, observer), dry_run=True)
            done = self.rollbacks.preview(plan.plan_id, turn.target.group_id, observer, _turn(turn))
            return self._of_rollback(entry, plan, done, forward=forward)
        with self.claims.open(plan.plan_id, observer) as run:
            now = self._entry(entry.number)[0]
            # The claim finished an undo or redo of this entry that was cut off.
            if entry.is_live is not forward and now.is_live is forward:
                run.inform(f"an interrupted {'redo' if forward else 'undo'} was finished")
                return self._finished(run, now, forward=forward)
            if run.plan.definition.agent:  # what it did since its last event is not part of this
                self.cut_off.keep_end(run)
            turn = replace(self._turnaround(entry.number, forward=forward), keep_commits=kept)
            if in_place:
                return self._of_result(run.plan, turn, self.real_undos.carry_out(run, turn), dry_run=False)
            with self.manager.watch_briefly(run):
                done = self.rollbacks.go_back(run, turn.target.group_id, _turn(turn))
            return self._of_rollback(entry, run.plan, done, forward=forward)

    def _turnaround(self, number: int, *, forward: bool) -> Turnaround:
        """Return what to do about a step; refuse what no checkpoint holds, or what others build on."""
        with self.database.reading() as db:
            entry = db.entries.get(number)
            plan = db.plans.get(entry.plan_id)
            sandboxes = db.sandboxes.list(entry.plan_id)
            if forward:
                only_in_place = is_in_place(plan.definition.resources, sandboxes)
                return _forward(db, entry, plan, only_in_place=only_in_place)
            standing = standing_of(db, plan)
            if not still_counts(entry, standing):
                raise _does_not_count(db, entry, plan)
            live = [
                e.number
                for e in db.entries.live_of(entry.plan_id)
                if e.kind.is_step and still_counts(e, standing)
            ]
            newest = number == max(live, default=0)
            in_place = entry.kind.is_restore or any(s.strategy is Strategy.IN_PLACE for s in sandboxes)
            if not newest and not in_place:
                raise NothingToUndo(
                    plan_id=plan.plan_id,
                    reason=f"newer steps of the plan build on entry {number}",
                    hint=Advice(
                        NextStep("undo", what=plan.handle),
                        " takes back its last step; ",
                        NextStep("rollback", plan=plan.handle, checkpoint=...),
                        " goes back further at once",
                    ),
                )
            before = _held(db, entry.before_group)
            after = _held(db, entry.after_group)
            if before is None or (after is None and in_place and not entry.is_open):
                raise _not_held(db, entry, plan, "before" if before is None else "after")
            # A plan of an agent goes on, whatever is undone of it.
            alone = plan.state is State.CANCELLED or not newest or bool(plan.definition.agent)
            apart = acts_apart(db, entry)
        return Turnaround(
            entry=entry,
            forward=False,
            base=after,
            theirs=before,
            target=before,
            alone=alone,
            state=_QUEUED,
            apart=apart,
        )

    def _of_result(self, plan: Plan, turn: Turnaround, done: Result, *, dry_run: bool) -> Undone:
        with self.database.reading() as db:
            remaining = db.checkpoints.count(plan.plan_id, superseded=False)
        state = (plan.phase, plan.state) if turn.alone else turn.state
        index = plan.progress.step_index if turn.alone else turn.target.step_index
        direction = Direction.FORWARD if turn.forward else Direction.BACK
        return Undone(
            plan_id=plan.plan_id,
            handle=plan.handle,
            dry_run=dry_run,
            direction=direction,
            entry=self.timeline.entry(turn.entry.number),
            changes_reverted=done.changes,
            rollback_summary=summary_of(plan, turn.target, direction, len(done.changes)),
            impact=done.impact,
            post_rollback_state=PostRollbackState(
                phase=state[0],
                state=state[1],
                step_index=index,
                checkpoints_remaining=remaining,
                pre_rollback_checkpoint=done.kept.first_checkpoint_id if done.kept else None,
            ),
            kept=point_of(done.kept),
            applied=(),
            conflicts=(),
            messages=(*done.messages, *self._may_hold_others(turn)),
            error=None,
        )

    def _may_hold_others(self, turn: Turnaround) -> Sequence[str]:
        """Return what to say of an undo of calls whose ends are not known."""
        if turn.forward or turn.entry.kind is not DeedKind.PROMPT:
            return ()
        with self.database.reading() as db:
            called = self.attributions.named_calls(db, turn.entry.number)
        names = ", ".join(each.name for each in called if each.may_hold_others)
        if not names:
            return ()
        said = (
            "was cut off: what changed after it, until the next event, counts as its work and may be yours; "
        )
        return (Advice(f"call {names} {said}", NextStep("redo"), " brings it back"),)

    def _of_rollback(self, entry: TimelineEntry, plan: Plan, done: Rollback, *, forward: bool) -> Undone:
        before = done.post_rollback_state.pre_rollback_checkpoint
        with self.database.reading() as db:
            kept = point_of(db.checkpoints.resolve(before, plan.plan_id).group) if before else None
        return Undone(
            plan_id=plan.plan_id,
            handle=plan.handle,
            dry_run=done.dry_run,
            direction=Direction.FORWARD if forward else Direction.BACK,
            entry=self.timeline.entry(entry.number),
            changes_reverted=done.changes_reverted,
            rollback_summary=done.rollback_summary,
            impact=done.impact,
            post_rollback_state=done.post_rollback_state,
            kept=kept,
            applied=(),
            conflicts=(),
            messages=done.messages,
            error=None,
        )

    def _finished(self, run: Run, entry: TimelineEntry, *, forward: bool) -> Undone:
        plan = run.plan
        with self.database.reading() as db:
            remaining = db.checkpoints.count(plan.plan_id, superseded=False)
            at = db.checkpoints.get(plan.current_group_id) if plan.current_group_id else None
            kept = _held(db, entry.undone_from)
        assert at is not None, "it went to a group"
        direction = Direction.FORWARD if forward else Direction.BACK
        return Undone(
            plan_id=plan.plan_id,
            handle=plan.handle,
            dry_run=False,
            direction=direction,
            entry=self.timeline.entry(entry.number),
            changes_reverted=(),
            rollback_summary=summary_of(plan, at, direction, 0),
            impact=None,
            post_rollback_state=PostRollbackState(
                phase=plan.phase,
                state=plan.state,
                step_index=plan.progress.step_index,
                checkpoints_remaining=remaining,
                pre_rollback_checkpoint=kept.first_checkpoint_id if kept else None,
            ),
            kept=point_of(kept),
            applied=(),
            conflicts=(),
            messages=tuple(run.messages),
            error=None,
        )

    def _entry(self, number: int) -> tuple[TimelineEntry, Plan]:
        with self.database.reading() as db:
            entry = db.entries.get(number)
            return entry, db.plans.get(entry.plan_id)


def _is_undo(entry: TimelineEntry) -> NothingToUndo:
    reason = f"entry {entry.number} is an undo itself"
    hint = Advice(NextStep("redo"), " takes back the newest undo")
    if entry.redo is None:
        return NothingToUndo(plan_id=entry.plan_id, reason=reason)
    return NothingToUndo(plan_id=entry.plan_id, reason=reason, hint=hint)


def _of_commits(reason: str) -> UsageWrong:
    return UsageWrong(reason=f"commits are kept only where work was done in place: {reason}", hint="omit it")


def _with_standings(db: Transaction, plan_id: PlanId | None) -> Iterator[tuple[TimelineEntry, Standing]]:
    """Yield the entries of a plan, or all but those of real things on other machines."""
    known: dict[PlanId, Standing | None] = {}
    entries: Sequence[TimelineEntry] | Iterator[TimelineEntry]
    entries = db.entries.live() if plan_id is None else db.entries.live_of(plan_id)
    for entry in entries:
        if entry.plan_id not in known:
            elsewhere = plan_id is None and is_real_elsewhere(db, entry.plan_id)
            known[entry.plan_id] = None if elsewhere else standing_of(db, db.plans.get(entry.plan_id))
        if (standing := known[entry.plan_id]) is not None:
            yield entry, standing


def _turn(turn: Turnaround) -> Turn:
    number = turn.entry.number
    if turn.forward:
        return Turn(word="redo", redoes=number, state=turn.state)
    # Without a step that a user had added to a complete plan it is complete again: the rollback knows.
    return Turn(word="undo", undoes=number)


def _forward(db: Transaction, entry: TimelineEntry, plan: Plan, *, only_in_place: bool) -> Turnaround:
    was, became = _held(db, entry.undone_from), _held(db, entry.undone_to)
    if entry.redo is None or was is None or became is None:
        raise NothingToRedo(reason=f"the checkpoints of entry {entry.number} are gone")
    state = _QUEUED
    if entry.detail.get("state") in (State.COMPLETE, State.APPLIED):
        state = (Phase.APPLY, State.APPLIED) if only_in_place else (Phase.EXECUTE, State.COMPLETE)
    alone = entry.undone or plan.state is State.CANCELLED or entry.kind is DeedKind.UNDO
    return Turnaround(
        entry=entry, forward=True, base=became, theirs=was, target=was, alone=alone, state=state
    )


def _held(db: Transaction, group_id: GroupId | None) -> CheckpointGroup | None:
    """Return a group; None where there never was one, or it was pruned."""
    try:
        return None if group_id is None else db.checkpoints.get(group_id)
    except CheckpointNotFound:
        return None


def _not_held(db: Transaction, entry: TimelineEntry, plan: Plan, side: str) -> NothingToUndo:
    """Return the refusal of an entry whose state before or after no checkpoint holds."""
    if entry.kind.is_restore:
        reason = f"the checkpoint right {side} entry {entry.number}, the restore of {entry.title}, was pruned"
        return NothingToUndo(plan_id=plan.plan_id, reason=reason)
    nearest = db.checkpoints.nearest_before(plan.plan_id, entry.step_index or 0)
    was_held = entry.before_group if side == "before" else entry.after_group
    reason = f"no checkpoint holds the state right {side} the step {entry.title!r}"
    reason += ": it was pruned" if was_held else ""
    if nearest is None:
        return NothingToUndo(plan_id=plan.plan_id, reason=reason)
    further = NextStep("rollback", plan=plan.plan_id, checkpoint=nearest.first_checkpoint_id)
    earlier = plan.step_name(nearest.step_index)
    return NothingToUndo(
        plan_id=plan.plan_id,
        reason=reason,
        hint=Advice(further, f" goes further back, to before the step {earlier!r}"),
    )


def _does_not_count(db: Transaction, entry: TimelineEntry, plan: Plan) -> MulliganError:
    """Return why an entry that was named is not taken back."""
    if not entry.is_live:
        return NothingToUndo(plan_id=plan.plan_id, reason=f"entry {entry.number} is undone already")
    if plan.state is State.APPLIED and not plan.definition.agent:
        applied = db.entries.newest_of_kind(plan.plan_id, DeedKind.APPLY)
        undo = NextStep("undo", what=str(applied.number) if applied else plan.handle)
        return NothingToUndo(
            plan_id=plan.plan_id,
            reason=f"entry {entry.number} was applied",
            hint=Advice(undo, " takes the apply back first"),
        )
    if plan.state is State.CANCELLED:
        return cancelled(plan)
    return NothingToUndo(plan_id=plan.plan_id, reason=f"entry {entry.number} changed nothing")


def _nothing_counts(db: Transaction, plan_id: PlanId | None) -> MulliganError:
    """Return why there is nothing to undo, of a plan or of the newest one."""
    plan = db.plans.get(plan_id) if plan_id is not None else db.plans.resolve("latest")
    try:
        refuse_without_checkpoints(plan)
    except MulliganError as exc:
        return exc
    if plan.state is State.CANCELLED and plan_id is not None:
        return cancelled(plan)
    kept = plan.failure.checkpoint if plan.failure else None
    if kept is not None:
        return NothingToUndo(
            plan_id=plan.plan_id,
            reason="no step is complete, and the changes of the failed one were taken back when it failed",
            hint=Advice(NextStep("diff", plan=plan.plan_id, new=kept), " shows what it left"),
        )
    where = "in this folder" if plan_id is None else f"by {plan.handle}"
    return NothingToUndo(plan_id=plan.plan_id, reason=f"nothing that was done {where} still counts")
