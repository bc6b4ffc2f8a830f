"""A commit that a killed process had written but told nobody of is gone for good before bytes are deleted."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from mulligan.adapters.db.database_file import sqlite_database
from mulligan.rows.database import Database
from tests.unit.examples import a_plan

# Dies as a process does that is killed while its log is synced: the frames of its commit are there, the index of
# the log does not tell of them yet.
DYING = """
import os, signal, sys
from pathlib import Path
from mulligan.adapters.db.database_file import sqlite_database
from tests.unit.examples import a_plan
path = Path(sys.argv[1])
database = sqlite_database(path)
with database.reading():
    pass
index = Path(f"{path}-shm").open("r+b", buffering=0)
before = index.read(136)
with database.writing() as db:
    db.plans.add(a_plan())
index.seek(0)
index.write(before)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _left_in_doubt(tmp_path: Path) -> tuple[Database, Path]:
    path = tmp_path / "mulligan.db"
    database = sqlite_database(path)
    with database.reading() as db:
        assert db.plans.list(None) == []
    died = subprocess.run([sys.executable, "-c", DYING, str(path)], check=False)
    assert died.returncode == -signal.SIGKILL
    with database.reading() as db:
        assert db.plans.list(None) == [], "nobody sees it"
    return database, path


def _plans_when_all_were_killed(path: Path) -> list[str]:
    """What the next process finds: it reads the whole log, for nobody is left who knows its end."""
    next_home = path.parent / "next"
    next_home.mkdir()
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", next_home)
    database = sqlite_database(next_home / path.name)
    with database.reading() as db:
        found = [str(plan.plan_id) for plan in db.plans.list(None)]
    database.close()
    return found


def test_what_no_reader_sees_may_come_back(tmp_path: Path) -> None:
    _, path = _left_in_doubt(tmp_path)
    assert _plans_when_all_were_killed(path) == [a_plan().plan_id]


def test_what_was_settled_does_not_come_back(tmp_path: Path) -> None:
    database, path = _left_in_doubt(tmp_path)
    database.settle()
    assert _plans_when_all_were_killed(path) == []
