"""A project on a network filesystem: every command does its work there, or ends with an answer that names the place."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.faults.trials import GIT_USER
from tests.shims import preloaded
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.patience import PATIENCE

PLAN = """\
name: NAME
resources:
  app: {type: fs-directory, location: app}
  code: {type: git-checkout, location: code}
  rows: {type: sqlite, location: app/rows.db}
steps:
  - {name: files, tool: shell, args: {command: 'echo NAME > text; rm -f gone; mkdir -p made; echo > made/NAME'}}
  - {name: code, tool: shell, resource: code, args: {command: 'echo NAME > file; git commit -qam NAME; echo > NAME'}}
  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values ('NAME')"]}}
"""
IN_PLACE = """\
name: real
config: {sandbox.strategy: in_place}
resources:
  app: {type: fs-directory, location: app}
  rows: {type: sqlite, location: app/rows.db}
steps:
  - {name: edit, tool: shell, args: {command: 'echo real > text; echo > real'}}
  - {name: rows, tool: sql, resource: rows, args: {statements: ["insert into t values ('real')"]}}
"""


class World:
    """A project on such a disk, and the program there."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self._settings = {"NFS_ROOT": str(folder), "MULLIGAN_HOME": str(folder / "homes"), **settings}
        self._make()

    def _make(self) -> None:
        (self.folder / "app").mkdir()
        (self.folder / "app" / "text").write_text("before")
        (self.folder / "app" / "gone").write_text("goes")
        (self.folder / "code").mkdir()
        (self.folder / "code" / "file").write_text("before\n")
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "start")):
            run_git(self.folder / "code", *words)
        with closing(sqlite3.connect(self.folder / "app" / "rows.db")) as rows, rows:
            rows.execute("create table t (word)")
        (self.folder / "plan.yaml").write_text(PLAN.replace("NAME", "plan"))
        (self.folder / "place.yaml").write_text(IN_PLACE)

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command there; it always ends, and never with a trace."""
        argv = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
        environment = preloaded("nfs", {**GIT_USER, **self._settings})
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def succeeds(self, *words: str) -> dict[str, Any]:
        """Run a command that does its work; return its data."""
        done = self.run(*words)
        assert done.returncode == 0, done.stdout
        return json.loads(done.stdout)["data"]

    def rows(self) -> list[str]:
        """Return what the real database holds."""
        with closing(sqlite3.connect(self.folder / "app" / "rows.db")) as rows:
            return [word for (word,) in rows.execute("select word from t order by 1")]

    def left_behind(self) -> list[Path]:
        """Return files that were removed while they were open, and never closed; and work in progress."""
        return [*self.folder.rglob(".nfs*"), *home_of(self.folder).glob("store/rooms/*")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_plan_runs_goes_back_is_applied_and_taken_back(world: World) -> None:
    world.succeeds("plan", "execute", "plan.yaml")
    assert (world.folder / "app" / "text").read_text() == "before"
    world.succeeds("plan", "rollback", "--yes", "plan", "first")
    world.succeeds("plan", "resume", "plan")
    world.succeeds("plan", "apply", "--yes", "plan")
    assert (world.folder / "app" / "text").read_text() == "plan\n"
    assert not (world.folder / "app" / "gone").exists()
    assert (world.folder / "code" / "file").read_text() == "plan\n"
    assert run_git(world.folder / "code", "show", "--format=%s", "--name-only") == "plan\n\nfile\nplan\n"
    assert world.rows() == ["plan"]
    world.succeeds("plan", "unapply", "--yes", "plan")
    assert (world.folder / "app" / "text").read_text() == "before"
    assert (world.folder / "app" / "gone").exists()
    assert run_git(world.folder / "code", "status", "--porcelain") == ""
    assert world.rows() == []
    world.succeeds("gc")
    assert world.succeeds("doctor")["findings"] == []
    assert world.succeeds("checkpoint", "verify")["damaged"] == []
    assert world.left_behind() == []


def test_a_plan_works_in_place_and_goes_back(world: World) -> None:
    world.succeeds("plan", "execute", "place.yaml")
    assert (world.folder / "app" / "text").read_text() == "real\n"
    assert world.rows() == ["real"]
    world.succeeds("plan", "rollback", "--yes", "real", "first")
    assert (world.folder / "app" / "text").read_text() == "before"
    assert not (world.folder / "app" / "real").exists()
    assert world.rows() == []
    assert world.left_behind() == []


def test_where_no_lock_can_be_had_every_command_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, NFS_LOCKS="none")
    before = sorted(os.listdir(world.folder))
    for words in (("plan", "execute", "plan.yaml"), ("gc",), ("config", "set", "sandbox.isolate", "off")):
        done = world.run(*words)
        if words[0] == "plan":  # it makes no project, so that the others find none
            assert done.returncode == 1, done.stdout
            assert str(tmp_path / "homes") in done.stdout
            assert "lock" in done.stdout
        else:
            assert json.loads(done.stdout)["error"]["kind"] == "project_not_found"
    assert sorted(os.listdir(world.folder)) == before
    assert world.left_behind() == []
