"""Corrects a decision: takes it back with everything that followed, and continues with the user's guidance.

A decision of a child plan is taken back in the child; the plans above go back to before the child was merged, and
merge it again when they continue.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import reason_for
from mulligan.application.corrections.correction_result import Corrected, log_of, refuse_text, superseded
from mulligan.application.plans.guards import refuse_ended, refuse_newer, refuse_without_checkpoints
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_edits import corrected_plan
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.queries.plan_queries import correction_view
from mulligan.application.rollback.impact import (
    Impact,
    all_impact,
    decisions_left_behind,
    impact_of,
    reverted,
)
from mulligan.application.rollback.outside_effects import UndoService
from mulligan.application.rollback.return_service import Returned, ReturnService
from mulligan.application.runs.plan_executor import Execution, PlanExecutor
from mulligan.application.runs.run import Run
from mulligan.application.subplans.child_plans import ChildPlans, children_left_behind, lineage
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.correction import Correction, CorrectionMode, choosing, with_step
from mulligan.domain.history.lines import NEVER
from mulligan.domain.history.undo import Undoing
from mulligan.domain.plans.decision import Decision, DecisionType
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import CorrectionWork, RollbackWork
from mulligan.domain.plans.plan import Plan, PlanDefinition, State
from mulligan.domain.plans.subplan import Child, built_on, newest_without, with_steps_of_child
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, CorrectionId, DecisionId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import (
    Advice,
    DecisionOutOfReach,
    NextStep,
    NothingToChoose,
    PlanFileDiffers,
)
from mulligan.ports import Clock, Ids, Observer
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

Claiming: TypeAlias = Callable[[PlanId, Observer], AbstractContextManager[Run]]


class Wish(Struct, frozen=True, kw_only=True):
    """A user's request to correct a decision."""

    decision: str  # its id, or a unique prefix
    guidance: str
    chosen: str | None  # the new choice of its `decision:` step
    corrected: PlanDefinition | None  # its steps replace those from the restored one on
    execute: bool  # continue the plan


class _Back(Struct, frozen=True, kw_only=True):
    """The return of one plan, and what it supersedes."""

    run: Run
    target: CheckpointGroup
    definition: PlanDefinition | None  # the new one; None: the one at the target
    spared: tuple[PlanId, ...]  # children that it keeps
    decisions: tuple[Decision, ...]
    children: tuple[Child, ...]
    undoing: Undoing
    impact: Impact


class _Plan(Struct, frozen=True, kw_only=True):
    """A planned correction."""

    correction: Correction
    above: tuple[_Back, ...]  # the plans above that of the decision, the topmost first
    own: _Back

    @property
    def all(self) -> tuple[_Back, ...]:
        """Return the plans that go back, the topmost first."""
        return (*self.above, self.own)


