"""Answers the question that a plan waits with, and continues the plan."""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.corrections.correction_result import refuse_text
from mulligan.application.plans.guards import not_ready, refuse_ended
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.plans.plan_resume import PlanResumeService
from mulligan.application.runs.execute_phase import ExecutePhase
from mulligan.application.runs.plan_executor import Execution, PlanExecutor
from mulligan.application.runs.run import Run
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.step import Step, question_step
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.names import nearest_word
from mulligan.errors import Advice, AnswerUnknown, NextStep
from mulligan.ports import Observer


class AnswerService(Struct, kw_only=True, frozen=True, eq=False):
    """Records what people decide."""

    claims: PlanClaims
    manager: CheckpointManager
    resumes: PlanResumeService
    phase: ExecutePhase
    executor: PlanExecutor

    def answer(self, plan_id: PlanId, chosen: str, rationale: str | None, observer: Observer) -> Execution:
        """Record the answer as a decision with its group, then run the plan on.

        The group holds the sandboxes as they are: what was edited while the plan waited is kept in it.
        """
        refuse_text("choice", chosen)
        refuse_text("rationale", rationale)
        with self.claims.open(plan_id, observer) as run:
            question = _asked(run)
            _refuse_unknown(run, question, chosen)
            self.resumes.refuse_where_impossible(run)
            self.executor.check(run, run.plan.definition, run.settings)
            with self.manager.watch(run):
                self.phase.answer(run, _step(run, question), question.answered(chosen, rationale))
            return self.executor.run_on(run)


def _asked(run: Run) -> Question:
    refuse_ended(run.plan)
    if run.plan.question is None:
        hint = Advice(NextStep("status", plan=run.plan.handle), " says what it waits for")
        raise not_ready(run.plan, "it does not wait for an answer", hint)
    return run.plan.question


def _refuse_unknown(run: Run, question: Question, chosen: str) -> None:
    known: Sequence[str] = question.alternatives
    if known and chosen not in known:
        near = nearest_word(chosen, known) or ...
        raise AnswerUnknown(
            plan_id=run.plan.plan_id,
            question=question.question,
            answer=chosen,
            alternatives=list(known),
            known=", ".join(known),
            hint=Advice("answer with ", NextStep("answer", plan=run.plan.handle, choice=near)),
        )


def _step(run: Run, question: Question) -> Step:
    """Return the step that asks; a session asks between its steps, and the decision is called after the question."""
    if not run.plan.definition.session:
        return run.plan.definition.steps[run.step_index]
    return question_step(question.question)
