"""Appends work to a decision: nothing is undone, a child plan runs on the present contents and is merged."""

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService
from mulligan.application.corrections.correction_result import (
    Appended,
    Corrected,
    log_of,
    refuse_text,
    superseded,
)
from mulligan.application.plans.guards import (
    not_ready,
    refuse_ended,
    refuse_newer,
    refuse_waiting,
    refuse_without_checkpoints,
)
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_edits import steps_at
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.queries.plan_queries import correction_view
from mulligan.application.rollback.impact import all_impact, decisions_left_behind
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.plan_executor import Execution, PlanExecutor
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.subplans.child_plans import lineage
from mulligan.domain.history.correction import (
    Correction,
    CorrectionMode,
    addition,
    again,
    appended_step,
    child_of,
    with_step,
)
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.decision import Choice, Decision, Question
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.step import ChildPlan, Step
from mulligan.domain.text.ids import CorrectionId, DecisionId, PlanId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.text.plural import counted
from mulligan.errors import Advice, NextStep, NothingToAppend
from mulligan.ports import Clock, Ids, Observer, SnapshotStore
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

T = TypeVar("T")
# Reads the plan file whose steps are appended; they may refer to these outputs of the plan.
ReadAppended: TypeAlias = Callable[[PlanDefinition, Mapping[str, Json]], ChildPlan]


class AppendWish(Struct, frozen=True, kw_only=True):
    """A user's request to append work to a decision."""

    decision: str  # its id, or a unique prefix
    guidance: str
    read: ReadAppended | None  # None: run the step that recorded the decision again
    execute: bool  # continue the plan


class _Asked(Struct, frozen=True, kw_only=True):
    """The wish, resolved in its plan."""

    decision: Decision
    guidance: str
    child: ChildPlan


class _Adding(Struct, frozen=True, kw_only=True):
    """An appended step."""

    correction: Correction
    step: Step
    child: ChildPlan
    index: int  # of the step


