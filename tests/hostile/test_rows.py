"""Rows that make no sense, whatever column of whatever table they are in: told, and never a traceback."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.hostile.program import say

PLAN = """\
name: p
resources: {code: {type: fs-directory, location: code}}
steps:
  - {name: one, tool: write_file, args: {path: one, content: '1'}}
  - {name: pick, decision: {question: Which?, chosen: this, alternatives: [that]}}
  - {name: two, tool: shell, args: {command: exit 1}}
"""
LOOKING = (
    ("plan", "tree", "p"),
    ("checkpoint", "list", "p"),
    ("plan", "rollback", "--dry-run", "p", "first"),
)
NONSENSE = ("\x1b[31mnonsense", 1 << 62, b"\xff\x00")
OTHERS = (
    ("plan", "status", "p"),
    ("plan", "list"),
    ("plan", "log", "p"),
    ("plan", "resume", "--dry-run", "p"),
)


def tables() -> list[tuple[str, str]]:
    folder = Path(__file__).parents[2] / "src" / "mulligan" / "adapters" / "db" / "migrations"
    with closing(sqlite3.connect(":memory:")) as database:
        for file in sorted(folder.glob("*.sql")):
            database.executescript(file.read_text())
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(t, str(row[1])) for t in names for row in database.execute(f"PRAGMA table_info({t})")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "code").mkdir()
    (folder / "plan.yaml").write_text(PLAN)
    assert say(folder, "plan", "execute", "plan.yaml").code == 1
    with (
        closing(sqlite3.connect(folder / ".mulligan" / "mulligan.db")) as database,
        closing(sqlite3.connect(folder / "good.db")) as good,
    ):
        database.backup(good)
    return folder


@pytest.mark.parametrize(("table", "column"), tables())
def test_nonsense_in_a_column(project: Path, table: str, column: str) -> None:
    for number, value in enumerate(NONSENSE):
        if put(project, table, column, value):
            say(project, *LOOKING[number])
            say(project, *OTHERS[(number + len(column)) % len(OTHERS)])


@pytest.mark.parametrize("table", sorted({table for table, _ in tables()}))
def test_doctor_finds_it(project: Path, table: str) -> None:
    column = next(
        column for name, column in tables() if name == table and column not in ("plan_id", "version")
    )
    if put(project, table, column, b"\xff\x00"):
        said = say(project, "doctor")
        assert (said.code, said.document["data"]["findings"][0]["area"]) == (1, "database")


def put(project: Path, table: str, column: str, value: str | int | bytes) -> bool:
    """Write nonsense into every row of a table; tells whether the column took it, and there was a row."""
    file, new = project / ".mulligan" / "mulligan.db", project / "new.db"
    shutil.copy(project / "good.db", new)
    with closing(sqlite3.connect(new)) as database:
        database.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
        done = database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,)).rowcount
        database.commit()
    for beside in ("-wal", "-shm"):
        Path(f"{file}{beside}").unlink(missing_ok=True)
    new.replace(file)
    return done > 0
