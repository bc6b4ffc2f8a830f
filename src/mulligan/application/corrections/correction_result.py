"""The answer of a correction, whichever way it goes, and what both ways have in common."""

from msgspec import Struct

from mulligan.application.queries.plan_queries import CorrectionView
from mulligan.application.rollback.impact import Impact, RevertedChange
from mulligan.application.runs.plan_executor import Execution
from mulligan.domain.history.correction import Correction
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import UsageWrong


class Appended(Struct, frozen=True, kw_only=True):
    """The work that a correction appended, or would."""

    step: str  # the one that is added to the plan
    step_index: int
    child_plan: str  # its name
    child_plan_id: PlanId | None  # None: it has not begun
    steps: tuple[str, ...]  # of the child plan


class Corrected(Struct, frozen=True, kw_only=True):
    """A correction, done or as it would be done, and what became of the plan."""

    plan_id: PlanId  # the one that runs on: of a decision of a child plan that above it
    dry_run: bool
    correction: CorrectionView
    changes_reverted: tuple[RevertedChange, ...]
    impact: Impact
    superseded: tuple[str, ...]  # the decisions that are left behind, in words
    pre_rollback_checkpoint: CheckpointId | None  # what keeps the earlier attempt; None: nothing went back
    appended: Appended | None  # None: the decision was taken back
    execution: Execution | None  # None: the plan did not run on
    messages: tuple[str, ...]


def refuse_text(name: str, text: str | None) -> None:
    """Refuse words that nobody could go by."""
    problem = None if text is None else _problem(text)
    if problem:
        raise UsageWrong(reason=f"the {name} {problem}", hint="give it as text, in one argument")


def _problem(text: str) -> str | None:
    if not text.strip():
        return "is empty"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds bytes that are not UTF-8"
    return None


def told_of(correction: Correction) -> JsonObject:
    """What the log says of a correction, beside where it began."""
    return {
        "correction_id": correction.correction_id,
        "mode": correction.mode.value,
        "decision_id": correction.decision_id,
        "guidance": correction.guidance,
        "chosen": correction.chosen,
        "attempt": correction.attempt,
    }
