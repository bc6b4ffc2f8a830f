"""Corrections: one decision changed after the fact, and all that followed from it done once more."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import cast

from msgspec import Struct, convert, json
from msgspec.structs import replace

from mulligan.domain.decision import Choice, Decision, DecisionType
from mulligan.domain.ids import CheckpointId, CorrectionId, DecisionId, PlanId
from mulligan.domain.json_value import JsonObject
from mulligan.domain.plan import PlanDefinition


class CorrectionMode(StrEnum):
    """What becomes of the decision."""

    REVERT = "revert"  # it is taken back, with all that followed from it
    APPEND = "append"  # it stays, and work is added to it


class Correction(Struct, frozen=True, kw_only=True):
    """What a user corrected, and the attempt that began with it."""

    correction_id: CorrectionId
    plan_id: PlanId
    mode: CorrectionMode
    decision_id: DecisionId  # the one that was corrected
    intervention_id: DecisionId  # the one that records the guidance
    guidance: str
    chosen: str | None  # what the `decision:` step chooses instead; None: it was not told
    redefines: bool  # whether it changed the steps: by another choice, or a mended plan file
    attempt: int
    superseded_decisions: tuple[DecisionId, ...]
    cancelled_child_plans: tuple[PlanId, ...]
    restored_checkpoint: CheckpointId
    created_at: datetime

    def to_json(self) -> JsonObject:
        """The same as a document, for what is still to be done."""
        return cast("JsonObject", json.decode(json.encode(self)))

    @classmethod
    def from_json(cls, document: JsonObject) -> "Correction":
        """Read back what `to_json` wrote."""
        return convert(document, cls)


def guidance_of(decisions: Iterable[JsonObject]) -> str:
    """What corrections told the steps to go by: all of it that is live, oldest first, a line each."""
    told = (d["chosen"] for d in decisions if d["type"] == DecisionType.USER_INTERVENTION)
    return "\n".join(str(text) for text in told)


def intervention(correction: Correction, corrected: Decision, line: int) -> Decision:
    """The guidance as a decision: the user's answer to the question that was decided wrongly."""
    return Decision(
        decision_id=correction.intervention_id,
        plan_id=correction.plan_id,
        seq=0,  # given when it is written
        line=line,
        parent_decision_id=None,  # the first live one of its step, when it is written
        type=DecisionType.USER_INTERVENTION,
        step_index=corrected.step_index,
        step_name=corrected.step_name,
        choice=Choice(
            question=corrected.choice.question,
            chosen=correction.guidance,
            alternatives=(corrected.choice.chosen,),
            rationale=None,
        ),
        superseded=False,
        created_at=correction.created_at,
    )


def line_left_behind(
    corrections: Iterable[Correction], decisions: Iterable[Decision], seq: int
) -> int | None:
    """The line that began with the earliest live change of the steps after that moment; None: there is none.

    A return to before a correction takes back what the correction made of the plan.
    """
    redefining = {correction.intervention_id for correction in corrections if correction.redefines}
    begun = (d.line for d in decisions if d.decision_id in redefining and not d.superseded and d.seq > seq)
    return min(begun, default=None)


def choosing(definition: PlanDefinition, step_name: str, chosen: str, guidance: str) -> PlanDefinition | None:
    """The plan with another choice in its `decision:` step of that name; None: it has no such step.

    What was chosen before becomes an alternative, and the guidance the reason.
    """
    for index, step in enumerate(definition.steps):
        if step.name == step_name and isinstance(step.action, Choice):
            before = step.action
            others = dict.fromkeys(o for o in (before.chosen, *before.alternatives) if o != chosen)
            choice = replace(before, chosen=chosen, alternatives=tuple(others), rationale=guidance)
            steps = (*definition.steps[:index], replace(step, action=choice), *definition.steps[index + 1 :])
            return replace(definition, steps=steps)
    return None
