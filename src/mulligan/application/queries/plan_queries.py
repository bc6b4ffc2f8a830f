"""Plans, their logs and histories for front doors, read in one consistent view.

The fields are named as in the JSON output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan import errors
from mulligan.application.queries.left_work import work_left
from mulligan.domain.plans.plan import SUITABLE, Phase, Plan, ResumedFrom, State
from mulligan.domain.plans.step import StepStatus, about
from mulligan.domain.views.status_view import ExecutionCounts, PlanErrorView, StepView
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from mulligan.application.queries.listing import Listing
    from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
    from mulligan.domain.history.correction import Correction, CorrectionMode
    from mulligan.domain.plans.event import Event
    from mulligan.domain.plans.fork import Fork
    from mulligan.domain.plans.step import StepRecord
    from mulligan.domain.resources.resource import Resource, Sandbox, Strategy
    from mulligan.domain.text.ids import CheckpointId, CorrectionId, DecisionId, PlanId
    from mulligan.domain.text.json_value import JsonObject
    from mulligan.domain.trees.tree_difference import TreeDifference
    from mulligan.domain.views.history_tree import TreeNode
    from mulligan.domain.views.plan_history import PlanHistory
    from mulligan.ports import Locks, StoredTrees
    from mulligan.rows.database import Database
    from mulligan.rows.transaction import Transaction

_OTHER_ACTS = ("bisect", "diff")  # for which the state of a plan does not matter
_TO_BISECT = 2  # groups, at least
_PRINTED = 100  # calls whose output is part of a status, the newest ones
_OF_PRINTED = ("exit_status", "stdout", "stderr", "stdout_omitted", "stderr_omitted")


class SandboxView(Struct, frozen=True, kw_only=True):
    """The location of a plan's sandbox."""

    resource: str
    strategy: Strategy
    path: str
    branch: str | None
    git_dir: str | None
    host: str | None = None  # the name of the machine that has it, if that is another one


class HolderView(Struct, frozen=True, kw_only=True):
    """The process that works on a plan."""

    host: str | None  # the name of its machine, if that is another one
    pid: int
    since: datetime
    lease_seconds: float | None  # for which a server keeps the claim of a machine that is cut off


class PlanTiming(Struct, frozen=True, kw_only=True):
    """The times of a plan's creation and last change."""

    created_at: datetime
    updated_at: datetime


class CorrectionView(Struct, frozen=True, kw_only=True):
    """A correction of a plan, done or previewed."""

    correction_id: CorrectionId | None  # None, like the next: a dry run
    intervention_id: DecisionId | None  # the decision that records the guidance
    mode: CorrectionMode
    plan_id: PlanId  # the one with a new attempt
    decision_id: DecisionId  # the one that was corrected
    guidance: str
    chosen: str | None
    attempt: int
    superseded_decisions: tuple[DecisionId, ...]
    cancelled_child_plans: tuple[PlanId, ...]
    restored_checkpoint: CheckpointId | None  # the start of the attempt; None: a dry run of an append


class PlanStatus(Struct, frozen=True, kw_only=True):
    """The status of a plan."""

    plan_id: PlanId
    handle: str
    name: str
    phase: Phase
    state: State
    attempt: int
    parent_plan_id: PlanId | None
    forked_from: Fork | None
    steps: tuple[StepView, ...]
    last_checkpoint_id: CheckpointId | None
    last_checkpoint_number: int | None  # of its group, in the plan
    sandboxes: tuple[SandboxView, ...]
    holder: HolderView | None = None
    resumed_from: ResumedFrom | None
    corrections: tuple[CorrectionView, ...]  # one for each attempt but the first
    execution: ExecutionCounts
    conflicts: tuple[JsonObject, ...]
    error: PlanErrorView | None
    timing: PlanTiming
    messages: tuple[str, ...]
    waiting: JsonObject | None  # as in a list


