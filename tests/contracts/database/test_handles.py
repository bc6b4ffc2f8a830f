"""Plans go by handles, groups by numbers, decisions and corrections by both."""

import pytest
from msgspec.structs import replace

from mulligan.domain.plans.decision import Choice, Decision, DecisionType
from mulligan.domain.text.ids import DecisionId, PlanId
from mulligan.errors import Ambiguous, CheckpointNotFound, DecisionNotFound, PlanNotFound
from mulligan.rows.database import Database
from tests.unit.examples import NOON, a_group, a_plan

PLAN = PlanId("01K00000000000000000000001")
OTHER = PlanId("01K00000000000000000000002")
CHILD = PlanId("01K00000000000000000000003")


def named(plan_id: str, name: str, handle: str, parent: PlanId | None = None):
    return replace(a_plan(plan_id, name), handle=handle, parent_plan_id=parent)


def a_decision(
    number: int,
    plan_id: PlanId,
    step: str,
    *,
    superseded: bool = False,
    type: DecisionType = DecisionType.CHOICE,
) -> Decision:
    return Decision(
        decision_id=DecisionId(f"01KD{number:022}"),
        plan_id=plan_id,
        seq=number,
        line=1,
        parent_decision_id=None,
        type=type,
        step_index=number,
        step_name=step,
        choice=Choice(question="Which?", chosen="this", alternatives=(), rationale=None),
        superseded=superseded,
        created_at=NOON,
    )


@pytest.fixture
def filled(empty: Database) -> Database:
    with empty.writing() as db:
        db.plans.add(named(PLAN, "Tune", "tune"))
        db.plans.add(named(OTHER, "Tune", "tune-2"))
        db.plans.add(named(CHILD, "docs", "tune.docs", PLAN))
        for number in (1, 2, 4):
            db.checkpoints.add(a_group(PLAN, f"01KG0000000000000000000{number}00", number))
        db.checkpoints.add(a_group(PLAN, "01KG0000000000000000000500", 5, superseded=True))
        db.checkpoints.add(a_group(OTHER, "01KG0000000000000000000600", 1))
        db.decisions.add(a_decision(1, PLAN, "pick"))
        db.decisions.add(a_decision(2, PLAN, "again", superseded=True))
        db.decisions.add(a_decision(3, PLAN, "again"))
        db.decisions.add(a_decision(4, OTHER, "twice"))
        db.decisions.add(a_decision(5, OTHER, "twice"))
    return empty


@pytest.mark.parametrize(
    ("name", "parent", "handle"),
    [
        ("new", None, "new"),
        ("TUNE", None, "tune-3"),
        ("docs", PLAN, "tune.docs-2"),
        ("docs", OTHER, "tune-2.docs"),
    ],
)
def test_a_new_plan_gets_the_first_free_handle(
    filled: Database, name: str, parent: PlanId | None, handle: str
) -> None:
    with filled.reading() as db:
        assert db.plans.free_handle(named("01K00000000000000000000009", name, "", parent)) == handle


def test_a_plan_is_found_by_its_handle(filled: Database) -> None:
    with filled.reading() as db:
        assert db.plans.resolve("tune").plan_id == PLAN
        assert db.plans.resolve("tune-2").plan_id == OTHER
        assert db.plans.resolve("tune.docs").plan_id == CHILD
        assert db.plans.resolve("docs").plan_id == CHILD, "by its name, where that is unique"
        with pytest.raises(PlanNotFound):
            db.plans.resolve("tune-3")
        with pytest.raises(Ambiguous) as several:
            db.plans.resolve("Tune")
    assert "tune is strategize/complete; tune-2 is strategize/complete" in several.value.next_step


@pytest.mark.parametrize(
    ("word", "plan_id", "seq"),
    [
        ("@1", PLAN, 1),
        ("@4", PLAN, 4),
        ("@5", PLAN, 5),  # left behind, and not out of reach
        ("@-1", PLAN, 4),
        ("@-3", PLAN, 1),
        ("tune@2", None, 2),
        ("tune@2", OTHER, 2),
        ("@1", None, 1),
    ],
)
def test_a_group_is_found_by_its_number(
    filled: Database, word: str, plan_id: PlanId | None, seq: int
) -> None:
    with filled.reading() as db:
        found = db.checkpoints.resolve(word, plan_id)
    assert (found.group.seq, found.checkpoint) == (seq, None)


@pytest.mark.parametrize("word", ["@3", "@6", "@-4", "tune-2@2"])
def test_a_number_without_a_group(filled: Database, word: str) -> None:
    with filled.reading() as db, pytest.raises(CheckpointNotFound):
        db.checkpoints.resolve(word, PLAN)


def test_a_number_of_a_plan_that_is_not_there(filled: Database) -> None:
    with filled.reading() as db, pytest.raises(PlanNotFound):
        db.checkpoints.resolve("tuna@1", PLAN)


def test_a_label_that_looks_like_a_number_is_still_a_label(filled: Database) -> None:
    with filled.writing() as db:
        db.checkpoints.add(a_group(PLAN, "01KG0000000000000000000700", 7, label="tune@1"))
        assert db.checkpoints.resolve("tune@1", PLAN).group.seq == 7


@pytest.mark.parametrize(
    ("word", "number"),
    [("tune/d1", 1), ("tune/d3", 3), ("pick", 1), ("again", 3), ("tune/pick", 1), ("tune-2/d2", 5)],
)
def test_a_decision_is_found_by_number_and_step(filled: Database, word: str, number: int) -> None:
    with filled.reading() as db:
        assert db.decisions.resolve(word).seq == number


@pytest.mark.parametrize("word", ["tune/d0", "tune/d4", "tune/none", "none"])
def test_no_such_decision(filled: Database, word: str) -> None:
    with filled.reading() as db, pytest.raises(DecisionNotFound):
        db.decisions.resolve(word)


def test_several_decisions_of_one_step(filled: Database) -> None:
    with filled.reading() as db, pytest.raises(Ambiguous):
        db.decisions.resolve("twice")


def test_a_corrected_step_means_what_it_decided_last_not_the_guidance(filled: Database) -> None:
    guidance = DecisionType.USER_INTERVENTION
    with filled.writing() as db:
        for number in range(10, 22):
            db.decisions.add(a_decision(number, OTHER, "corrected", type=guidance))
        db.decisions.add(a_decision(22, OTHER, "corrected"))
        for word in ("corrected", "tune-2/corrected"):
            assert db.decisions.resolve(word).seq == 22


def test_a_step_that_has_guidance_only_means_that(filled: Database) -> None:
    with filled.writing() as db:
        db.decisions.add(a_decision(10, OTHER, "guided", type=DecisionType.USER_INTERVENTION))
        assert db.decisions.resolve("guided").seq == 10
