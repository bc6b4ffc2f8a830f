"""Rolls a plan back, or forward, to one of its groups."""

from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import pruned_by_another, reason_for
from mulligan.application.plans.guards import refuse_ended, refuse_newer, refuse_without_checkpoints
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.impact import Impact, RevertedChange, impact_of, reverted
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import ReturnService
from mulligan.application.runs.run import Run, finished_state
from mulligan.application.subplans.child_plans import ChildPlans, children_left_behind
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.finished import FINISHED, definition_at, state_at
from mulligan.domain.history.lines import Direction, direction_to, is_live, live_segments
from mulligan.domain.history.timeline_entry import NEW_ACT, Turn
from mulligan.domain.history.undo import Undoing
from mulligan.domain.plans.intent import RollbackWork
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import CheckpointForeign, CheckpointNotATarget
from mulligan.ports import Observer
from mulligan.rows.database import Database


class RollbackSummary(Struct, frozen=True, kw_only=True):
    """The target and extent of a rollback."""

    plan: str
    handle: str
    checkpoint: CheckpointId
    checkpoint_type: CheckpointType
    number: int  # of its group, in the plan
    label: str | None
    direction: Direction
    files_reverted: int


def summary_of(plan: Plan, target: CheckpointGroup, direction: Direction, files: int) -> RollbackSummary:
    """Return what is said of a plan that went to a group, or of an undo that leads there."""
    return RollbackSummary(
        plan=plan.name,
        handle=plan.handle,
        checkpoint=target.first_checkpoint_id,
        checkpoint_type=target.reason.type,
        number=target.number,
        label=target.reason.label,
        direction=direction,
        files_reverted=files,
    )


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
    handle: str
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

    def preview(self, plan_id: PlanId, word: str, observer: Observer, turn: Turn = NEW_ACT) -> Rollback:
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
            run.inform(*_of_work(run, target))
            state = turn.state or self._state_at(run, self._definition(run, target), target)
            return _answer(run, target, _direction(run, target), changes, impact, remaining, None, state)

    def rollback(self, plan_id: PlanId, word: str, observer: Observer) -> Rollback:
        """Go back to the group, all resources or none; a `pre_rollback` group holds the present contents."""
        # Watched because the sandboxes are read three times: to compare, to capture, to restore.
        with self.claims.open(plan_id, observer) as run, self.manager.watch_briefly(run):
            return self.go_back(run, word)

    def go_back(self, run: Run, word: str, turn: Turn = NEW_ACT) -> Rollback:
        """Do the same for a plan that is claimed and watched, as a step of the timeline's own."""
        with self.manager.at_once():
            return self._go_back(run, word, turn)

    def _go_back(self, run: Run, word: str, turn: Turn) -> Rollback:
        target = self._target(run, word)
        self.manager.compare(run, target)  # finds damage in any resource before the first one changes
        undoing = self.undos.plan(run, target)
        self.undos.refuse_where_impossible(undoing)
        impact, _ = self._impact(run, target, undoing)
        direction = _direction(run, target)
        recorded = self.returns.definition_at(run, target)
        definition = definition_at(recorded, target)
        phase, state = turn.state or self._state_at(run, definition, target)
        wanted = RollbackWork(
            target=target.group_id,
            ends_children=True,
            phase=phase,
            state=state,
            log={"reason": turn.word, "direction": direction.value},
            undoes=turn.undoes,
            redoes=turn.redoes,
        )
        ended: JsonObject = {FINISHED: True} if run.plan.is_executed else {}
        kept = reason_for(CheckpointType.PRE_ROLLBACK, ended, between_steps=False)
        returned = self.returns.go(run, wanted, kept, None if definition is recorded else definition)
        with self.database.reading() as db:
            remaining = db.checkpoints.count(run.plan.plan_id, superseded=False)
        impact = replace(impact, undo_failed=returned.not_undone)
        run.inform(*_of_work(run, target))
        return _answer(
            run, target, direction, returned.changes, impact, remaining, returned.before, (phase, state)
        )

    def state_after(self, run: Run, word: str) -> State:
        """Return the state that a rollback of a claimed plan to a group would bring it into; refuse as that would."""
        target = self._target(run, word)
        return state_at(self._definition(run, target), target)

    def _definition(self, run: Run, target: CheckpointGroup) -> PlanDefinition:
        return definition_at(self.returns.definition_at(run, target), target)

    def _state_at(self, run: Run, definition: PlanDefinition, target: CheckpointGroup) -> tuple[Phase, State]:
        """Return the plan's state at a group: going forward to a finished state is finished."""
        state = state_at(definition, target)
        return finished_state(run) if state is State.COMPLETE else (Phase.EXECUTE, state)

    def _target(self, run: Run, word: str) -> CheckpointGroup:
        refuse_ended(run.plan, run.sandboxes)
        refuse_without_checkpoints(run.plan)
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            refuse_newer(db, run.plan, run.sandboxes)
            group = db.checkpoints.resolve(word, plan_id).group
        if group.plan_id != plan_id:
            raise CheckpointForeign(checkpoint_id=word, owner=group.plan_id, plan_id=plan_id)
        if not group.reason.is_of_sandboxes:
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


def _of_work(run: Run, target: CheckpointGroup) -> list[str]:
    """Say of a group that was taken while programs were at work what its files are, and which did not hold still."""
    if not target.reason.type.is_at_work:
        return []
    step = f"step {target.step_index + 1} ({target.reason.metadata.get('step')})"
    what = (
        f"{run.plan.handle}@{target.number} was taken while {step} was at work: it holds the files of that moment, the "
        "step counts as not done, and a resume runs it again on these files"
    )
    busy = cast("list[dict[str, str]]", target.reason.metadata.get("busy", []))
    paths = ", ".join(f"{each['resource']}: {each['path']}" for each in busy)
    return (
        [what, f"these never held still, and are held as they were read last: {paths}"] if paths else [what]
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
    state: tuple[Phase, State],
) -> Rollback:
    touched = reverted(changes, run.plan.hidden)
    return Rollback(
        plan_id=run.plan.plan_id,
        handle=run.plan.handle,
        dry_run=before is None,
        rollback_summary=summary_of(run.plan, target, direction, len(touched)),
        changes_reverted=touched,
        impact=impact,
        post_rollback_state=PostRollbackState(
            phase=state[0],
            state=state[1],
            step_index=target.step_index,
            checkpoints_remaining=remaining,
            pre_rollback_checkpoint=before.first_checkpoint_id if before else None,
        ),
        messages=tuple(run.messages),
    )
