"""Plans come back as they went in, and are found by what users call them."""

import pytest
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE, PlanState
from mulligan.domain.plans.plan import Phase, PlanFailure, State
from mulligan.domain.text.ids import PlanId
from mulligan.errors import Ambiguous, PlanNotFound
from mulligan.rows.database import Database
from mulligan.rows.tables.plan_rows import Counters
from tests.unit.examples import a_definition, a_plan

PLAN = PlanId("01K00000000000000000000001")


OTHER = PlanId("01K00000000000000000000002")


def test_a_plan_comes_back_as_it_went_in(database: Database) -> None:
    with database.reading() as db:
        assert db.plans.get(PLAN) == a_plan(PLAN)


def test_where_a_plan_stands_is_saved(database: Database) -> None:
    state = PlanState(
        step_index=2, outputs={"a": {"x": [1, None]}}, memory={"k": "v"}, decisions=({"q": "?"},)
    )
    failure = PlanFailure(message="m", step="s", tool=None, checkpoint="c")
    saved = replace(
        a_plan(PLAN),
        phase=Phase.EXECUTE,
        state=State.ERRORED,
        progress=state,
        failure=failure,
        messages=("cannot hold \udcff",),
    )
    with database.writing() as db:
        db.plans.save(saved)
    with database.reading() as db:
        assert db.plans.get(PLAN) == saved


def test_a_child_plan_starts_with_long_outputs_of_its_parent(database: Database) -> None:
    child = replace(a_plan(OTHER), progress=replace(EMPTY_STATE, outputs={"long": "x" * 10_000}))
    with database.writing() as db:
        db.plans.add(child)
        assert db.plans.get(OTHER) == child


def test_a_plan_keeps_the_last_of_its_sequence_numbers(database: Database) -> None:
    with database.writing() as db:
        assert db.plans.counters(PLAN) == Counters(seq=0, groups=0)
        db.plans.set_counters(PLAN, Counters(seq=3, groups=2))
        assert db.plans.counters(PLAN) == Counters(seq=3, groups=2)
        with pytest.raises(PlanNotFound):
            db.plans.counters(OTHER)


@pytest.mark.parametrize("word", [PLAN, PLAN[:25], PLAN.lower(), "upgrade", "latest"])
def test_a_plan_is_found_by_id_prefix_name_and_word(database: Database, word: str) -> None:
    with database.reading() as db:
        assert db.plans.resolve(word).plan_id == PLAN


def test_an_ambiguous_prefix_or_name_is_refused_with_the_candidates(database: Database) -> None:
    with database.writing() as db:
        db.plans.add(a_plan(OTHER))
    with database.reading() as db:
        for word in ("upgrade", "01K000"):
            with pytest.raises(Ambiguous) as refusal:
                db.plans.resolve(word)
            assert PLAN in str(refusal.value)
            assert OTHER in str(refusal.value)
        assert db.plans.resolve("latest").plan_id == OTHER


def test_an_unknown_plan_is_refused_with_the_nearest_handle(database: Database) -> None:
    with database.reading() as db:
        handle = db.plans.resolve("latest").handle
        with pytest.raises(PlanNotFound) as refusal:
            db.plans.resolve(handle.replace("plan", "paln"))
        assert f"`{handle}`" in refusal.value.next_step
        with pytest.raises(PlanNotFound) as refusal:
            db.plans.resolve("zzz")
        assert "project.plans()" in refusal.value.next_step


def test_where_there_are_no_plans_the_way_to_one_is_told(empty: Database) -> None:
    with empty.reading() as db, pytest.raises(PlanNotFound) as refusal:
        db.plans.resolve("latest")
    assert "project.execute(plan=...)" in refusal.value.next_step


def test_plans_are_listed_in_order_and_by_state(database: Database) -> None:
    with database.writing() as db:
        db.plans.add(replace(a_plan(OTHER, "second"), phase=Phase.EXECUTE, state=State.QUEUED))
    with database.reading() as db:
        assert [p.plan_id for p in db.plans.list(None)] == [PLAN, OTHER]
        assert [p.plan_id for p in db.plans.list(State.QUEUED)] == [OTHER]


def test_what_a_plan_was_is_known_for_every_line(database: Database) -> None:
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
