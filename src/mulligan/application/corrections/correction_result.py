"""The answer of a correction, and what both modes share."""

from msgspec import Struct

from mulligan.application.queries.plan_queries import CorrectionView
from mulligan.application.rollback.impact import Impact, RevertedChange
from mulligan.application.runs.plan_executor import Execution
from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.plan import Plan
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import Advice, DecisionSuperseded, NextStep, UsageWrong


class Appended(Struct, frozen=True, kw_only=True):
    """The work that a correction appended, or would append."""

    step: str  # the one that is added to the plan
    step_index: int
    child_plan: str  # its name
    child_plan_id: PlanId | None  # None: it has not begun
    steps: tuple[str, ...]  # of the child plan


class Corrected(Struct, frozen=True, kw_only=True):
    """A correction, done or previewed, and its effect on the plan."""

    plan_id: PlanId  # the one that continues: the topmost above the decision
    dry_run: bool
    correction: CorrectionView
    changes_reverted: tuple[RevertedChange, ...]
    impact: Impact
    superseded: tuple[str, ...]  # descriptions of superseded decisions
    pre_rollback_checkpoint: CheckpointId | None  # holds the earlier attempt; None: nothing went back
    appended: Appended | None  # None: the decision was taken back
    execution: Execution | None  # None: the plan did not continue
    messages: tuple[str, ...]


def refuse_text(name: str, text: str | None) -> None:
    """Refuse a text that is empty or not UTF-8."""
    problem = "is empty" if text is not None and not text.strip() else None
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        problem = "holds bytes that are not UTF-8"
    if problem:
        raise UsageWrong(reason=f"the {name} {problem}", hint="give it as text, in one argument")


def superseded(decision: Decision, plan: Plan) -> DecisionSuperseded:
    """Return the error for a decision that is not live; the correction that left it behind may not have run on yet."""
    facts = {"decision_id": decision.decision_id, "plan_id": plan.plan_id}
    if plan.is_executed or plan.is_final:
        return DecisionSuperseded(**facts)
    rest = Advice(
        "; a correction that has just finished continues with ", NextStep("resume", plan=plan.plan_id)
    )
    return DecisionSuperseded(hint=Advice(DecisionSuperseded.usual_advice(**facts), rest), **facts)


def log_of(correction: Correction) -> JsonObject:
    """Return the data of a correction's log entry, except for its position."""
    return {
        "correction_id": correction.correction_id,
        "mode": correction.mode.value,
        "decision_id": correction.decision_id,
        "guidance": correction.guidance,
        "chosen": correction.chosen,
        "attempt": correction.attempt,
    }
