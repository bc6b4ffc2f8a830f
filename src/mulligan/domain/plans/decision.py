"""Decisions: the choices recorded while a plan runs."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.text.ids import DecisionId, PlanId
from mulligan.domain.text.json_value import JsonObject


class DecisionType(StrEnum):
    """The author of a choice."""

    CHOICE = "choice"
    USER_INTERVENTION = "user_intervention"


class Choice(Struct, frozen=True, kw_only=True):
    """A question and its answer, before they are recorded."""

    question: str
    chosen: str
    alternatives: tuple[str, ...]
    rationale: str | None


class Question(Struct, frozen=True, kw_only=True):
    """A choice that waits for a person."""

    question: str
    alternatives: tuple[str, ...] = ()  # the answer is one of them; empty: any text is

    def answered(self, chosen: str, rationale: str | None) -> Choice:
        """Return the choice that an answer makes."""
        others = tuple(other for other in self.alternatives if other != chosen)
        return Choice(question=self.question, chosen=chosen, alternatives=others, rationale=rationale)

    def to_json(self) -> JsonObject:
        """The same as a document."""
        return {"question": self.question, "alternatives": list(self.alternatives)}


class Decision(Struct, frozen=True, kw_only=True):
    """A recorded choice. Decisions form a tree: those of one step hang on its first, which opened the matter."""

    decision_id: DecisionId
    plan_id: PlanId
    seq: int
    line: int
    parent_decision_id: DecisionId | None
    type: DecisionType
    step_index: int
    step_name: str
    choice: Choice
    superseded: bool
    created_at: datetime

    def content(self) -> JsonObject:
        """Return the decision without ids and times, for the plan's state."""
        return {
            "type": self.type.value,
            "step": self.step_name,
            "question": self.choice.question,
            "chosen": self.choice.chosen,
            "alternatives": list(self.choice.alternatives),
            "rationale": self.choice.rationale,
        }