class PlanLine(Struct, frozen=True, kw_only=True):
    """A plan in a list."""

    plan_id: PlanId
    handle: str
    parent_plan_id: PlanId | None
    forked_from: Fork | None
    name: str
    phase: Phase
    state: State
    steps_done: int
    steps_total: int
    updated_at: datetime
    waiting: JsonObject | None  # what it waits for someone to do: `reason` is `question` or `conflicts`


class Queries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads plans; never waits for a running plan."""

    database: Database
    find_locks: Callable[[], Locks]  # most plans are at rest
    find_trees: Callable[[], StoredTrees]  # few looks are at files

    def newest_for(self, act: str) -> PlanId:
        """Find the newest plan that an act makes sense for; a child plan is never meant."""
        if act not in (*SUITABLE, *_OTHER_ACTS):
            acts = ", ".join(sorted((*SUITABLE, *_OTHER_ACTS)))
            raise errors.UsageWrong(
                reason=f"{act!r} is not an act that has a newest plan", hint=f"name one of: {acts}"
            )
        with self.database.reading() as db:
            if act == "diff":
                return db.plans.newest_that_changed() or db.plans.resolve("latest").plan_id
            if act == "bisect":
                found = db.plans.newest_with_groups(_TO_BISECT)
                if found is None:
                    raise _none_suits(db, act)
                return found
            found = db.plans.newest_in(SUITABLE[act], idle=False) if act == "apply" else None
            if found is None:
                found = (
                    db.plans.newest_to_unapply() if act == "unapply" else db.plans.newest_in(SUITABLE[act])
                )
            if found is None:
                raise _none_suits(db, act)
        return found

    def plan_id(self, word: str) -> PlanId:
        """Find the plan that a user's word means."""
        with self.database.reading() as db:
            return db.plans.resolve(word).plan_id

    def first_place(self, plan_id: PlanId) -> tuple[Resource, str | None]:
        """Return the first resource of a plan, and the path of its sandbox, if it has one."""
        with self.database.reading() as db:
            first = db.plans.get(plan_id).definition.resources[0]
            sandboxes = db.sandboxes.list(plan_id)
        return first, next((s.path for s in sandboxes if s.resource == first.name), None)

    def handles(self, ids: Collection[str]) -> dict[str, str]:
        """Return the word (`tune`, `tune@3`, `tune/d1`) for each id that a row still has."""
        with self.database.reading() as db:
            return db.handles.of(ids)

    def cut_off_changes(self) -> Sequence[PlanStatus]:
        """Return the plans for which a process changed real files and did not come to its end."""
        with self.database.reading() as db:
            if not db.plans.are_acts_under_way():
                return ()
            changing = dict.fromkeys(intent.plan_id for intent in db.intents.of_real_resources())
        gone = [plan_id for plan_id in changing if self.find_locks().holder(plan_id) is None]
        return [self.status(plan_id, None) for plan_id in gone]

    def _holder(self, plan: Plan) -> HolderView | None:
        found = self.find_locks().holder(plan.plan_id) if plan.state is State.PROCESSING else None
        if found is None:
            return None
        return HolderView(host=found.host, pid=found.pid, since=found.since, lease_seconds=found.lease)

    def status(self, plan_id: PlanId, resumed_from: ResumedFrom | None) -> PlanStatus:
        """Return the status of a plan."""
        with self.database.reading() as db:
            return self.status_in(db, plan_id, resumed_from)

    def status_in(self, db: Transaction, plan_id: PlanId, resumed_from: ResumedFrom | None) -> PlanStatus:
        """Return the status within a transaction of the caller."""
        plan = db.plans.get(plan_id)
        steps = _steps(db, plan)
        sandboxes = db.sandboxes.list(plan_id)
        changes = db.real_changes.list(plan_id) if plan.state is State.APPLIED else ()
        applied = [change for change in changes if change.act == "apply"]
        under_way = db.plans.acts_under_way(plan_id)
        calls = db.tool_calls.count_done(plan_id)
        decisions = db.decisions.count_live(plan_id)
        checkpoints = db.checkpoints.count(plan_id, superseded=False)
        children = db.plans.count_children(plan_id)
        corrections = db.corrections.list(plan_id) if plan.attempt > 1 else ()
        current = db.checkpoints.get(plan.current_group_id) if plan.current_group_id else None
        bases = sandboxes or [change.real for change in applied]  # the sandboxes of an applied plan are gone
        files_modified, hurt = self._files_modified(bases, current, plan.hidden)
        return PlanStatus(
            plan_id=plan.plan_id,
            handle=plan.handle,
            name=plan.name,
            phase=plan.phase,
            state=plan.state,
            attempt=plan.attempt,
            parent_plan_id=plan.parent_plan_id,
            forked_from=plan.definition.fork,
            steps=steps,
            last_checkpoint_id=plan.last_checkpoint_id,
            last_checkpoint_number=current.number if current else None,
            sandboxes=tuple(
                SandboxView(
                    resource=s.resource,
                    strategy=s.strategy,
                    path=s.path,
                    branch=s.branch,
                    git_dir=s.git_dir,
                    host=db.hosts.name_of(s.host) if s.host and db.hosts.is_elsewhere(s.host) else None,
                )
                for s in sandboxes
            ),
            holder=self._holder(plan),
            resumed_from=resumed_from,
            corrections=tuple(correction_view(c, dry_run=False) for c in corrections),
            execution=ExecutionCounts(
                tool_calls=calls,
                files_modified=files_modified,
                child_plans=children,
                decisions=decisions,
                checkpoints=checkpoints,
            ),
            conflicts=tuple(conflict.to_json() for conflict in plan.conflicts),
            error=self._error(db, plan, under_way),
            timing=PlanTiming(created_at=plan.created_at, updated_at=plan.updated_at),
            messages=(*plan.messages, *hurt),
            waiting=plan.waiting,
        )

    def plans(self, state: State | None, limit: int | None, *, waiting: bool = False) -> Listing[PlanLine]:
        """Return the plans, oldest first; at most the newest `limit`; with `waiting` those that wait for someone."""
        from mulligan.application.queries.listing import Listing

        with self.database.reading() as db:
            if waiting:
                constrained = db.plans.list(State.CONSTRAINED)
                all_of_them = [p for p in constrained if p.waiting and state in (None, p.state)]
                found = all_of_them if limit is None else all_of_them[len(all_of_them) - limit :]
                older = len(all_of_them) - len(found)
            else:
                found = db.plans.list(state, limit=limit)
                older = 0 if limit is None else db.plans.count(state) - len(found)
        lines = [
            PlanLine(
                plan_id=plan.plan_id,
                handle=plan.handle,
                parent_plan_id=plan.parent_plan_id,
                forked_from=plan.definition.fork,
                name=plan.name,
                phase=plan.phase,
                state=plan.state,
                steps_done=_steps_done(plan),
                steps_total=max(len(plan.definition.steps), plan.progress.step_index),
                updated_at=plan.updated_at,
                waiting=plan.waiting,
            )
            for plan in found
        ]
        return Listing(lines, older=older)

    def log(self, plan_id: PlanId, limit: int | None, after: int) -> Listing[Event]:
        """Return the log of a plan after that sequence number, in order; at most the newest `limit` entries."""
        from mulligan.application.queries.listing import Listing

        with self.database.reading() as db:
            found = db.events.list(plan_id, limit=limit, after=after)
            older = 0 if limit is None else db.events.count(plan_id, after=after) - len(found)
        return Listing(found, older=older)

    def history(self, plan_id: PlanId, limit: int | None) -> PlanHistory:
        """Return the log of a plan with its superseded parts, and the logs of its child plans where they began."""
        with self.database.reading() as db:
            return _history(db, db.plans.get(plan_id), limit)

    def tree(self, plan_id: PlanId, *, superseded: bool) -> TreeNode:
        """Return a plan's decisions and checkpoints as a tree, with or without superseded ones."""
        with self.database.reading() as db:
            return _tree(db, db.plans.get(plan_id), superseded=superseded)

    def _files_modified(
        self, sandboxes: Sequence[Sandbox], current: CheckpointGroup | None, hidden: Sequence[str]
    ) -> tuple[int, tuple[str, ...]]:
        """Count the files in which the newest group differs from the initial contents of the sandboxes.

        Damage to the store is returned as messages: it does not prevent a look at the status.
        """
        count, hurt = 0, list[str]()
        if current is None:
            return count, ()
        for sandbox in sandboxes:
            snapshot = current.checkpoint_of(sandbox.resource).snapshot
            try:
                found = self.find_trees().difference(sandbox.base.roots[0], snapshot.roots[0])
                count += _shown_files(found, hidden) if found else 0
            except (errors.SnapshotDamaged, errors.SystemFailed) as exc:
                hurt.append(
                    Advice(
                        f"changed files of {sandbox.resource} are not counted: {exc.text}; ", exc.next_step
                    )
                )
        return count, tuple(hurt)

    def _error(self, db: Transaction, plan: Plan, under_way: Collection[str]) -> PlanErrorView | None:
        cut_off = plan.state is State.APPLIED and "unapply" in under_way
        resume = plan.way_on
        if plan.state is State.CANCELLED:
            from mulligan.application.plans.guards import (
                cancelled,  # here: a look at other plans needs no guard
            )

            resume = cancelled(plan).next_step
        if plan.conflicts and plan.phase is Phase.EXECUTE:
            resume = Advice("fix the conflicts in the sandbox, then ", NextStep("resolve", plan=plan.plan_id))
        if plan.question is not None:
            resume = Advice("answer with ", plan.way_to_answer)
        if plan.phase is Phase.APPLY:
            resume = Advice(
                NextStep("resume", plan=plan.plan_id),
                " puts the real resources back as they were before; ",
                NextStep("unapply" if cut_off else "apply", plan=plan.plan_id),
                " does that, and then starts again",
            )
        if (plan.state is State.PROCESSING or cut_off) and self.find_locks().holder(plan.plan_id) is None:
            return PlanErrorView(
                message="the process that worked on this plan is gone",
                step=None,
                tool=None,
                checkpoint=plan.last_checkpoint_id,
                recoverable=True,
                hint=resume,
            )
        left = {"restore", "undo"}.intersection(under_way) or (plan.state is State.APPLIED and under_way)
        if left and self.find_locks().holder(plan.plan_id) is None:
            return PlanErrorView(
                message="the process that changed real files for this plan is gone",
                step=None,
                tool=None,
                checkpoint=plan.last_checkpoint_id,
                recoverable=True,
                hint=Advice(NextStep("doctor"), " finishes that, or puts them back as they were before"),
            )
        if plan.failure is None:
            return None
        message, asked = plan.failure.message, plan.failure.question
        if plan.state is State.CANCELLED and asked is not None:  # it waits no longer
            message = f"a question was not answered: {asked.question}"
        return PlanErrorView(
            message=message,
            step=plan.failure.step,
            tool=plan.failure.tool,
            checkpoint=plan.failure.checkpoint,
            recoverable=plan.definition.rollback_policy.enabled and plan.state is not State.CANCELLED,
            hint=_after_failure(db, plan, resume) if plan.state is State.ERRORED else resume,
        )


