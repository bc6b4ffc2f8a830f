"""Corrections, and decisions by their ids."""

import pytest
from msgspec.structs import replace

from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.text.ids import CorrectionId, DecisionId, PlanId
from mulligan.errors import Ambiguous, CorrectionNotFound, DecisionNotFound
from mulligan.rows.database import Database
from tests.unit.domain.test_correction import CORRECTION
from tests.unit.examples import NOON

PLAN = PlanId("01K00000000000000000000001")


DECISIONS = [DecisionId(f"01K0000000000000000000{n}000") for n in range(1, 4)]


@pytest.fixture
def database(database: Database) -> Database:
    with database.writing() as db:
        for seq, decision_id in enumerate(DECISIONS, start=1):
            db.decisions.add(_a_decision(decision_id, seq))
    return database


def _a_decision(decision_id: DecisionId, seq: int) -> Decision:
    return Decision(
        decision_id=decision_id,
        plan_id=PLAN,
        seq=seq,
        line=1,
        parent_decision_id=None,
        type=DecisionType.CHOICE,
        step_index=seq,
        step_name="choose",
        choice=Choice(question="Which?", chosen="lark", alternatives=(), rationale=None),
        superseded=False,
        created_at=NOON,
    )


def test_corrections_come_back_in_the_order_of_their_attempts(database: Database) -> None:
    ids = [CorrectionId(f"01K000000000000000000000C{n}") for n in range(1, 3)]
    made = [
        replace(
            CORRECTION,
            correction_id=id,
            plan_id=PLAN,
            attempt=attempt,
            decision_id=DECISIONS[0],
            intervention_id=DECISIONS[attempt - 1],
            chosen=chosen,
        )
        for id, attempt, chosen in ((ids[1], 3, None), (ids[0], 2, "ply"))
    ]
    with database.writing() as db:
        for correction in made:
            db.corrections.add(correction)
    with database.reading() as db:
        assert db.corrections.list(PLAN) == made[::-1]
        assert db.corrections.list(PlanId("another")) == []
        assert db.corrections.resolve(ids[1].lower()) == made[0]
        with pytest.raises(Ambiguous) as refusal:
            db.corrections.resolve(ids[0][:-1])
        assert ids[0] in refusal.value.text
        for word in ("01Z000", "no id", ""):
            with pytest.raises(CorrectionNotFound):
                db.corrections.resolve(word)


def test_a_decision_is_found_by_its_id_or_a_prefix(database: Database) -> None:
    with database.reading() as db:
        assert db.decisions.resolve(DECISIONS[1]) == db.decisions.list(PLAN)[1]
        assert db.decisions.resolve(DECISIONS[2][:-2].lower()).decision_id == DECISIONS[2]
        with pytest.raises(Ambiguous) as refusal:
            db.decisions.resolve(DECISIONS[0][:8])
        assert all(decision_id in refusal.value.text for decision_id in DECISIONS)
        for word in ("01Z000", "latest", "\udcff", "%"):
            with pytest.raises(DecisionNotFound):
                db.decisions.resolve(word)
