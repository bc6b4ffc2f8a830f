"""Rolls a plan back, or forward, to one of its groups."""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import pruned_by_another, reason_for
from mulligan.application.plans.guards import refuse_ended, refuse_without_checkpoints
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.impact import Impact, RevertedChange, impact_of, reverted
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import ChildPlans, children_left_behind
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.last_step import StepBack, step_back
from mulligan.domain.history.lines import Direction, direction_to, is_live, live_segments
from mulligan.domain.history.undo import Undoing
from mulligan.domain.plans.intent import RollbackWork
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.errors import Advice, CheckpointForeign, CheckpointNotATarget, NextStep, NothingToUndo
from mulligan.ports import Observer
from mulligan.rows.database import Database


class RollbackSummary(Struct, frozen=True, kw_only=True):
    """The target and extent of a rollback."""

    plan: str
    checkpoint: CheckpointId
    label: str | None
    direction: Direction
    files_reverted: int


class PostRollbackState(Struct, frozen=True, kw_only=True):
    """The plan after a rollback."""

    phase: Phase
    state: State
    step_index: int
    checkpoints_remaining: int
    pre_rollback_checkpoint: CheckpointId | None  # None: a dry run


class Rollback(Struct, frozen=True, kw_only=True):
    """A rollback, done or previewed."""

    plan_id: PlanId
    dry_run: bool
    rollback_summary: RollbackSummary
    changes_reverted: tuple[RevertedChange, ...]
    impact: Impact
    post_rollback_state: PostRollbackState
    messages: tuple[str, ...]  # for the user: what was not undone, processes that were ended


class RollbackService(Struct, kw_only=True, frozen=True, eq=False):
    """Goes back to a group: files, plan state, decisions, tool calls."""

    database: Database
    claims: PlanClaims
    manager: CheckpointManager
    returns: ReturnService
    undos: UndoService
    children: ChildPlans

    def preview(self, plan_id: PlanId, word: str, observer: Observer) -> Rollback:
        """Return what a rollback would do, path by path; report guards and damage too, and change nothing."""
        with self.claims.look(plan_id, observer) as run:
            target = self._target(run, word)
            changes = self.manager.compare(run, target)
            undoing = self.undos.plan(run, target)
            impact, remaining = self._impact(run, target, undoing)
            with self.database.reading() as db:
                unfinished = any(intent.target for intent in db.intents.list(plan_id))
            if unfinished:
                run.inform("an interrupted return would be finished first")
            return _answer(run, target, _direction(run, target), changes, impact, remaining, None)

    def rollback(self, plan_id: PlanId, word: str, observer: Observer) -> Rollback:
        """Go back to the group, all resources or none; a `pre_rollback` group holds the present contents."""
        # Watched because the sandboxes are read three times: to compare, to capture, to restore.
        with self.claims.open(plan_id, observer) as run, self.manager.watch(run):
            return self.go_back(run, word)

    def go_back(self, run: Run, word: str) -> Rollback:
        """Do the same for a plan that is claimed and watched."""
        target = self._target(run, word)
        self.manager.compare(run, target)  # finds damage in any resource before the first one changes
        undoing = self.undos.plan(run, target)
        self.undos.refuse_where_impossible(undoing)
        impact, _ = self._impact(run, target, undoing)
        direction = _direction(run, target)
        wanted = RollbackWork(
            target=target.group_id, ends_children=True, state=State.QUEUED, log={"reason": "rollback"}
        )
        kept = reason_for(CheckpointType.PRE_ROLLBACK, {}, between_steps=False)
        returned = self.returns.go(run, wanted, kept)
        with self.database.reading() as db:
            remaining = db.checkpoints.count(run.plan.plan_id, superseded=False)
        impact = replace(impact, undo_failed=returned.not_undone)
        return _answer(run, target, direction, returned.changes, impact, remaining, returned.before)

    def step_back(self, plan_id: PlanId) -> CheckpointId:
        """Return the checkpoint of the state before the plan's last completed step; refuse if there is none."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            refuse_ended(plan)
            refuse_without_checkpoints(plan)
            groups = db.checkpoints.list(plan_id, superseded=False)
            calls = [call for call in db.tool_calls.list(plan_id) if not call.superseded]
        back = step_back(plan, groups, calls)
        if back.target is None:
            raise _nothing_to_undo(plan, back)
        return back.target.first_checkpoint_id

    def _target(self, run: Run, word: str) -> CheckpointGroup:
        refuse_ended(run.plan)
        refuse_without_checkpoints(run.plan)
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            group = db.checkpoints.resolve(word, plan_id).group
        if group.plan_id != plan_id:
            raise CheckpointForeign(checkpoint_id=word, owner=group.plan_id, plan_id=plan_id)
        if group.reason.type is CheckpointType.PRE_APPLY:
            raise CheckpointNotATarget(
                checkpoint_id=word, checkpoint_type=group.reason.type.value, plan_id=plan_id
            )
        return group

    def _impact(self, run: Run, target: CheckpointGroup, undoing: Undoing) -> tuple[Impact, int]:
        """Return what is superseded, and how many groups stay live once the `pre_rollback` group is taken."""
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            segments = live_segments(db.history.lines(plan_id), target.line, target.seq)
            groups = db.checkpoints.list(plan_id, superseded=True)
            pruned = pruned_by_another(db, run, needed=target.group_id)
            impact = impact_of(db, plan_id, target, undoing)
            children = children_left_behind(db, plan_id, target, unfinished_too=True)
        self.children.refuse_busy(children)
        live = (g for g in groups if is_live(segments, g.line, g.seq))
        return impact, sum(g.group_id not in pruned for g in live)


def _nothing_to_undo(plan: Plan, back: StepBack) -> NothingToUndo:
    kept = plan.failure.checkpoint if plan.failure else None
    if back.nearest is None and kept is not None:
        return NothingToUndo(
            plan_id=plan.plan_id,
            reason="no step is complete, and the changes of the failed one were taken back when it failed",
            hint=Advice(NextStep("diff", plan=plan.plan_id, new=kept), " shows what it left"),
        )
    if back.nearest is None:
        return NothingToUndo(plan_id=plan.plan_id, reason="it is before its first step")
    step, earlier = map(plan.step_name, (back.step_index, back.nearest.step_index))
    further = NextStep("rollback", plan=plan.plan_id, checkpoint=back.nearest.first_checkpoint_id)
    return NothingToUndo(
        plan_id=plan.plan_id,
        reason=f"no checkpoint holds the state right before the step {step!r}",
        hint=Advice(further, f" goes further back, to before the step {earlier!r}"),
    )


def _direction(run: Run, target: CheckpointGroup) -> Direction:
    return direction_to(target.step_index, left_behind=target.superseded, present_step=run.step_index)


def _answer(
    run: Run,
    target: CheckpointGroup,
    direction: Direction,
    changes: Changes,
    impact: Impact,
    remaining: int,
    before: CheckpointGroup | None,
) -> Rollback:
    touched = reverted(changes)
    return Rollback(
        plan_id=run.plan.plan_id,
        dry_run=before is None,
        rollback_summary=RollbackSummary(
            plan=run.plan.name,
            checkpoint=target.first_checkpoint_id,
            label=target.reason.label,
            direction=direction,
            files_reverted=len(touched),
        ),
        changes_reverted=touched,
        impact=impact,
        post_rollback_state=PostRollbackState(
            phase=Phase.EXECUTE,
            state=State.QUEUED,
            step_index=target.step_index,
            checkpoints_remaining=remaining,
            pre_rollback_checkpoint=before.first_checkpoint_id if before else None,
        ),
        messages=tuple(run.messages),
    )
