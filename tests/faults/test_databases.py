"""Folders and databases of one plan go back together or not at all, whatever happens in the middle of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes
from mulligan.api.project import Project
from mulligan.domain.plans.plan import State
from mulligan.errors import RestoreFailed
from tests.faults.projects import project_in
from tests.support.databases import beside, content, is_sound, rows, run_sql
from tests.support.homes import home_of, homes_beside, homes_for
from tests.support.keeping import keep, put_back
from tests.support.long_run import LONGER

MOMENTS = 4 * LONGER  # looked at in each test, spread evenly over all that there are
RESOURCES = 5
PLAN = """\
name: p
resources:
  data: {type: sqlite, location: app/var/app.db}
  app: {type: fs-directory, location: app}
  alone: {type: sqlite, location: alone.db}
  new: {type: sqlite, location: app/made/new.db, create: true}
  notes: {type: fs-directory, location: notes}
steps:
  - {name: one, tool: sql, resource: data, args: {statements: ["INSERT INTO t VALUES (2)"]}}
  - {name: two, tool: sql, resource: alone, args: {script: m.sql}}
  - {name: three, tool: write_file, resource: notes, args: {path: n, content: new}}
  - {name: four, tool: sql, resource: new, args: {statements: ["CREATE TABLE t (a)"]}}
  - {name: five, tool: shell, resource: app, args: {command: rm -r var; echo 2 > file}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return filled(tmp_path / "project")


def filled(folder: Path) -> Path:
    (folder / "app" / "var").mkdir(parents=True)
    (folder / "notes").mkdir()
    (folder / "notes" / "n").write_text("old")
    (folder / "app" / "file").write_text("1")
    (folder / "app" / "m.sql").write_text("INSERT INTO t VALUES (2);\nPRAGMA user_version = 2;")
    run_sql(folder / "app" / "var" / "app.db", "PRAGMA journal_mode = wal", "CREATE TABLE t (a)")
    run_sql(folder / "alone.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)", "PRAGMA user_version = 1")
    (folder / "plan.yaml").write_text(PLAN)
    return folder


def state(folder: Path) -> dict[str, object]:
    """All that the sandboxes hold, as a user sees it."""
    return {s.resource: look(Path(s.path)) for s in project_in(folder).status("p").sandboxes}


def look(path: Path) -> object:
    if path.is_dir():
        files = [each for each in path.rglob("*") if ".db" not in each.name]
        return sorted((str(f.relative_to(path)), f.read_text() if f.is_file() else None) for f in files)
    if not path.exists():
        assert not path.parent.exists() or beside(path) == []
        return None
    assert is_sound(path)
    assert beside(path) == [path.name]
    return content(path)


class FailingRestore:
    """Fails one restore of a run, the n-th, before or after it did its work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool) -> None:
        self._left = number
        self._after = after
        self.fired = False
        for kind in (DirectorySandboxes, SqliteSandboxes):
            monkeypatch.setattr(kind, "restore", self._wrap(kind.restore))

    def _wrap(self, honest: Callable[..., object]) -> Callable[..., object]:
        def restore(kind: object, sandbox: object, *others: object, **named: object) -> object:
            self._left -= 1
            fails = self._left == 0
            if fails and not self._after:
                self._fire()
            done = honest(kind, sandbox, *others, **named)
            if fails:
                self._fire()
            return done

        return restore

    def _fire(self) -> None:
        self.fired = True
        raise RestoreFailed(path="somewhere", reason="a fault between two resources")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, RESOURCES + 1))
def test_a_failure_between_any_two_resources_leaves_all_as_they_were(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, after: bool
) -> None:
    project_in(folder).execute(folder / "plan.yaml")
    before = state(folder)
    with monkeypatch.context() as patch:
        fault = FailingRestore(patch, number, after=after)
        with pytest.raises(RestoreFailed, match="a fault between two resources"):
            project_in(folder).rollback("p", "first")
        assert fault.fired
    assert state(folder) == before
    project_in(folder).rollback("p", "first")
    first = state(folder)
    assert first["new"] is None
    assert first["notes"] == [("n", "old")]
    assert rows(sandbox_of(project_in(folder), "data")) == []
    assert rows(sandbox_of(project_in(folder), "alone"), "PRAGMA user_version") == [(1,)]
    assert first["app"] == [("file", "1"), ("m.sql", (folder / "app" / "m.sql").read_text()), ("var", None)]


def test_gc_keeps_the_sandboxes_and_clears_what_killed_processes_left_beside_them(folder: Path) -> None:
    status = project_in(folder).execute(folder / "plan.yaml")
    before = state(folder)
    left = home_of(folder) / "sandboxes" / status.plan_id / ".work-alone"
    left.mkdir()
    (left / "half").write_text("a database")
    assert project_in(folder).gc().sandboxes_removed == (str(left),)
    assert state(folder) == before
    assert not left.exists()


@pytest.mark.parametrize("strategy", ["filesystem_copy", "in_place"])
@pytest.mark.parametrize(
    "step", ["mkdir -p var/deep", "rm notes; mkdir -p notes var/deep; touch notes/x var/y"]
)
def test_a_dry_run_names_folders_that_go_with_the_database_in_them(
    tmp_path: Path, strategy: str, step: str
) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "notes").write_text("a file")
    database = "var/deep/app.db" if "notes" not in step else "notes/app.db"
    (tmp_path / "plan.yaml").write_text(
        f"""name: p
resources:
  app: {{type: fs-directory, location: app, strategy: {strategy}}}
  data: {{type: sqlite, location: app/{database}, create: true}}
steps:
  - {{name: room, tool: shell, args: {{command: "{step}"}}}}
  - {{name: fill, tool: sql, resource: data, args: {{statements: ["CREATE TABLE t (a)"]}}}}
"""
    )
    done = State.APPLIED if strategy == "in_place" else State.COMPLETE
    assert project_in(tmp_path).execute(tmp_path / "plan.yaml").state is done
    for _ in range(2):  # back, and forward
        preview = project_in(tmp_path).rollback("p", "first", dry_run=True)
        back = project_in(tmp_path).rollback("p", "first")
        assert preview.changes_reverted == back.changes_reverted
        assert {"data", "app"} == {change.resource for change in back.changes_reverted}
        there = Path(project_in(tmp_path).status("p").sandboxes[0].path)
        assert {path.name: path.read_text() for path in there.iterdir()} == {"notes": "a file"}
        forward = str(back.post_rollback_state.pre_rollback_checkpoint)
        preview = project_in(tmp_path).rollback("p", forward, dry_run=True)
        assert preview.changes_reverted == project_in(tmp_path).rollback("p", forward).changes_reverted
        assert rows(there / database) == []


def sandbox_of(project: Project, resource: str) -> Path:
    return next(Path(s.path) for s in project.status("p").sandboxes if s.resource == resource)


def run(folder: Path, moment: int, *words: str) -> "subprocess.CompletedProcess[str]":
    program = Path(__file__).with_name("dying.py")
    argv = [sys.executable, str(program), str(moment), "SIGKILL", *words]
    around = {**os.environ, "MULLIGAN_HOME": homes_for(folder)}
    return subprocess.run(argv, cwd=folder, env=around, capture_output=True, text=True, check=False)


def moments(done: "subprocess.CompletedProcess[str]") -> range:
    total = int(done.stderr.splitlines()[-1])
    return range(1, total, max(1, total // MOMENTS))


def test_a_rollback_killed_at_any_moment_is_completed_or_never_was(folder: Path, tmp_path: Path) -> None:
    homes_beside(folder).mkdir(mode=0o700)
    project_in(folder).execute(folder / "plan.yaml")
    complete = tmp_path / "complete"
    keep(folder, complete)
    before = state(folder)
    undisturbed = run(folder, 0, "plan", "rollback", "p", "first", "--yes")
    after = state(folder)
    assert after != before
    seen: set[bool] = set()
    for moment in moments(undisturbed):
        put_back(complete, folder)
        killed = run(folder, moment, "plan", "rollback", "p", "first", "--yes")
        assert killed.returncode in (-9, 0), (moment, killed.stderr)  # how often it waits varies
        project_in(folder).checkpoints.create("p", "look")  # whoever comes next finishes it, or takes it back
        found = state(folder)
        assert found in (before, after), moment
        seen.add(found == after)
        project_in(folder).rollback("p", "first")
        assert state(folder) == after
    assert seen == {True, False}


def test_a_plan_killed_at_any_moment_goes_on_to_the_same_end(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole")
    undisturbed = run(whole, 0, "plan", "execute", "plan.yaml", "--format", "json")
    assert json.loads(undisturbed.stdout)["data"]["state"] == "complete"
    end = state(whole)
    for moment in moments(undisturbed):
        folder = filled(tmp_path / f"at-{moment}")
        killed = run(folder, moment, "plan", "execute", "plan.yaml")
        assert killed.returncode in (-9, 0), (moment, killed.stderr)  # how often it waits varies
        left = project_in(folder) if (home_of(folder) / "mulligan.db").exists() else None
        known = left.plans() if left else ()
        if not known:
            continue  # killed before the plan was recorded
        went_on = run(folder, 0, "plan", "execute", known[0].plan_id)
        assert went_on.returncode in (0, 3), went_on.stderr  # 3: it was complete
        assert state(folder) == end, moment
        assert rows(folder / "alone.db") == [(1,)]
