"""What was lost is told, and nothing is built on top of the gap."""

import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.errors import DatabaseUnusable
from tests.faults.projects import project_in
from tests.support.homes import home_of
from tests.support.raised import raises

PLAN = """
name: small
steps:
  - {name: one, tool: write_file, args: {path: a, content: "1"}}
"""


@pytest.mark.parametrize("how", ["emptied", "removed"])
def test_a_lost_database_beside_a_full_store_is_no_new_project(tmp_path: Path, how: str) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    # In a process of its own: SQLite maps a file of the database for as long as it is open.
    subprocess.run(
        [sys.executable, "-m", "mulligan", "plan", "execute", "plan.yaml"], cwd=tmp_path, check=True
    )
    for file in home_of(tmp_path).glob("mulligan.db*"):
        if how == "emptied":
            file.write_bytes(b"")
        else:
            file.unlink()
    packs = sorted((home_of(tmp_path) / "store" / "packs").iterdir())
    with pytest.raises(DatabaseUnusable, match="holds snapshots") as refusal:
        project_in(tmp_path).plans()
    assert refusal.value.exit_code == 1
    assert "put the database back" in refusal.value.next_step
    assert sorted((home_of(tmp_path) / "store" / "packs").iterdir()) == packs


def test_a_step_that_removes_the_database_stops_the_plan_and_its_log_is_not_dropped(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (tmp_path / "plan.yaml").write_text(
        f"""name: clean
config: {{sandbox.strategy: in_place, sandbox.isolate: "off"}}
steps:
  - {{name: one, tool: shell, args: {{command: "rm {home_of(tmp_path)}/mulligan.db"}}}}
  - {{name: two, tool: write_file, args: {{path: a, content: "2"}}}}
"""
    )
    with pytest.raises(DatabaseUnusable, match="removed or replaced while") as stopped:
        project.execute(tmp_path / "plan.yaml")
    assert "put " in stopped.value.next_step
    assert not (tmp_path / "a").exists()
    log = (home_of(tmp_path) / "mulligan.db-wal").read_bytes()
    with raises(DatabaseUnusable, database=str(home_of(tmp_path) / "mulligan.db")):
        project_in(tmp_path).plans()
    assert (home_of(tmp_path) / "mulligan.db-wal").read_bytes() == log


def test_a_project_that_was_only_begun_is_not_lost(tmp_path: Path) -> None:
    project_in(tmp_path)
    (home_of(tmp_path) / "mulligan.db").write_bytes(b"")
    assert list(project_in(tmp_path).plans()) == []
