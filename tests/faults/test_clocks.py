"""A clock that is set back, between two commands or in the midst of a plan, loses, misorders and skips nothing."""

import json
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.trials import GIT_USER
from tests.shims import preloaded
from tests.support.patience import PATIENCE

DAY = 86400
PLAN = """\
name: NAME
config: {sandbox.isolate: "off"}
resources: {app: {type: fs-directory, location: app}}
steps:
  - {name: one, tool: shell, args: {command: 'echo NAME one > text'}}
  - {name: two, tool: shell, args: {command: 'echo SECONDS > "$CLOCK_FILE"; echo NAME two > text'}}
  - {name: three, tool: shell, args: {command: 'echo NAME three > text'}}
"""


class World:
    """A project, and the program with a clock that can be set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self._clock = folder / "clock"
        (self.folder / "app").mkdir(parents=True)
        (self.folder / "app" / "text").write_text("before\n")
        self.set(0)

    def set(self, seconds: int) -> None:
        """Set the clock by so much."""
        self._clock.write_text(f"{seconds}\n")

    def plan(self, name: str, *, then: int) -> str:
        """Write a plan whose second step sets the clock."""
        (self.folder / f"{name}.yaml").write_text(PLAN.replace("NAME", name).replace("SECONDS", str(then)))
        return f"{name}.yaml"

    def run(self, *words: str) -> dict[str, Any]:
        """Run a command that succeeds; return its data."""
        environment = preloaded("clock", {**GIT_USER, "CLOCK_FILE": str(self._clock)})
        argv = [sys.executable, "-m", "mulligan", *words, "--format", "json"]
        done = subprocess.run(
            argv,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
        return json.loads(done.stdout)["data"]

    def sandbox(self, name: str) -> str:
        """Return what the plan made of its file."""
        (found,) = self.run("plan", "status", name)["sandboxes"]
        return (Path(found["path"]) / "text").read_text()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_clock_set_back_in_the_midst_of_a_plan(world: World) -> None:
    done = world.run("plan", "execute", world.plan("first", then=-DAY))
    assert [step["status"] for step in done["steps"]] == ["done"] * 3
    assert all(step["duration_ms"] >= 0 for step in done["steps"])
    listed = world.run("checkpoint", "list", "first")["checkpoints"]
    times = [datetime.fromisoformat(each["created_at"]) for each in listed]
    assert times != sorted(times), "the clock was not set back between two checkpoints"
    assert [each["step_index"] for each in listed] == sorted(each["step_index"] for each in listed)
    assert [listed[0]["checkpoint_type"], listed[-1]["checkpoint_type"]] == ["pre_execute", "post_execute"]
    ids = [each["checkpoint_id"] for each in listed]
    assert ids == sorted(ids)
    world.run("plan", "rollback", "--yes", "first", "first")
    assert world.sandbox("first") == "before\n"
    world.run("plan", "resume", "first")
    world.run("plan", "apply", "--yes", "first")
    assert (world.folder / "app" / "text").read_text() == "first three\n"


def test_a_clock_set_back_between_two_commands(world: World) -> None:
    world.run("plan", "execute", world.plan("first", then=0))
    world.set(-DAY)
    world.run("plan", "execute", world.plan("second", then=-DAY))
    assert [plan["name"] for plan in world.run("plan", "list")["plans"]] == ["first", "second"]
    assert world.run("plan", "status", "latest")["name"] == "second"
    created = world.run("checkpoint", "create", "first", "--label", "later")
    listed = world.run("checkpoint", "list", "first")["checkpoints"]
    assert (listed[-1]["checkpoint_id"], listed[-1]["label"]) == (created["checkpoint_id"], "later")
    world.run("plan", "rollback", "--yes", "first", "first")
    assert world.sandbox("first") == "before\n"
    world.run("undo", "--yes")
    assert world.sandbox("second") != "second three\n"
    world.run("plan", "rollback", "--yes", "first", created["checkpoint_id"])
    assert world.sandbox("first") == "first three\n"


def test_retention_goes_by_order_and_not_by_time(world: World) -> None:
    world.run("plan", "execute", world.plan("first", then=-DAY))
    before = [each["checkpoint_id"] for each in world.run("checkpoint", "list", "first")["checkpoints"]]
    world.run("checkpoint", "prune", "first", "--keep", "3")
    kept = [each["checkpoint_id"] for each in world.run("checkpoint", "list", "first")["checkpoints"]]
    assert kept[-1] == before[-1]
    assert kept == sorted(kept, key=before.index)
    world.run("gc")
    assert world.run("doctor")["findings"] == []


def test_what_changes_after_the_clock_was_set_back_is_captured(world: World) -> None:
    """A file that seems to be of tomorrow is read again, however long ago it was captured."""
    world.run("plan", "execute", world.plan("first", then=0))
    world.set(-DAY)
    (found,) = world.run("plan", "status", "first")["sandboxes"]
    kept: dict[str, str] = {}
    for word in ("aaaa", "bbbb"):  # of the same length
        (Path(found["path"]) / "text").write_text(word)
        kept[word] = world.run("checkpoint", "create", "first", "--label", word)["checkpoint_id"]
    for word in ("aaaa", "bbbb"):
        world.run("plan", "rollback", "--yes", "first", kept[word])
        assert world.sandbox("first") == word
