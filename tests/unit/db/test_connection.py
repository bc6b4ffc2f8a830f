"""What only SQLite has: its settings, and words that fit what it refuses."""

import resource
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mulligan.adapters.db.database_file import sqlite_database
from mulligan.domain.plans.step import StepRecord, StepStatus
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
    database = sqlite_database(tmp_path / "mulligan.db")
    with database.writing() as db:
        db.plans.add(a_plan(PLAN))
    with (
        pytest.raises(DatabaseUnusable, match=r"disk I/O error$"),
        _no_file_may_grow(),
        database.writing() as db,
    ):
        db.plans.add(a_plan(OTHER))


def test_the_database_is_as_durable_as_promised(tmp_path: Path) -> None:
    database = sqlite_database(tmp_path / "mulligan.db")
    with database.reading():
        pass
    connection = sqlite3.connect(tmp_path / "mulligan.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with database.writing() as db, pytest.raises(DatabaseUnusable, match="FOREIGN KEY"):
        db.steps.add(OTHER, [StepRecord(index=0, name="x", status=StepStatus.DONE, duration_ms=None)])


@pytest.mark.parametrize("content", [b"this is no database at all, but long enough to be one" * 40])
def test_a_file_that_is_no_database_is_told_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "mulligan.db"
    file.write_bytes(content)
    database = sqlite_database(file)
    with pytest.raises(DatabaseUnusable) as error, database.reading():
        pass
    assert error.value.facts["database"] == str(file)
    assert file.read_bytes() == content, "nothing was made worse"
