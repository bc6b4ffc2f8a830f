"""What SQLite refuses is told in words that fit."""

import resource
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulligan.adapters.db.database import SqliteDatabase
from mulligan.domain.text.ids import PlanId
from mulligan.errors import DatabaseUnusable
from tests.unit.examples import a_plan

PLAN = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZZ")
OTHER = PlanId("01JZZZZZZZZZZZZZZZZZZZZZZY")


@contextmanager
def _no_file_may_grow() -> Generator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_on_a_disk_with_room_is_not_called_full(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "mulligan.db")
    with database.writing() as db:
        db.plans.add(a_plan(PLAN))
    with (
        pytest.raises(DatabaseUnusable, match=r"disk I/O error$"),
        _no_file_may_grow(),
        database.writing() as db,
    ):
        db.plans.add(a_plan(OTHER))
