"""Corrects a decision: takes it back with all that followed from it, and runs on with the user's guidance."""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.checkpoint_service import reason_for
from mulligan.application.child_plans import ChildPlans, children_left_behind
from mulligan.application.guards import refuse_ended, refuse_without_checkpoints
from mulligan.application.impact import (
    Impact,
    RevertedChange,
    decisions_left_behind,
    impact_of,
    reverted,
)
from mulligan.application.plan_claims import PlanClaims
from mulligan.application.plan_executor import Execution, PlanExecutor
from mulligan.application.plan_mending import refuse_another_plan
from mulligan.application.queries import CorrectionView, correction_view
from mulligan.application.return_service import Return, ReturnService
from mulligan.application.run import Run
from mulligan.application.settings_source import SettingsSource
from mulligan.application.undo_service import UndoService
from mulligan.domain.checkpoint import CheckpointGroup, CheckpointType
from mulligan.domain.correction import Correction, CorrectionMode, choosing
from mulligan.domain.decision import Decision, DecisionType
from mulligan.domain.ids import CheckpointId, CorrectionId, DecisionId, PlanId
from mulligan.domain.intent import IntentKind
from mulligan.domain.json_value import JsonObject
from mulligan.domain.plan import Plan, PlanDefinition, State
from mulligan.domain.undoing import Undoing
from mulligan.errors import DecisionOutOfReach, DecisionSuperseded, NothingToChoose, UsageWrong
from mulligan.ports import Clock, Database, Ids, Observer


class Wish(Struct, frozen=True, kw_only=True):
    """What a user wants to be corrected, and how."""

    decision: str  # its id, or a unique prefix
    guidance: str
    chosen: str | None  # what its `decision:` step shall choose instead
    mended: PlanDefinition | None  # whose steps replace those from the restored one on
    execute: bool  # whether the plan runs on


class Corrected(Struct, frozen=True, kw_only=True):
    """A correction, done or as it would be done, and what became of the plan."""

    plan_id: PlanId
    dry_run: bool
    correction: CorrectionView
    changes_reverted: tuple[RevertedChange, ...]
    impact: Impact
    superseded: tuple[str, ...]  # the decisions that are left behind, in words
    pre_rollback_checkpoint: CheckpointId | None  # what keeps the earlier attempt; None: a dry run
    execution: Execution | None  # None: the plan did not run on
    messages: tuple[str, ...]


class _Plan(Struct, frozen=True, kw_only=True):
    """What is to be done."""

    correction: Correction
    target: CheckpointGroup
    definition: PlanDefinition | None
    undoing: Undoing
    impact: Impact
    superseded: tuple[str, ...]