def _after_failure(db: Transaction, plan: Plan, resume: Advice) -> Advice:
    """Return how to continue a plan whose step failed, and how to take what that step did."""
    if not (plan.definition.session or plan.definition.command):
        resume = Advice(resume, " (with a corrected plan file: ", NextStep("again", corrected=...), ")")
    work = work_left(db, plan)
    return Advice(resume, "; ", work.advice) if work is not None else resume


def _none_suits(db: Transaction, act: str) -> errors.NoPlanSuits:
    """Return the refusal where no plan suits an act; what the newest plan left can be taken, and then be applied."""
    newest = db.plans.resolve("latest")  # refuses where there is no plan at all
    work = work_left(db, newest) if act == "apply" else None
    if work is None:
        return errors.NoPlanSuits(act=act)
    return errors.NoPlanSuits(
        act=act, hint=Advice(f"the newest one, {newest.handle}, failed: ", work.advice, ", to be applied")
    )


def _shown_files(differences: Sequence[TreeDifference], hidden: Sequence[str]) -> int:
    # Here: the status of a plan that changed nothing needs no patterns.
    from mulligan.domain.trees.tree_difference import without_hidden

    return sum(difference.of_files for difference in without_hidden(differences, hidden)[0])


def _steps(db: Transaction, plan: Plan) -> tuple[StepView, ...]:
    steps, printed = db.steps.list(plan.plan_id), db.steps.printed(plan.plan_id, _PRINTED)
    known = {step.name: about(step) for step in plan.definition.steps}
    return tuple(
        _step_view(
            step,
            known.get(step.name),
            printed.get(step.index, {}),
            taken=step.name in plan.progress.taken,
        )
        for step in steps
    )


