"""What a killed process leaves half undone is finished by the next command, and what it did outside is not lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import State
from mulligan.errors import Interrupted, MulliganError, ToolsUntrusted
from tests.faults.projects import project_in
from tests.support.confined import written_by_coverage
from tests.support.homes import home_of, homes_beside
from tests.support.keeping import keep, put_back
from tests.support.long_run import LONGER
from tests.support.patience import wait_until

TOOLS = """\
import time
from pathlib import Path

import mulligan

WORLD = Path({world!r})


def note(line):
    with (WORLD / "notes").open("a") as file:
        file.write(line + "\\n")


def take_down(context, arguments, result):
    note(f"undo-{{arguments['title']}}")
    while (WORLD / f"hold-{{arguments['title']}}").exists():
        time.sleep(0.01)


@mulligan.tool(writes=False, side_effects=["external"], undo=take_down)
def publish(context, title: str):
    note(f"publish-{{title}}")
    return title


@mulligan.tool(writes=False, side_effects=["external"])
def mail(context):
    note("mail")
"""
PLAN = """\
name: p
steps:
  - {name: one, tool: publish, args: {title: one}}
  - {name: two, tool: publish, args: {title: two}}
  - {name: write, tool: write_file, args: {path: new, content: new}}
"""
MOMENTS = 8 * LONGER  # looked at, spread evenly over all that there are


@pytest.fixture
def world(tmp_path: Path) -> Path:
    folder = tmp_path / "world"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with trusted tools and a plan file; its home is beside it."""
    homes = homes_beside(tmp_path / "project")
    homes.mkdir(mode=0o700)
    monkeypatch.setenv("MULLIGAN_HOME", str(homes))
    return a_project(tmp_path / "project", world)


def let_out_into(world: Path) -> str:
    """The setting of a plan whose tools may write there."""
    return f"config: {{sandbox.writable: {json.dumps([str(world), *written_by_coverage()])}}}\n"


def a_project(place: Path, world: Path) -> Path:
    homes_beside(place).mkdir(mode=0o700, parents=True, exist_ok=True)
    (home_of(place) / "store").mkdir(parents=True, mode=0o700)
    (home_of(place) / "tools.py").write_text(TOOLS.format(world=str(world)))
    # The world is outside of what tools may write, as it should be: these are let.
    (place / "plan.yaml").write_text(f"{PLAN}{let_out_into(world)}")
    project_in(place).tools.trust()
    return place


def notes(world: Path) -> list[str]:
    file = world / "notes"
    return file.read_text().split() if file.exists() else []


def until(world: Path, note: str) -> None:
    wait_until(lambda: note in notes(world), note)


def killed_during_undo(folder: Path, world: Path, title: str) -> None:
    """Start a rollback to the beginning and kill it while that call is being undone."""
    (world / f"hold-{title}").touch()
    words = [sys.executable, "-m", "mulligan", "plan", "rollback", "--yes", "p", "first"]
    process = subprocess.Popen(words, cwd=folder, env=dict(os.environ), stderr=subprocess.DEVNULL)
    until(world, f"undo-{title}")
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_rollback_killed_during_an_undo_is_finished_by_the_next_command(folder: Path, world: Path) -> None:
    status = project_in(folder).execute(folder / "plan.yaml")
    assert status.state == State.COMPLETE
    killed_during_undo(folder, world, "one")
    assert (Path(status.sandboxes[0].path) / "new").exists()
    (world / "hold-one").unlink()
    # The next command finishes it: what was recorded as undone is not undone again, the other one is.
    project_in(folder).checkpoints.create("p", "after")
    assert notes(world) == ["publish-one", "publish-two", "undo-two", "undo-one", "undo-one"]
    assert not (Path(status.sandboxes[0].path) / "new").exists()
    after = project_in(folder).status("p")
    assert (after.state, after.execution.tool_calls) == (State.QUEUED, 0)
    undone = [e.data["step"] for e in project_in(folder).log("p") if e.type is EventType.TOOL_UNDONE]
    assert undone == ["two", "one"]


def test_what_a_killed_undo_started_is_ended_before_it_is_called_again(folder: Path, world: Path) -> None:
    project_in(folder).execute(folder / "plan.yaml")
    killed_during_undo(folder, world, "two")
    # It still holds; only because its process was ended can the new one be let go.
    (world / "hold-two").unlink()
    project_in(folder).checkpoints.create("p", "after")
    assert notes(world).count("undo-two") == 2
    assert notes(world)[-1] == "undo-one"


def test_a_return_cut_off_waits_until_its_tools_are_trusted_again(folder: Path, world: Path) -> None:
    project_in(folder).execute(folder / "plan.yaml")
    killed_during_undo(folder, world, "two")
    (world / "hold-two").unlink()
    with (home_of(folder) / "tools.py").open("a") as file:
        file.write("# mended\n")
    before = notes(world)
    with pytest.raises(ToolsUntrusted, match="has changed"):
        project_in(folder).checkpoints.create("p", "after")
    assert notes(world) == before
    project_in(folder).tools.trust()
    project_in(folder).checkpoints.create("p", "after")
    assert notes(world)[-2:] == ["undo-two", "undo-one"]