class CorrectionService:
    """Reverts decisions, on top of the return that a rollback is."""

    def __init__(
        self,
        *,
        database: Database,
        claims: PlanClaims,
        manager: CheckpointManager,
        returns: ReturnService,
        undos: UndoService,
        children: ChildPlans,
        executor: PlanExecutor,
        settings: SettingsSource,
        ids: Ids,
        clock: Clock,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._claims = claims
        self._manager = manager
        self._returns = returns
        self._undos = undos
        self._children = children
        self._executor = executor
        self._settings = settings
        self._ids = ids
        self._clock = clock

    def preview(self, wish: Wish, observer: Observer) -> Corrected:
        """What a correction would supersede, restore and be unable to undo; guards and damage are found here too."""
        with self._claims.look(self._plan_of(wish), observer) as run:
            planned = self._planned(run, wish)
            changes = self._manager.compare(run, planned.target)
            with self._database.reading() as db:
                unfinished = any("target" in intent.data for intent in db.intents.list(run.plan.plan_id))
            if unfinished:
                run.told.append("a return that was cut off would be finished first")
            return _answer(run, planned, changes, None, None)

    def revert(self, wish: Wish, observer: Observer) -> Corrected:
        """Take the decision back with all that followed from it, record the guidance, and run on."""
        with self._claims.open(self._plan_of(wish), observer) as run:
            with self._manager.watch(run):
                planned = self._planned(run, wish)
                self._manager.compare(run, planned.target)  # finds damage before anything is touched
                self._undos.refuse_where_impossible(planned.undoing)
                wanted = Return(
                    kind=IntentKind.CORRECTION,
                    target=planned.target,
                    spare=None,
                    ends_children=True,
                    state=State.QUEUED,
                    failure=None,
                    log=_told(planned.correction),
                    correction=planned.correction,
                    definition=planned.definition,
                )
                kept = reason_for(CheckpointType.PRE_ROLLBACK, {"reason": "correction"}, between_steps=False)
                returned = self._returns.go(run, wanted, kept)
            planned = replace(planned, impact=replace(planned.impact, undo_failed=returned.not_undone))
            execution = self._executor.run_on(run) if wish.execute else None
            before = returned.before.first_checkpoint_id if returned.before else None
            return _answer(run, planned, returned.changes, before, execution)

    def _plan_of(self, wish: Wish) -> PlanId:
        for name, text in (("guidance", wish.guidance), ("choice", wish.chosen)):
            if text is not None and (problem := _text_problem(text)):
                raise UsageWrong(reason=f"the {name} {problem}", hint="give it as text, in one argument")
        with self._database.reading() as db:
            return db.decisions.resolve(wish.decision).plan_id

    def _planned(self, run: Run, wish: Wish) -> _Plan:
        """What is to be done, where nothing stands against it; every refusal is here."""
        refuse_ended(run.plan)
        refuse_without_checkpoints(run.plan)
        plan_id = run.plan.plan_id
        with self._database.reading() as db:
            decision = db.decisions.resolve(wish.decision)
            if decision.superseded:
                raise DecisionSuperseded(decision_id=decision.decision_id, plan_id=plan_id)
            target = db.checkpoints.newest_before(plan_id, decision.seq)
            if target is None:
                raise DecisionOutOfReach(decision_id=decision.decision_id, plan_id=plan_id)
            left_behind = decisions_left_behind(db, plan_id, target)
            children = children_left_behind(db, plan_id, target, unfinished_too=True)
        self._children.refuse_busy(children)
        there = replace(run.plan, definition=self._returns.definition_at(run, target))
        definition = _definition(there, wish, decision, target)
        if wish.execute or definition is not None:
            becomes = definition or there.definition
            self._executor.check(run, becomes, self._settings.for_plan(becomes.config))
        undoing = self._undos.plan(run, target)
        with self._database.reading() as db:
            impact = impact_of(db, plan_id, target, undoing)
        run.told += _steps_between(there, decision, target)
        correction = Correction(
            correction_id=CorrectionId(self._ids.new()),
            plan_id=plan_id,
            mode=CorrectionMode.REVERT,
            decision_id=decision.decision_id,
            intervention_id=DecisionId(self._ids.new()),
            guidance=wish.guidance,
            chosen=wish.chosen,
            redefines=definition is not None,
            attempt=run.plan.attempt + 1,
            superseded_decisions=tuple(d.decision_id for d in left_behind),
            cancelled_child_plans=tuple(child.plan_id for child in children),
            restored_checkpoint=target.first_checkpoint_id,
            created_at=self._clock.now(),
        )
        return _Plan(
            correction=correction,
            target=target,
            definition=definition,
            undoing=undoing,
            impact=impact,
            superseded=tuple(
                f"{d.choice.question} -> {d.choice.chosen} ({d.decision_id})" for d in left_behind
            ),
        )


def _text_problem(text: str) -> str | None:
    if not text.strip():
        return "is empty"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds bytes that are not UTF-8"
    return None


def _definition(plan: Plan, wish: Wish, decision: Decision, target: CheckpointGroup) -> PlanDefinition | None:
    """What the plan is to become; None: what it was at the target."""
    definition = wish.mended
    if definition is not None:
        refuse_another_plan(plan, definition, target.step_index)
    if wish.chosen is None:
        return definition
    name = decision.step_name
    if decision.type is DecisionType.USER_INTERVENTION:
        raise NothingToChoose(decision_id=decision.decision_id, reason="records the guidance of a correction")
    chosen = choosing(definition or plan.definition, name, wish.chosen, wish.guidance)
    if chosen is None:
        raise NothingToChoose(
            decision_id=decision.decision_id, reason=f"belongs to step {name!r}, which is no `decision:` step"
        )
    return chosen


def _steps_between(plan: Plan, decision: Decision, target: CheckpointGroup) -> list[str]:
    """Which completed steps before the decision run again: no checkpoint is left between them and it."""
    names = ", ".join(step.name for step in plan.definition.steps[target.step_index : decision.step_index])
    if not names:
        return []
    return [f"steps before the decision that run again, because no checkpoint is left after them: {names}"]


def _told(correction: Correction) -> JsonObject:
    """What the log says of a correction, beside where it went back to."""
    return {
        "correction_id": correction.correction_id,
        "mode": correction.mode.value,
        "decision_id": correction.decision_id,
        "guidance": correction.guidance,
        "chosen": correction.chosen,
        "attempt": correction.attempt,
    }


def _answer(
    run: Run,
    planned: _Plan,
    changes: Changes,
    before: CheckpointId | None,
    execution: Execution | None,
) -> Corrected:
    return Corrected(
        plan_id=run.plan.plan_id,
        dry_run=before is None,
        correction=correction_view(planned.correction, dry_run=before is None),
        changes_reverted=reverted(changes),
        impact=planned.impact,
        superseded=planned.superseded,
        pre_rollback_checkpoint=before,
        execution=execution,
        messages=tuple(run.told),
    )
