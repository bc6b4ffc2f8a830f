"""Rows that make no sense, whatever column of whatever table they are in: told, and never a traceback."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.adapters.db.database import SqliteDatabase
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
    ("plan", "status", "p"),
    ("plan", "list"),
    ("plan", "log", "p"),
    ("plan", "tree", "p"),
    ("checkpoint", "list", "p"),
    ("plan", "rollback", "--dry-run", "p", "first"),
    ("plan", "resume", "--dry-run", "p"),
    ("doctor",),
)
NONSENSE = ("\x1b[31mnonsense", 1 << 62, b"\xff\x00", -1, None)


def tables() -> list[tuple[str, str]]:
    with closing(sqlite3.connect(":memory:")) as nothing:
        nothing.execute("SELECT 1")
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
    SqliteDatabase(folder / ".mulligan" / "mulligan.db").close()
    shutil.copy(folder / ".mulligan" / "mulligan.db", folder / "good.db")
    return folder


@pytest.mark.parametrize(("table", "column"), tables())
def test_nonsense_in_a_column(project: Path, table: str, column: str) -> None:
    file = project / ".mulligan" / "mulligan.db"
    for value in NONSENSE:
        for beside in ("-wal", "-shm"):
            Path(f"{file}{beside}").unlink(missing_ok=True)
        shutil.copy(project / "good.db", file)
        with closing(sqlite3.connect(file)) as database:
            database.executescript("PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF")
            try:
                database.execute(f"UPDATE {table} SET {column} = ?", (value,))
            except sqlite3.IntegrityError:
                continue  # the column itself refuses it
            database.commit()
        for words in LOOKING:
            say(project, *words)
