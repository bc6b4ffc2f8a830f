"""Rows of corrections, of decisions by id, and of what a plan was on earlier lines."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.db.database import SqliteDatabase
from mulligan.domain.history.correction import Correction
from mulligan.domain.history.lines import Line
from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.plans.intent import CorrectionWork, Intent
from mulligan.domain.plans.plan import State
from mulligan.domain.text.ids import CorrectionId, DecisionId, GroupId, IntentId, PlanId
from mulligan.errors import Ambiguous, CorrectionNotFound, DecisionNotFound
from tests.unit.domain.test_correction import CORRECTION
from tests.unit.examples import NOON, a_definition, a_group, a_plan

PLAN = PlanId("01K00000000000000000000001")
DECISIONS = [DecisionId(f"01K0000000000000000000{n}000") for n in range(1, 4)]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "mulligan.db")
    with database.writing() as db:
        db.plans.add(a_plan())
        db.history.start(PLAN, Line(line=1, parent_line=None, fork_seq=0))
        for seq, decision_id in enumerate(DECISIONS, start=1):
            db.decisions.add(_a_decision(decision_id, seq))
    yield database
    database.close()


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


def test_corrections_come_back_in_the_order_of_their_attempts(database: SqliteDatabase) -> None:
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


def test_a_decision_is_found_by_its_id_or_a_prefix(database: SqliteDatabase) -> None:
    with database.reading() as db:
        assert db.decisions.resolve(DECISIONS[1]) == db.decisions.list(PLAN)[1]
        assert db.decisions.resolve(DECISIONS[2][:-2].lower()).decision_id == DECISIONS[2]
        with pytest.raises(Ambiguous) as refusal:
            db.decisions.resolve(DECISIONS[0][:8])
        assert all(decision_id in refusal.value.text for decision_id in DECISIONS)
        for word in ("01Z000", "latest", "\udcff", "%"):
            with pytest.raises(DecisionNotFound):
                db.decisions.resolve(word)


def test_the_place_to_go_back_to_is_the_newest_live_group_between_steps_before(
    database: SqliteDatabase,
) -> None:
    groups = [f"01K000000000000000000000{n}1" for n in range(1, 5)]
    with database.writing() as db:
        for number, (group, between) in enumerate(zip(groups, (True, True, False, True), strict=True), 1):
            db.checkpoints.add(a_group(PLAN, group, 10 * number, between_steps=between))
    with database.reading() as db:
        places = {seq: db.checkpoints.newest_before(PLAN, seq) for seq in (10, 11, 35, 41)}
        last = db.checkpoints.last_of_attempt(PLAN, 1)
        assert db.checkpoints.last_of_attempt(PLAN, 2) is None
    found = {seq: group.group_id if group else None for seq, group in places.items()}
    assert found == {10: None, 11: groups[0], 35: groups[1], 41: groups[3]}
    assert last is not None
    assert last.group_id == groups[3]


def test_what_a_plan_was_is_known_for_every_line(database: SqliteDatabase) -> None:
    plans = [replace(a_plan(), definition=replace(a_definition(), description=d)) for d in "ABCD"]
    with database.writing() as db:
        original = db.plans.get(PLAN).definition
        db.plans.redefine(replace(plans[0], line=1))  # mended on its first line: nothing lies before
        db.plans.redefine(replace(plans[1], line=3))  # a correction, or mended after two returns
        db.plans.redefine(replace(plans[2], line=3))  # mended once more
        db.plans.redefine(replace(plans[3], line=5))
    with database.reading() as db:
        known = [db.plans.definition_on(PLAN, line).description for line in range(1, 7)]
    assert original.description == ""
    assert known == ["A", "A", "C", "C", "D", "D"]


@pytest.mark.parametrize(
    "correction", [CORRECTION, replace(CORRECTION, chosen=None, superseded_decisions=())], ids=["all", "some"]
)
def test_an_intent_keeps_the_correction_and_what_the_plan_is_to_become(
    database: SqliteDatabase, correction: Correction
) -> None:
    intent = Intent(
        intent_id=IntentId("i"),
        plan_id=PLAN,
        work=CorrectionWork(target=GroupId("g"), state=State.QUEUED, log={}, correction=correction),
        created_at=NOON,
        definition=a_definition("other"),
    )
    with database.writing() as db:
        db.intents.add(intent)
    with database.reading() as db:
        assert db.intents.list(PLAN) == [intent]