def test_a_plan_whose_return_cannot_be_finished_can_be_cancelled(folder: Path, world: Path) -> None:
    project_in(folder).execute(folder / "plan.yaml")
    killed_during_undo(folder, world, "two")
    with (home_of(folder) / "tools.py").open("a") as file:
        file.write("# mended\n")
    assert project_in(folder).cancel("p").state == State.CANCELLED


def test_a_call_whose_step_was_never_recorded_is_undone_before_it_is_made_again(
    folder: Path, world: Path
) -> None:
    """Ctrl-C right after a call came to its end, before the group that would complete its step."""

    def interrupt(event: Event) -> None:
        if event.type is EventType.TOOL_CALLED and event.data["step"] == "two":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        project_in(folder, interrupt).execute(folder / "plan.yaml")
    assert notes(world) == ["publish-one", "publish-two"]
    status, execution = project_in(folder).run("p")
    assert status.state == State.COMPLETE
    assert execution.messages == ()
    assert notes(world) == ["publish-one", "publish-two", "undo-two", "publish-two"]
    assert status.execution.tool_calls == 3


def test_an_irreversible_call_whose_step_was_never_recorded_is_told_before_it_is_made_again(
    folder: Path, world: Path
) -> None:
    def interrupt(event: Event) -> None:
        if event.type is EventType.TOOL_CALLED:
            raise KeyboardInterrupt

    plan = f"name: p\nsteps: [{{name: tell, tool: mail}}]\n{let_out_into(world)}"
    (folder / "plan.yaml").write_text(plan)
    with pytest.raises(Interrupted):
        project_in(folder, interrupt).execute(folder / "plan.yaml")
    status, execution = project_in(folder).run("p")
    assert status.state == State.COMPLETE
    assert execution.messages == ("effects outside the sandboxes remain: mail in step 'tell'",)
    assert notes(world) == ["mail", "mail"]


def test_nothing_outside_is_undone_for_a_rollback_that_cannot_be_done(folder: Path, world: Path) -> None:
    status = project_in(folder).execute(folder / "plan.yaml")
    for pack in (home_of(folder) / "store" / "packs").iterdir():
        pack.chmod(0o600)
        pack.write_bytes(b"\0" * pack.stat().st_size)
    with pytest.raises(MulliganError):
        project_in(folder).rollback("p", "first")
    assert notes(world) == ["publish-one", "publish-two"]
    assert (Path(status.sandboxes[0].path) / "new").exists()


def test_a_dry_run_of_resume_tells_what_would_be_undone(folder: Path) -> None:
    def interrupt(event: Event) -> None:
        if event.type is EventType.TOOL_CALLED and event.data["step"] == "two":
            raise KeyboardInterrupt

    with pytest.raises(Interrupted):
        project_in(folder, interrupt).execute(folder / "plan.yaml")
    assert "to be undone: publish in step 'two'" in project_in(folder).preview_resume("p")[1].messages


def test_ctrl_c_during_an_undo_leaves_a_return_that_the_next_command_finishes(
    folder: Path, world: Path
) -> None:
    project_in(folder).execute(folder / "plan.yaml")

    def interrupt(event: Event) -> None:
        if event.type is EventType.TOOL_UNDONE:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        project_in(folder, interrupt).rollback("p", "first")
    assert notes(world)[2:] == ["undo-two"]
    assert project_in(folder).rollback("p", "first").impact.undo == ()
    assert notes(world)[2:] == ["undo-two", "undo-one"]


def test_a_rollback_killed_at_any_moment_undoes_all_or_nothing_in_the_end(
    folder: Path, world: Path, tmp_path: Path
) -> None:
    """Whatever moment it is: a rollback that is finished has undone everything, one that is dropped nothing."""
    project_in(folder).execute(folder / "plan.yaml")
    complete = tmp_path / "complete"
    keep(folder, complete)
    published = (world / "notes").read_text()

    def rolled_back(moment: int) -> "subprocess.CompletedProcess[str]":
        put_back(complete, folder)
        (world / "notes").write_text(published)
        program = str(Path(__file__).with_name("dying.py"))
        argv = [sys.executable, program, str(moment), "SIGKILL", "plan", "rollback", "--yes", "p", "first"]
        return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)

    total = int(rolled_back(0).stderr.splitlines()[-1])
    finished = dropped = 0
    for moment in range(1, total, max(1, total // MOMENTS)):
        assert rolled_back(moment).returncode == -signal.SIGKILL, moment
        project_in(folder).checkpoints.create("p", "after")
        status, outside = project_in(folder).status("p"), notes(world)[2:]
        if status.state == State.QUEUED:
            finished += 1
            assert set(outside) == {"undo-one", "undo-two"}, moment
            assert outside[0] == "undo-two"
            assert status.execution.tool_calls == 0
        else:
            dropped += 1
            assert (status.state, outside) == (State.COMPLETE, []), moment
            assert status.execution.tool_calls == 3
    assert finished
    assert dropped