def _step_view(step: StepRecord, does: str | None, printed: JsonObject, *, taken: bool) -> StepView:
    if step.status is StepStatus.PENDING:
        printed = {}  # of a call that was taken back
    view = StepView(
        index=step.index,
        name=step.name,
        status=step.status,
        duration_ms=step.duration_ms,
        about=does,
        taken=taken,
    )
    return replace(view, **{name: printed[name] for name in _OF_PRINTED if name in printed})


def _steps_done(plan: Plan) -> int:
    """Count the completed steps, and those whose changes were taken; those that a plan was accepted without are not."""
    progress = plan.progress
    if plan.definition.session:
        return progress.step_index
    done = {*progress.outputs, *progress.taken}
    return sum(step.name in done for step in plan.definition.steps[: progress.step_index])


def _history(db: Transaction, plan: Plan, limit: int | None) -> PlanHistory:
    from mulligan.domain.views.plan_history import plan_history

    plan_id = plan.plan_id
    children = {str(c.plan_id): _history(db, c.plan, limit) for c in db.children.list(plan_id)}
    lines, groups = db.history.lines(plan_id), db.checkpoints.summaries(plan_id)
    return plan_history(plan, lines, db.events.list(plan_id), groups, children, limit)


def _tree(db: Transaction, plan: Plan, *, superseded: bool) -> TreeNode:

    from mulligan.domain.views.history_tree import history_tree

    plan_id = plan.plan_id
    numbered = enumerate(db.decisions.list(plan_id), start=1)
    decisions = {number: d for number, d in numbered if superseded or not d.superseded}
    children = [
        (child, _tree(db, child.plan, superseded=superseded))
        for child in db.children.list(plan_id)
        if superseded or child.plan.state is not State.CANCELLED or plan.state is State.CANCELLED
    ]
    groups = db.checkpoints.list(plan_id, superseded=superseded)
    lines, corrections = db.history.lines(plan_id), db.corrections.list(plan_id)
    return history_tree(plan, lines, decisions, groups, corrections, children)


def correction_view(correction: Correction, *, dry_run: bool) -> CorrectionView:
    """Return the view of a correction; a dry run has no ids."""
    return CorrectionView(
        correction_id=None if dry_run else correction.correction_id,
        intervention_id=None if dry_run else correction.intervention_id,
        mode=correction.mode,
        plan_id=correction.plan_id,
        decision_id=correction.decision_id,
        guidance=correction.guidance,
        chosen=correction.chosen,
        attempt=correction.attempt,
        superseded_decisions=correction.superseded_decisions,
        cancelled_child_plans=correction.cancelled_child_plans,
        restored_checkpoint=correction.restored_checkpoint,
    )
