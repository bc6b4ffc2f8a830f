"""A repair that is cut off leaves a sandbox missing or whole: never half of one, which apply would take as it is."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mulligan.boundaries import watch
from mulligan.errors import SandboxMissing
from tests.faults.projects import project_in
from tests.faults.trials import picture_without_times
from tests.support.homes import homes_beside
from tests.support.keeping import keep, put_back

PLAN = """name: p
resources:
  site: {type: fs-directory, location: site}
  rows: {type: sqlite, location: site/rows.db}
  more: {type: sqlite, location: more.db}
steps:
  - {name: change, tool: shell, args: {command: "echo new > made"}}
"""


class Death(BaseException):
    """The end of a process, as far as it can be had inside another."""


@pytest.fixture(autouse=True)
def nobody_watches() -> Iterator[None]:
    yield
    watch(None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a plan that is complete."""
    folder = tmp_path / "project"
    homes_beside(folder).mkdir(mode=0o700, exist_ok=True)
    (folder / "site").mkdir(parents=True)
    for name in ("one", "two", "three"):
        (folder / "site" / name).write_text(name)
    for name in ("site/rows.db", "more.db"):
        with closing(sqlite3.connect(folder / name)) as database:
            database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    (folder / "plan.yaml").write_text(PLAN)
    assert project_in(folder).execute(folder / "plan.yaml").state == "complete"
    return folder


def lose(folder: Path) -> None:
    """Remove what stands for the real things."""
    for sandbox in project_in(folder).status("p").sandboxes:
        top = Path(sandbox.path) if Path(sandbox.path).is_dir() else Path(sandbox.path).parent
        shutil.rmtree(top, ignore_errors=True)


def repair(folder: Path, dying_at: int) -> bool:
    """Have the doctor repair, and die right before the act of that number; False: it came to its end."""
    passed = 0

    def strike(when: str, name: str) -> None:
        nonlocal passed
        passed += when == "before"
        if when == "before" and passed > dying_at:
            watch(None)
            raise Death

    watch(strike)
    try:
        project_in(folder).doctor()
    except Death:
        return True
    finally:
        watch(None)
    return False


def test_an_apply_after_it_loses_nothing(folder: Path) -> None:
    kept = folder.with_name("kept")
    keep(folder, kept)
    wanted = {**{name: name for name in ("one", "two", "three")}, "made": "new\n"}
    refused = done = 0
    for moment in range(1000):
        lose(folder)
        if not repair(folder, moment):
            break
        try:
            assert project_in(folder).apply("p")[1].error is None
        except SandboxMissing:
            refused += 1
        else:
            done += 1
            found = {p.name: p.read_text() for p in (folder / "site").iterdir() if p.suffix != ".db"}
            assert found == wanted, moment
        for name in ("site/rows.db", "more.db"):
            assert any("VALUES(1)" in str(row) for row in picture_without_times(folder / name)[b"."]), moment
        put_back(kept, folder)
    assert refused > 3
    assert done
    assert project_in(folder).doctor().healthy
    assert project_in(folder).apply("p")[1].error is None