class AppendService(Struct, kw_only=True, frozen=True, eq=False):
    """Adds a step with one child plan at a plan's present position, and continues."""

    database: Database
    store: SnapshotStore
    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService

    resumes: PlanResumeService
    executor: PlanExecutor
    sandboxes: SandboxService
    ids: Ids
    clock: Clock

    def preview(self, wish: AppendWish, observer: Observer) -> Corrected:
        """Return what would be added and run; report guards too, and change nothing."""
        with self.claims.look(self._plan_of(wish), observer) as run:
            asked = self._asked(run, wish)
            going = self._under_way(run, asked)
            if going is not None:
                self._check_going_on(run)
                run.inform("it was started before, and would be continued")
                return self._answer(run, going, None, dry_run=True)
            adding = self._planned(run, asked)
            run.inform(*(self._start(run) if run.plan.is_executed else self.resumes.preview_of(run).messages))
            return self._answer(run, adding, None, dry_run=True)

    def append(self, wish: AppendWish, observer: Observer) -> Corrected:
        """Record the guidance and the new step on the present contents, and continue.

        Repeating the same wish continues an interrupted append instead of starting another.
        """
        with self.claims.open(self._plan_of(wish), observer) as run:
            asked = self._asked(run, wish)
            adding = self._under_way(run, asked)
            if adding is None:
                adding = self._planned(run, asked)
                with self.manager.watch(run):
                    if not run.plan.is_executed:
                        self.resumes.restore(run)
                    adding = self._record(run, asked.decision, adding)
            else:
                self._check_going_on(run)
                run.inform("it was started before, and is continued")
            execution = self.executor.run_on(run) if wish.execute else None
            return self._answer(run, adding, execution, dry_run=False)

    def _start(self, run: Run) -> list[str]:
        """Report changes since the last checkpoint, which the work would start from."""
        with self.database.reading() as db:
            last = db.checkpoints.newest_between_steps(run.plan.plan_id)
        found = sum(map(len, self.manager.compare(run, last).values())) if last else 0
        if not last or not found:
            return []
        since = f"changed since {last.first_checkpoint_id}"
        return [f"it would start from the present contents, with {counted(found, 'path')} {since}"]

    # --- what is meant -------------------------------------------------------------------------------------

    def _plan_of(self, wish: AppendWish) -> PlanId:
        """Return the plan that gets the work: the topmost one above the decision."""
        refuse_text("guidance", wish.guidance)
        with self.database.reading() as db:
            return lineage(db, db.decisions.resolve(wish.decision).plan_id)[0].plan_id

    def _asked(self, run: Run, wish: AppendWish) -> _Asked:
        refuse_ended(run.plan, run.sandboxes)
        refuse_without_checkpoints(run.plan)
        with self.database.reading() as db:
            refuse_newer(db, run.plan, run.sandboxes)
            decision = db.decisions.resolve(wish.decision)
            decider = db.plans.get(decision.plan_id)
        if decider.plan_id != run.plan.plan_id:
            refuse_ended(decider)
        if decision.superseded:
            raise superseded(decision, decider)
        if run.plan.definition.session:
            raise NothingToAppend(
                decision_id=decision.decision_id,
                reason="its plan is a session, whose steps are those of a program",
                hint=Advice(
                    NextStep("again", mode="revert"), " hands the guidance to the program; ", run.plan.way_on
                ),
            )
        outputs = _beyond(decider.progress.outputs, run.outputs)  # empty, unless a child decided
        if wish.read is not None:
            child = wish.read(run.plan.definition, {**run.outputs, **outputs})
        else:
            child = _once_more(decider, decision)
            variables = _beyond(decider.definition.variables, run.plan.definition.variables)
            child = replace(child, variables={**variables, **child.variables})
        child = replace(child, outputs={**outputs, **child.outputs})
        return _Asked(decision=decision, guidance=wish.guidance, child=child)

    def _under_way(self, run: Run, asked: _Asked) -> _Adding | None:
        """Find the same append, if it was recorded before and is not complete."""
        plan = run.plan
        if plan.is_executed:
            return None
        with self.database.reading() as db:
            corrections = db.corrections.list(plan.plan_id)
        wanted = (asked.decision.decision_id, asked.guidance, asked.child)
        for index, step in enumerate(plan.definition.steps):
            if not corrections or step.appended != corrections[-1].correction_id:
                continue
            latest = corrections[-1]
            ended = index < plan.progress.step_index and plan.state is not State.PROCESSING
            if not ended and (latest.decision_id, latest.guidance, child_of(step)) == wanted:
                return _Adding(correction=latest, step=step, child=asked.child, index=index)
        return None

    def _check_going_on(self, run: Run) -> None:
        refuse_waiting(run.plan)
        self.resumes.refuse_where_impossible(run)
        self.executor.check(run, run.plan.definition, run.settings)

    # --- what is to be done --------------------------------------------------------------------------------

    def _planned(self, run: Run, asked: _Asked) -> _Adding:
        """Return what to record; every refusal is here or in `_asked`."""
        plan, decision = run.plan, asked.decision
        if plan.phase is Phase.EXECUTE:
            refuse_waiting(plan)
        self.resumes.refuse_where_impossible(run)
        with self.database.reading() as db:
            index = _place(db, plan, decision)
            _refuse_children_under_way(db, plan, index)
        correction_id = CorrectionId(self.ids.new())
        step = appended_step(plan.definition, correction_id, decision.step_name, asked.child)
        self.executor.check(run, with_step(plan.definition, index, step), run.settings)
        self.sandboxes.refuse_unforked(run.sandboxes)
        run.inform(*_idle(asked.child))
        correction = Correction(
            correction_id=correction_id,
            plan_id=plan.plan_id,
            mode=CorrectionMode.APPEND,
            decision_id=decision.decision_id,
            intervention_id=DecisionId(self.ids.new()),
            guidance=asked.guidance,
            chosen=None,
            redefines=True,
            attempt=plan.attempt + 1,
            superseded_decisions=(),
            cancelled_child_plans=(),
            restored_checkpoint=None,
            created_at=self.clock.now(),
        )
        return _Adding(correction=correction, step=step, child=asked.child, index=index)

    def _record(self, run: Run, decision: Decision, adding: _Adding) -> _Adding:
        """Capture the present contents, then record them with the guidance, the step and the next attempt.

        A new line of history begins, so that a return to an earlier group removes the step too. Everything live
        stays live.
        """
        plan_id, now = run.plan.plan_id, self.clock.now()
        definition = with_step(run.plan.definition, adding.index, adding.step)
        with run.showing_later(), self.store.hold():  # until rows refer to what was captured
            checkpoints = self.checkpoints.present(run)
            correction = replace(adding.correction, restored_checkpoint=checkpoints[0].checkpoint_id)
            place: JsonObject = {"checkpoint_id": correction.restored_checkpoint, "step_index": adding.index}
            data = {**log_of(correction), **place, "child": adding.child.name}
            entry = Entry(type=EventType.CORRECTION, data=data, at=now)
            with run.commit("append.record") as commit:
                db, (event,) = commit.db, commit.record(entry)
                number = max(line.line for line in db.history.lines(plan_id)) + 1
                db.history.start(plan_id, Line(line=number, parent_line=run.plan.line, fork_seq=event.seq))
                queued = run.plan.moved_to(Phase.EXECUTE, State.QUEUED, now)
                commit.plan = plan = replace(queued, failure=None, definition=definition, line=number)
                db.plans.redefine(plan)
                db.steps.replace(plan_id, 0, steps_at(definition, db.steps.list(plan_id), adding.index))
                guidance = addition(correction, decision, plan.line, adding.index, adding.step)
                self.checkpoints.add_guidance(commit, run, correction, guidance, checkpoints)
        return replace(adding, correction=correction)

    def _answer(self, run: Run, adding: _Adding, execution: Execution | None, *, dry_run: bool) -> Corrected:
        with self.database.reading() as db:
            children = db.children.list(run.plan.plan_id)
        live = [c for c in children if c.plan.state is not State.CANCELLED]
        spawned = [c.plan_id for c in live if c.spawn.step_index == adding.index]
        return Corrected(
            plan_id=run.plan.plan_id,
            dry_run=dry_run,
            correction=correction_view(adding.correction, dry_run=dry_run),
            changes_reverted=(),
            impact=all_impact(()),
            superseded=(),
            pre_rollback_checkpoint=None,
            appended=Appended(
                step=adding.step.name,
                step_index=adding.index,
                child_plan=adding.child.name,
                child_plan_id=spawned[-1] if spawned else None,
                steps=tuple(each.name for each in adding.child.steps),
            ),
            execution=execution,
            messages=tuple(run.messages),
        )


