"""The states of a plan come back as they were written, whatever of them was written before."""

import pytest
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import EMPTY_STATE, PlanState
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import Json
from mulligan.rows.database import Database
from mulligan.rows.sql_connection import SqlConnection
from tests.unit.examples import a_group, a_plan

PLAN = PlanId("01K00000000000000000000001")


@pytest.mark.parametrize(
    "states",
    [
        [{"a": 1}, {"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": "y" * 5000}, {"a": 1}, {"a": 1, "d": 2}],
        [{"a": 1, "b": 2}, {"a": True, "b": 2}, {"a": 1.0, "b": 2}, {"b": 2, "a": 1}],
        [{"a": "z" * 5000}, {}, {"a": "z" * 5000, "b": {"$output": "no"}}, {"c": "\udcff"}],
    ],
)
def test_every_state_of_a_plan_comes_back_whatever_was_written_before(
    database: Database, states: list[dict[str, Json]]
) -> None:
    for outputs in states:
        saved = replace(a_plan(PLAN), progress=replace(EMPTY_STATE, outputs=outputs))
        with database.writing() as db:
            db.plans.save(saved)
        with database.reading() as db:
            found = db.plans.get(PLAN).progress.outputs
        assert [(name, type(found[name]), found[name]) for name in outputs] == [
            (name, type(value), value) for name, value in outputs.items()
        ]
        assert len(found) == len(outputs)


def test_a_long_output_whose_transaction_was_undone_is_written_with_the_next(
    database: Database,
) -> None:
    saved = replace(a_plan(PLAN), progress=replace(EMPTY_STATE, outputs={"long": "x" * 10_000}))

    def work() -> None:
        with database.writing() as db:
            db.plans.save(saved)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        work()
    with database.writing() as db:
        db.plans.save(saved)
    with database.reading() as db:
        assert db.plans.get(PLAN) == saved


def test_the_outputs_of_many_plans_do_not_mix(database: Database) -> None:
    plans = [PlanId(f"01K000000000000000000001{n:02}") for n in range(20)]
    for turn in range(2):
        for number, plan_id in enumerate(plans):
            outputs: dict[str, Json] = {f"{turn} of {number}": number}
            saved = replace(a_plan(plan_id), progress=replace(EMPTY_STATE, outputs=outputs))
            with database.writing() as db:
                db.plans.save(saved) if turn else db.plans.add(saved)
                assert db.plans.get(plan_id) == saved


@pytest.mark.parametrize("output", ["x" * 100_000, {"$output": "looks like a reference"}, ["y" * 5000]])
def test_long_outputs_come_back_whole(database: Database, connection: SqlConnection, output: object) -> None:
    state = PlanState(step_index=1, outputs={"big": output}, memory={}, decisions=())  # pyright: ignore[reportArgumentType] - any JSON
    groups = [a_group(PLAN, f"01K000000000000000000000{n}1", n, state=state) for n in range(5)]
    with database.writing() as db:
        for group in groups:
            db.checkpoints.add(group)
    with database.reading() as db:
        assert db.checkpoints.get(groups[3].group_id).state == state
    kept = connection.rows("SELECT sha256 FROM outputs")
    assert len(kept) == 1, "kept once, however many groups name it"