class CorrectionService(Struct, kw_only=True, frozen=True, eq=False):
    """Reverts decisions."""

    database: Database
    claims: PlanClaims
    manager: CheckpointManager
    returns: ReturnService
    undos: UndoService
    children: ChildPlans
    executor: PlanExecutor
    settings: SettingsSource
    ids: Ids
    clock: Clock

    def preview(self, wish: Wish, observer: Observer) -> Corrected:
        """Return what a correction would supersede, restore and be unable to undo; report guards and damage too."""
        with _claimed(self.claims.look, self._lineage(wish), observer) as runs:
            planned = self._planned(runs, wish)
            changes = [self.manager.compare(back.run, back.target) for back in planned.all]
            with self.database.reading() as db:
                intents = [intent for run in runs for intent in db.intents.list(run.plan.plan_id)]
            if any(intent.target for intent in intents):
                runs[0].inform("an interrupted return would be finished first")
            return _answer(planned, changes[0], None, None)

    def revert(self, wish: Wish, observer: Observer) -> Corrected:
        """Take the decision back with everything that followed, record the guidance, and continue."""
        topmost, *below = self._lineage(wish)
        with self.claims.open(topmost, observer) as top:
            with _claimed(self.claims.open, below, observer) as runs:  # released before the topmost runs them
                planned = self._planned([top, *runs], wish)
                returned = self._go_back(planned)
                top.inform(*(f"{run.plan.name}: {text}" for run in runs for text in run.messages))
            execution = self.executor.run_on(top) if wish.execute else None
            not_undone = tuple(call for each in returned for call in each.not_undone)
            before = returned[0].before.first_checkpoint_id if returned[0].before else None
            answer = _answer(planned, returned[0].changes, before, execution)
            return replace(answer, impact=replace(answer.impact, undo_failed=not_undone))

    def _lineage(self, wish: Wish) -> list[PlanId]:
        refuse_text("guidance", wish.guidance)
        refuse_text("choice", wish.chosen)
        with self.database.reading() as db:
            return [plan.plan_id for plan in lineage(db, db.decisions.resolve(wish.decision).plan_id)]

    def _go_back(self, planned: _Plan) -> list[Returned]:
        """Bring all plans back, the topmost first: after an interruption its child is still unchanged."""
        with ExitStack() as watched:
            for back in planned.all:
                watched.enter_context(self.manager.watch(back.run))
                self.manager.compare(back.run, back.target)  # finds damage before anything changes
                self.undos.refuse_where_impossible(back.undoing)
            kept = reason_for(CheckpointType.PRE_ROLLBACK, {"reason": "correction"}, between_steps=False)
            log: JsonObject = {"reason": f"correction {planned.correction.correction_id} of a child plan"}
            above = [
                RollbackWork(
                    target=back.target.group_id,
                    ends_children=True,
                    spared_children=back.spared,
                    state=State.QUEUED,
                    log=log,
                )
                for back in planned.above
            ]
            own = CorrectionWork(
                target=planned.own.target.group_id,
                ends_children=True,
                spared_children=planned.own.spared,
                state=State.QUEUED,
                log=log_of(planned.correction),
                correction=planned.correction,
            )
            pairs = zip(planned.all, [*above, own], strict=True)
            return [self.returns.go(back.run, each, kept, back.definition) for back, each in pairs]

    # --- what is to be done --------------------------------------------------------------------------------

    def _planned(self, runs: Sequence[Run], wish: Wish) -> _Plan:
        """Return what to do; every refusal is here or in what it calls."""
        for run in runs:
            refuse_ended(run.plan, run.sandboxes)
            refuse_without_checkpoints(run.plan)
            with self.database.reading() as db:
                refuse_newer(db, run.plan, run.sandboxes)
        if wish.corrected is not None and len(runs) > 1:
            raise PlanFileDiffers(
                plan_id=runs[-1].plan.plan_id,
                reason="it is a child plan, and its steps are part of its parent's file",
                hint=Advice(
                    "omit ", NextStep("again", corrected=...), ", or correct a decision of the plan above it"
                ),
            )
        with self.database.reading() as db:
            decision = db.decisions.resolve(wish.decision)
        correction_id = CorrectionId(self.ids.new())
        own = top = self._own(runs[-1], wish, decision, correction_id)
        above: list[_Back] = []
        for run in runs[-2::-1]:
            top = self._above(run, top, decision)
            above.insert(0, top)
        becomes = top.definition or self.returns.definition_at(top.run, top.target)
        if wish.execute or top.definition is not None:
            self.executor.check(top.run, becomes, self.settings.for_plan(becomes.config))
        plan = own.run.plan
        correction = Correction(
            correction_id=correction_id,
            plan_id=plan.plan_id,
            mode=CorrectionMode.REVERT,
            decision_id=decision.decision_id,
            intervention_id=DecisionId(self.ids.new()),
            guidance=wish.guidance,
            chosen=wish.chosen,
            redefines=own.definition is not None,
            attempt=plan.attempt + 1,
            superseded_decisions=tuple(d.decision_id for back in (*above, own) for d in back.decisions),
            cancelled_child_plans=tuple(c.plan_id for back in (*above, own) for c in back.children),
            restored_checkpoint=own.target.first_checkpoint_id,
            created_at=self.clock.now(),
        )
        return _Plan(correction=correction, above=tuple(above), own=own)

    def _own(self, run: Run, wish: Wish, decision: Decision, correction_id: CorrectionId) -> _Back:
        plan_id = run.plan.plan_id
        if decision.superseded:
            raise superseded(decision, run.plan)
        with self.database.reading() as db:
            target = db.checkpoints.newest_before(plan_id, decision.seq)
        if target is None:
            raise DecisionOutOfReach(decision_id=decision.decision_id, plan_id=plan_id)
        there = replace(run.plan, definition=self.returns.definition_at(run, target))
        definition = _definition(there, wish, decision, target)
        if definition is None:
            definition = _with_appended_again(run.plan, there, decision, correction_id)
        run.inform(*_steps_between(there, decision, target))
        return self._back(run, target, definition, ())

    def _above(self, run: Run, below: _Back, decision: Decision) -> _Back:
        """Plan the return of a plan to before its child was merged, with the child's new definition."""
        plan_id, child_id = run.plan.plan_id, below.run.plan.plan_id
        with self.database.reading() as db:
            children = [c for c in db.children.list(plan_id) if c.plan.state is not State.CANCELLED]
            child = next(c for c in children if c.plan_id == child_id)
            target = newest_without(db.checkpoints.list(plan_id, superseded=False), child)
            merged_at = _merged_at(db, child)
        if target is None:
            raise DecisionOutOfReach(decision_id=decision.decision_id, plan_id=plan_id)
        there = self.returns.definition_at(run, target)
        at = child.spawn.step_index
        siblings = [c for c in children if c.spawn.step_index == at and c.plan_id != child_id]
        gone = built_on(child, siblings, there.steps[at].action, merged_at)
        spared = (child_id, *(c.plan_id for c in siblings if c not in gone))
        if below.definition is None:
            return self._back(run, target, None, spared)
        changed = with_steps_of_child(there, at, child.name, below.definition.steps)
        if changed is None:
            reason = f"belongs to child plan {child.name!r}, whose steps are set by the tool that spawns it"
            raise NothingToChoose(decision_id=decision.decision_id, reason=reason)
        return self._back(run, target, changed, spared)

    def _back(
        self, run: Run, target: CheckpointGroup, definition: PlanDefinition | None, spared: tuple[PlanId, ...]
    ) -> _Back:
        plan_id, undoing = run.plan.plan_id, self.undos.plan(run, target)
        with self.database.reading() as db:
            children = children_left_behind(db, plan_id, target, unfinished_too=True, spared=spared)
            decisions = decisions_left_behind(db, plan_id, target)
            impact = impact_of(db, plan_id, target, undoing, spared)
        self.children.refuse_busy(children)
        return _Back(
            run=run,
            target=target,
            definition=definition,
            spared=spared,
            decisions=tuple(decisions),
            children=children,
            undoing=undoing,
            impact=impact,
        )