def _beyond(there: Mapping[str, T], here: Mapping[str, T]) -> dict[str, T]:
    """Return the items that are missing or different here."""
    return {name: value for name, value in there.items() if name not in here or here[name] != value}


def _once_more(decider: Plan, decision: Decision) -> ChildPlan:
    """Return the step that recorded the decision as a child plan, or its own child plan if it was appended."""
    step = next((s for s in decider.definition.steps if s.name == decision.step_name), None)
    if step is None:
        raise NothingToAppend(
            decision_id=decision.decision_id,
            reason=f"the step {decision.step_name!r} that recorded it is no longer in the plan",
        )
    if isinstance(step.action, Question):  # what a person answered is not asked again
        step = replace(step, action=decision.choice)
    return child_of(step) or again(step)


def _place(db: Transaction, plan: Plan, decision: Decision) -> int:
    """Return the index of an added step: after all completed ones. Later decisions are discarded by a resume."""
    start = None if plan.is_executed else db.checkpoints.newest_between_steps(plan.plan_id)
    if start is None:
        return len(plan.definition.steps)
    if decision in decisions_left_behind(db, plan.plan_id, start):
        reason = f"the step {decision.step_name!r} that decided did not complete, and runs again"
        revert = NextStep("again", mode="revert")
        raise not_ready(plan, reason, Advice(plan.way_on, " first, or take the decision back with ", revert))
    return start.step_index


def _refuse_children_under_way(db: Transaction, plan: Plan, index: int) -> None:
    """Refuse to insert a step before one with child plans: those belong to its index."""
    under_way = [c for c in db.children.list(plan.plan_id) if c.spawn.step_index >= index]
    names = ", ".join(c.name for c in under_way if c.plan.state is not State.CANCELLED)
    if names:
        rollback = NextStep("rollback", plan=plan.plan_id, checkpoint=...)
        hint = Advice(plan.way_on, " first, or go back to before they were spawned with ", rollback)
        raise not_ready(plan, f"nothing can be appended while child plans are under way: {names}", hint)


def _idle(child: ChildPlan) -> list[str]:
    if any(not isinstance(step.action, Choice) for step in child.steps):
        return []
    text = "the step that runs again only decides, and changes nothing: "
    return [Advice(text, NextStep("again", corrected=...), " adds work")]
