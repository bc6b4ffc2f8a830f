"""What was done stays in reach, and what could not be done leaves nothing behind."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import pytest

from mulligan.cli.main import run
from tests.commands.program import ask, data_of
from tests.commands.running import sandbox
from tests.commands.test_everyday import commands_in, shown
from tests.commands.timelines import killed, plain_folder, use_own_git
from tests.hostile.program import say
from tests.support.git_world import run_git

FAILING = ("sh", "-c", "echo b >> a.txt; exit 2")
CUT_OFF = ("run", "--name", "cut", "--", "sh", "-c", "echo b >> a.txt")


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


@pytest.mark.parametrize(
    ("program", "code"), [("no-such-program", 127), ("./no-such", 127), ("./a.txt", 126)]
)
def test_a_program_that_cannot_be_started_makes_no_project(folder: Path, program: str, code: int) -> None:
    answer = ask(folder, "run", "--", program, "x")
    assert (answer["exit_code"], answer["error"]["kind"]) == (code, "step_failed")
    assert program in answer["error"]["hint"]
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_a_program_beside_the_named_folder_is_looked_for_where_the_command_starts(folder: Path) -> None:
    (folder / "in").mkdir()
    program = folder / "in" / "here"
    program.write_text("#!/bin/sh\ntouch made\n")
    program.chmod(0o755)
    assert data_of(folder, "run", "--resource", "in", "--", "./here")["exit_status"] == 0


def test_a_program_that_cannot_be_started_names_no_plan_or_checkpoint_that_is_gone(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data_of(folder, "run", "--name", "first", "--", "true")
    with chdir(folder):
        assert run(["--format", "plain", "run", "--", "no-such-program"]) == 127
    seen = capfd.readouterr().err
    assert "could not be started" in seen
    assert "failed at step" not in seen
    assert "left when it failed" not in seen


def test_work_that_was_gone_forward_to_is_accepted_with_its_step(folder: Path) -> None:
    ask(folder, "run", "--name", "q", "--", *FAILING)
    data_of(folder, "rollback", "q@3", "--yes")
    refusal = say(folder, "apply", "q", "--yes", format="plain")
    assert refusal.code == 3
    resume, accept = commands_in(refusal.stderr)
    assert (resume, accept) == (["resume", "q"], ["accept", "q"])
    accepted = data_of(folder, *accept)["accepted"]
    assert (len(accepted["taken"]), accepted["not_run"]) == (1, [])
    data_of(folder, "apply", "q", "--yes")
    assert (folder / "a.txt").read_text() == "a\nb\n"


def test_what_a_cancelled_plan_was_doing_stays_in_reach(folder: Path) -> None:
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    data_of(folder, "cancel", "cut")
    assert "+b" in data_of(folder, "diff", "cut")["patch"]
    look, restore, _again = commands_in(shown(folder, "resume", "cut"))
    assert look == ["diff", "cut"]
    data_of(folder, "restore", restore[1], "a.txt", "--yes")
    assert (folder / "a.txt").read_text() == "a\nb\n"


def test_a_cancelled_plan_that_worked_in_place_is_run_again_in_place(folder: Path) -> None:
    ask(folder, "run", "--in-place", "--name", "cut", "--", "sh", "-c", "exit 1")
    data_of(folder, "cancel", "cut")
    again = commands_in(shown(folder, "resume", "cut"))[-1]
    assert again == ["run", "--in-place", "--", "sh", "-c", "exit 1"]


def test_a_checkpoint_that_cannot_be_taken_is_named_by_its_moment(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    with chdir(tmp_path):
        assert run(["run", "--in-place", "--name", "gone", "--", "mv", ".git", "elsewhere"]) == 125
    assert "the checkpoint of plan gone (at the end) could not be taken" in capfd.readouterr().err
    assert "stopped: the checkpoint of plan gone (at the end)" in shown(tmp_path, "status", "gone")
    error = ask(tmp_path, "status", "gone")["data"]["error"]
    assert error["message"].startswith("the post_execute checkpoint of plan ")


def test_what_a_cancelled_plan_was_doing_outlives_its_sandbox(folder: Path) -> None:
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    data_of(folder, "-c", "sandbox.cleanup=on_terminal", "cancel", "cut")
    assert not data_of(folder, "status", "cut")["sandboxes"]
    assert "+b" in data_of(folder, "diff", "cut")["patch"]


def test_a_plan_that_cannot_be_captured_any_more_can_be_cancelled(folder: Path) -> None:
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    own = sandbox(data_of(folder, "status", "cut"))
    own.rename(own.with_name("elsewhere"))
    assert data_of(folder, "cancel", "cut")["state"] == "cancelled"


def test_a_checkpoint_without_a_label_is_not_said_to_have_one(folder: Path) -> None:
    (folder / "p.yaml").write_text("name: p\nsteps: [{run: grep -q b a.txt}]\n")
    ask(folder, "plan", "execute", "p.yaml")
    (sandbox(data_of(folder, "status", "p")) / "a.txt").write_text("b\n")
    data_of(folder, "resume", "p")
    seen = shown(folder, "checkpoint", "list", "p")
    assert "kept as it was" in seen
    assert "your label" not in seen


def test_the_hint_of_a_refused_unapply_can_be_pasted(folder: Path) -> None:
    data_of(folder, "run", "--in-place", "--name", "q", "--", "sh", "-c", "echo b >> a.txt")
    data_of(folder, "undo", "--yes")
    refusal = say(folder, "unapply", "q", "--yes", format="plain")
    assert refusal.code == 3
    for words in commands_in(refusal.stderr):
        assert ask(folder, *words)["exit_code"] == 0


def test_many_paths_that_git_ignores_are_one_line_of_an_apply(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / ".gitignore").write_text("lib/\n")
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "commit", "-qm", "first")
    made = "mkdir lib; for n in 1 2 3 4 5 6 7; do touch lib/$n; done; touch seen"
    data_of(tmp_path, "run", "--name", "q", "--", "sh", "-c", made)
    assert shown(tmp_path, "apply", "q", "--yes").count("git ignores") == 1