@contextmanager
def _claimed(claim: Claiming, plans: Sequence[PlanId], observer: Observer) -> Generator[list[Run]]:
    with ExitStack() as held:
        yield [held.enter_context(claim(plan_id, observer)) for plan_id in plans]


def _merged_at(db: Transaction, child: Child) -> int:
    events = db.events.list(child.spawn.parent_plan_id)
    merged = (e for e in events if e.type is EventType.SUBPLAN_MERGED and e.data["plan_id"] == child.plan_id)
    return next((e.seq for e in merged), NEVER)


def _definition(plan: Plan, wish: Wish, decision: Decision, target: CheckpointGroup) -> PlanDefinition | None:
    """Return the plan's new definition; None: the one at the target."""
    definition = corrected_plan(plan, wish.corrected, target.step_index) if wish.corrected else None
    if wish.chosen is None:
        return definition
    name = decision.step_name
    if decision.type is DecisionType.USER_INTERVENTION:
        raise NothingToChoose(decision_id=decision.decision_id, reason="records the guidance of a correction")
    chosen = choosing(definition or plan.definition, name, wish.chosen, wish.guidance)
    if chosen is None:
        raise NothingToChoose(
            decision_id=decision.decision_id,
            reason=f"belongs to step {name!r}, which is not a `decision:` step",
        )
    return chosen


def _with_appended_again(
    plan: Plan, there: Plan, decision: Decision, correction_id: CorrectionId
) -> PlanDefinition | None:
    """If the guidance of appended work is taken back, return the plan with that work, for the new guidance."""
    if decision.type is not DecisionType.USER_INTERVENTION:
        return None
    for index, step in enumerate(plan.definition.steps):
        if step.appended and step.name == decision.step_name:
            return with_step(there.definition, index, replace(step, appended=correction_id))
    return None


def _steps_between(plan: Plan, decision: Decision, target: CheckpointGroup) -> list[str]:
    """Report completed steps that run again because no checkpoint is left between them and the decision."""
    names = ", ".join(step.name for step in plan.definition.steps[target.step_index : decision.step_index])
    if not names:
        return []
    return [f"steps before the decision that run again, because no checkpoint is left after them: {names}"]


def _answer(
    planned: _Plan, changes: Changes, before: CheckpointId | None, execution: Execution | None
) -> Corrected:
    run = planned.all[0].run
    left_behind = [decision for back in planned.all for decision in back.decisions]
    return Corrected(
        plan_id=run.plan.plan_id,
        dry_run=before is None,
        correction=correction_view(planned.correction, dry_run=before is None),
        changes_reverted=reverted(changes, run.plan.hidden),
        impact=all_impact([back.impact for back in planned.all]),
        superseded=tuple(f"{d.choice.question} -> {d.choice.chosen} ({d.decision_id})" for d in left_behind),
        pre_rollback_checkpoint=before,
        appended=None,
        execution=execution,
        messages=tuple(run.messages),
    )
