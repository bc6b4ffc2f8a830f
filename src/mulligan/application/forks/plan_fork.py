"""Forks a plan: a new one that starts from one of its checkpoint groups.

The rows of the fork come first; its sandboxes are made as those of any plan are: intent, folders, rows; its first group
records that it is complete. A killed process leaves a plan without a group: resume finishes it, and the next fork
removes it.
"""

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.new_plans import add_plan, new_plan
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_removal import PlanRemovalService
from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.rollback.return_service import recorded_definition, steps_done_at
from mulligan.application.runs.commit import write_records
from mulligan.application.runs.run import Run
from mulligan.application.runs.run_stages import RunStages
from mulligan.application.sandboxes.fork_sources import ForkSources
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.history.finished import FINISHED, definition_at, state_at
from mulligan.domain.history.lines import FIRST_LINE, is_live, live_segments
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.fork import Fork, forked_definition
from mulligan.domain.plans.plan import Phase, Plan, PlanDefinition, State
from mulligan.domain.plans.step import StepStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import DecisionId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.text.names import plan_name_problem
from mulligan.domain.variants.variant_plan import variants_of
from mulligan.errors import (
    Advice,
    CheckpointForeign,
    CheckpointNotATarget,
    CheckpointNotFound,
    MulliganError,
    NextStep,
    UsageWrong,
)
from mulligan.ports import Clock, Ids, Locks, Observer, Toolbox
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class PlanForkService(Struct, kw_only=True, frozen=True, eq=False):
    """Makes forks."""

    database: Database
    claims: PlanClaims
    locks: Locks
    settings: SettingsSource
    sandboxes: SandboxService
    forks: ForkSources
    stages: RunStages
    manager: CheckpointManager
    checkpoints: CheckpointService
    plan_removals: PlanRemovalService
    toolbox: Toolbox
    ids: Ids
    clock: Clock

    def fork(self, plan_id: PlanId, word: str | None, name: str | None, observer: Observer) -> PlanId:
        """Make a plan that starts from a group of this one; without a word from where a resume would go on.

        The plan that is forked may be running, and is left alone.
        """
        if name is not None and (problem := plan_name_problem(name)):
            raise UsageWrong(reason=f"the name {name!r} {problem}", hint="choose another name")
        self._remove_unfinished(observer)
        fork = PlanId(self.ids.new())
        with self.database.reading() as db:
            plan, _ = self._forked(db, fork, db.plans.get(plan_id), word, name)
        self.sandboxes.check(plan.definition, self.settings.for_plan(plan.definition.config))
        with act("plan.fork"), self.database.writing() as db:
            origin = db.plans.get(plan_id)
            plan, group = self._forked(
                db, fork, origin, word, name
            )  # again: it may have been pruned meanwhile
            add_plan(db, plan)
            self._carry_over(db, plan, origin, group)
        try:
            with self.claims.open(fork, observer) as run:
                self.stages.start(run)
                with self.manager.watch(run):
                    self._settle(run)
        except (MulliganError, KeyboardInterrupt):
            self.plan_removals.remove([fork], observer)
            raise
        finally:
            self.toolbox.forget_processes()
        return fork

    def _settle(self, run: Run) -> None:
        """Take the first group of a fork, with which it comes to rest."""
        origin = run.plan.definition.fork
        assert origin is not None, "only forks are settled"
        with self.database.reading() as db:
            group = db.checkpoints.get(origin.group_id)
        # Only the program of a session knows whether it has more to do.
        is_done = not run.plan.definition.session and state_at(run.plan.definition, group) is State.COMPLETE
        finished: JsonObject = {FINISHED: True} if is_done else {}
        metadata: JsonObject = {"forked_from": origin.word, **finished}
        reason = reason_for(CheckpointType.PRE_EXECUTE, metadata, between_steps=True)
        state = State.COMPLETE if is_done else State.QUEUED
        becomes = run.progressed().moved_to(Phase.EXECUTE, state, self.clock.now())
        self.checkpoints.create_checkpoint(run, reason, becomes=becomes)

    def _forked(
        self, db: Transaction, plan_id: PlanId, origin: Plan, word: str | None, name: str | None
    ) -> tuple[Plan, CheckpointGroup]:
        """Return the fork, not recorded yet, and the group that it starts from."""
        definition, group = self.definition_of(db, origin, word, name)
        return new_plan(plan_id, definition, None, group.state, self.clock.now()), group

    def definition_of(
        self, db: Transaction, origin: Plan, word: str | None, name: str | None
    ) -> tuple[PlanDefinition, CheckpointGroup]:
        """Return the definition of a fork, and the group that it starts from."""
        group = _group(db, origin, word)
        fork = Fork(
            plan_id=origin.plan_id, handle=origin.handle, group_id=group.group_id, number=group.number
        )
        sources = self.forks.of_group(db, fork).sources.values()
        in_place = {s.sandbox.resource for s in sources if s.sandbox.strategy is Strategy.IN_PLACE}
        there = definition_at(recorded_definition(db, origin, group), group)
        return forked_definition(there, fork, name, in_place), group

    def _carry_over(self, db: Transaction, plan: Plan, origin: Plan, group: CheckpointGroup) -> None:
        """Record the steps and decisions that the fork starts with."""
        there = replace(origin, definition=plan.definition)
        steps = [
            replace(step, status=StepStatus.PENDING, duration_ms=None)
            if step.index >= group.step_index
            else step
            for step in steps_done_at(db, there, group)
        ]
        db.steps.replace(plan.plan_id, 0, steps)
        segments = live_segments(db.history.lines(origin.plan_id), group.line, group.seq)
        known: dict[DecisionId, DecisionId] = {}
        copies: list[Decision] = []
        for decision in db.decisions.list(origin.plan_id):
            if is_live(segments, decision.line, decision.seq):
                known[decision.decision_id] = DecisionId(self.ids.new())
                parent = decision.parent_decision_id
                copies.append(
                    replace(
                        decision,
                        decision_id=known[decision.decision_id],
                        plan_id=plan.plan_id,
                        line=FIRST_LINE,
                        parent_decision_id=known.get(parent) if parent else None,
                        superseded=False,
                    )
                )
        write_records(db, plan.plan_id, *copies)

    def _remove_unfinished(self, observer: Observer) -> None:
        """Remove forks that killed processes left without a group."""
        with self.database.reading() as db:
            begun = [
                plan.plan_id
                for plan in db.plans.without_group()
                if plan.definition.fork and not variants_of(plan.definition)  # which a resume runs
            ]
        for plan_id in begun:
            if self.locks.holder(plan_id) is None:
                self.plan_removals.remove([plan_id], observer)


def _group(db: Transaction, origin: Plan, word: str | None) -> CheckpointGroup:
    plan_id = origin.plan_id
    if word is None:
        found = db.checkpoints.newest_between_steps(plan_id)
        if found is None:
            hint = Advice("a plan has its first checkpoint once it runs: ", NextStep("execute", plan=plan_id))
            raise CheckpointNotFound(wanted=origin.handle, hint=hint)
        return found
    group = db.checkpoints.resolve(word, plan_id).group
    if group.plan_id != plan_id:
        raise CheckpointForeign(checkpoint_id=word, owner=group.plan_id, plan_id=plan_id)
    if not group.reason.is_of_sandboxes:
        raise CheckpointNotATarget(
            checkpoint_id=word, checkpoint_type=group.reason.type.value, plan_id=plan_id
        )
    return group
