"""Looking for a handle reads the plans that have it, however many others there are."""

from pathlib import Path

import pytest

from mulligan.adapters.db.database_file import open_sqlite
from mulligan.rows.database import Database
from tests.unit.examples import a_plan


def test_handles_are_found_by_their_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = open_sqlite(tmp_path / "mulligan.db")
    asked: list[str] = []
    rows = connection.rows

    def explained(statement: str, values: object = ()) -> object:
        if "handle" in statement and "WHERE plan_id" not in statement:
            asked.extend(row["detail"] for row in rows(f"EXPLAIN QUERY PLAN {statement}", values))  # pyright: ignore[reportArgumentType] - handed on
        return rows(statement, values)  # pyright: ignore[reportArgumentType] - handed on

    with Database(lambda: connection).writing() as db:
        db.plans.add(a_plan())
        monkeypatch.setattr(connection, "rows", explained)
        plan = a_plan("01K00000000000000000000002")
        db.plans.free_handle(plan)
        db.plans.resolve(a_plan().handle)
    assert asked
    assert [detail for detail in asked if detail.startswith("SCAN")] == []
