"""`run` and `undo`: any command with a way back, and one step back at a time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal, sandbox, script
from tests.support.git_checkouts import plain
from tests.support.git_world import GIT_ENVIRONMENT, repository_picture, run_git, unlike
from tests.support.homes import home_of

PATIENT = """\
import time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("heard it")
    open("half", "w").close()
"""
WORDS = [
    "a b",
    "",
    "*",
    "$HOME",
    "${{ steps.x.output }}",
    "${{",
    "--help",
    "-c",
    "'\"\\",
    "ünï",
    "\udcff",
    "\n",
]


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", GIT_ENVIRONMENT["GIT_CONFIG_GLOBAL"])
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A plain folder, not yet a project."""
    made = tmp_path / "plain"
    (made / "sub").mkdir(parents=True)
    (made / "a.txt").write_text("one\n")
    return made


# --- what it runs, and where -------------------------------------------------------------------------------


def test_words_reach_the_command_as_they_are(folder: Path) -> None:
    program = "import os, sys; open('words', 'wb').write(b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    data = data_of(folder, "run", "--", sys.executable, "-c", program, *WORDS)
    assert (sandbox(data) / "words").read_bytes() == b"\0".join(map(os.fsencode, WORDS))
    assert data["exit_status"] == 0
    assert (data["phase"], data["state"]) == ("execute", "complete")
    (step,) = data["steps"]
    assert data["name"] == Path(sys.executable).name
    assert step["name"].startswith(sys.executable[:50])
    assert data["name"] == Path(sys.executable).name
    assert not (folder / "words").exists()


def test_options_after_the_first_word_are_the_commands(folder: Path) -> None:
    data = data_of(folder, "run", "--name", "look", "ls", "--format", "commas", "--help")
    assert data["name"] == "look"
    assert data["steps"][0]["name"] == "ls --format commas --help"
    assert "--help" not in json.dumps(data["messages"])


def test_a_plain_folder_is_copied_and_becomes_a_project(folder: Path) -> None:
    answer = ask(folder, *script("pwd > where; echo two >> a.txt"))
    data = answer["data"]
    assert (sandbox(data) / "where").read_text().strip() == str(folder)
    assert (sandbox(data) / "a.txt").read_text() == "one\ntwo\n"
    assert (folder / "a.txt").read_text() == "one\n"
    assert data["sandboxes"][0]["strategy"] == "filesystem_copy"
    assert answer["messages"] == [f"made a project: {home_of(folder)} keeps plans and checkpoints"]
    assert ask(folder, "run", "true")["messages"] == []


def test_in_a_subfolder_of_a_plain_project_that_folder_is_worked_on(folder: Path) -> None:
    data_of(folder, "init")
    data = data_of(folder / "sub", *script("pwd > where"))
    assert (sandbox(data) / "where").read_text().strip() == str(folder / "sub")
    assert not home_of(folder / "sub").exists()
    data_of(folder, "plan", "apply", "--yes", data["plan_id"])
    assert (folder / "sub" / "where").is_file()


def test_in_a_git_checkout_all_of_it_is_worked_on_from_the_same_subfolder(tmp_path: Path) -> None:
    """Uncommitted work of every kind is there, and the user's repository stays as it is."""
    top = plain(tmp_path)
    before = repository_picture(top)
    data = data_of(top / "sub" / "deep", *script("pwd > ../where; git status --porcelain -uall > ../seen"))
    made = sandbox(data)
    assert (made / "sub" / "where").read_text().strip() == str(top / "sub" / "deep")
    assert (made / "sub" / "file1").read_text() == "unstaged\n"
    assert (made / "untracked").exists()
    assert {line[3:] for line in (made / "sub" / "seen").read_text().splitlines()} >= {
        "untracked",
        "sub/file1",
    }
    assert home_of(top).is_dir()
    assert set(unlike(before, repository_picture(top))) == {"."}, "the project home is new in it, and no more"


def test_a_folder_whose_name_would_be_replaced_is_no_problem(tmp_path: Path) -> None:
    top = plain(tmp_path)
    odd = top / "${{ odd }}"
    odd.mkdir()
    data = data_of(odd, *script("touch here"))
    assert (sandbox(data) / odd.name / "here").exists()


def test_a_checkout_that_reaches_beyond_the_project_is_not_the_resource(tmp_path: Path) -> None:
    top = plain(tmp_path)
    data_of(top / "sub", "init")
    data = data_of(top / "sub" / "deep", *script("touch here"))
    assert data["sandboxes"][0]["strategy"] == "filesystem_copy"
    assert (sandbox(data) / "here").exists()


def test_a_checkout_below_the_project_is_the_resource(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    data = data_of(plain(tmp_path), *script("touch here"))
    assert data["sandboxes"][0]["strategy"] == "git_worktree"


def test_a_resource_can_be_named(folder: Path) -> None:
    data_of(folder, "init")
    inside = data_of(folder / "sub", "run", "--resource", "..", "touch", "here")
    assert (sandbox(inside) / "sub" / "here").exists()
    beside = data_of(folder, "run", "--resource", "sub", "touch", "here")
    assert (sandbox(beside) / "here").exists()


@pytest.mark.parametrize(
    ("resource", "reason"), [("..", "leads out"), ("none", "not exist"), ("a.txt", "no")]
)
def test_what_cannot_be_worked_on_is_refused_before_a_project_is_made(
    folder: Path, resource: str, reason: str
) -> None:
    answer = ask(folder, "run", "--resource", resource, "true")
    assert answer["error"]["kind"] == "resource_unsuitable"
    assert reason in answer["error"]["message"]
    assert not home_of(folder).exists()


def test_a_home_folder_is_never_worked_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where all of it is a git checkout, as of those who keep their settings in one: it is no project's."""
    monkeypatch.setenv("HOME", str(folder))
    run_git(folder, "init", "-q")
    error = ask(folder, "run", "true")["error"]
    assert error["kind"] == "resource_unsuitable"
    assert error["hint"] == "change to the folder that the command should work on", (
        "there is no project to name"
    )
    assert not home_of(folder).exists()
    data = data_of(folder / "sub", "run", "true")
    assert data["sandboxes"][0]["strategy"] == "filesystem_copy"
    assert home_of(folder / "sub").is_dir()


def test_a_folder_with_a_name_that_is_not_text_is_refused(folder: Path) -> None:
    data_of(folder, "init")
    odd = folder / os.fsdecode(b"\xff")
    odd.mkdir()
    answer = ask(odd, "run", "true")
    assert answer["error"]["kind"] == "resource_unsuitable"
    assert "not UTF-8" in answer["error"]["message"]


def test_a_project_that_was_named_and_is_none_is_refused(folder: Path) -> None:
    assert ask(folder, "--project", "sub", "run", "true")["error"]["kind"] == "project_not_found"
    assert not home_of(folder).exists()


@pytest.mark.parametrize("words", [["run"], ["run", "--"], ["run", ""], ["run", "--name", "latest", "ls"]])
def test_wrong_usage_is_told_as_such(folder: Path, words: list[str]) -> None:
    answer = ask(folder, *words)
    assert (answer["exit_code"], answer["error"]["kind"]) == (125, "usage_wrong")


def test_a_command_called_latest_does_not_name_its_plan_so(folder: Path) -> None:
    data_of(folder, "init")
    answer = ask(folder, "run", "latest")
    assert answer["data"]["name"] == "run latest"


# --- how it ends -------------------------------------------------------------------------------------------


def test_the_exit_status_of_the_command_is_told(folder: Path) -> None:
    answer = ask(folder, *script("echo mess > mess; echo so bad >&2; exit 7"))
    data, error = answer["data"], answer["error"]
    assert (answer["exit_code"], data["exit_status"], error["exit_status"]) == (7, 7, 7)
    assert "exit status 7" in error["message"]
    assert "so bad" in error["message"]
    assert not (sandbox(data) / "mess").exists()
    left = data_of(folder, "plan", "diff", data["plan_id"], "--to", error["checkpoint"])
    assert [file["path"] for file in left["files"]] == ["mess"]
    assert "--to @3" in error["hint"]
    assert f"mulligan resume {data['plan_id']}" in error["hint"]


def test_a_signal_is_told_as_a_negative_status(folder: Path) -> None:
    answer = ask(folder, "-c", "sandbox.checkpoint.auto-create-on=[]", *script("kill -9 $$"))
    assert (answer["exit_code"], answer["data"]["exit_status"]) == (137, -9)
    assert answer["error"]["hint"] == f"`mulligan resume {answer['data']['plan_id']}` runs it again"


def test_a_line_of_shell_is_told_from_a_program(folder: Path) -> None:
    data_of(folder, "init")
    answer = ask(folder, "run", "echo one && echo two")
    assert (answer["exit_code"], answer["data"]["exit_status"]) == (127, None)
    assert "mulligan run -- sh -c 'echo one && echo two'" in answer["error"]["hint"]


def test_a_misspelt_program_is_told_where_it_was_looked_for(folder: Path) -> None:
    assert "(`./tidy.s`)" in ask(folder, "run", "tidy.s")["error"]["hint"]
    hint = ask(folder, "run", "./tidy.s")["error"]["hint"]
    assert hint == "is ./tidy.s the right name? a path is looked for from the folder the command starts in"


def test_a_stopped_plan_is_told_as_of_plan_execute(folder: Path) -> None:
    (home_of(folder) / "store").mkdir(parents=True)
    (home_of(folder) / "config.toml").write_text('[sandbox]\ncleanup = "maybe"\n')
    assert ask(folder, "run", "true")["exit_code"] == 125


def test_with_apply_the_result_of_a_success_is_applied(tmp_path: Path) -> None:
    top = plain(tmp_path)
    run_git(top, "reset", "-q", "--hard")
    data = data_of(top, "run", "--apply", "--name", "tidy", "--", "sh", "-c", "echo new > new")
    assert (data["phase"], data["state"], data["exit_status"]) == ("apply", "applied", 0)
    assert [each["files"] for each in data["applied"]] == [1]
    assert (top / "new").read_text() == "new\n"
    message = run_git(top, "log", "-1", "--format=%B").splitlines()
    assert message[0] == "tidy"
    assert "sh -c 'echo new > new'" in message
    data_of(top, "undo", "--yes")
    assert not (top / "new").exists()
    assert "tidy" not in run_git(top, "log", "--format=%s")


def test_with_apply_the_result_of_a_failure_is_not(folder: Path) -> None:
    answer = ask(folder, "run", "--apply", "--", "sh", "-c", "echo new > new; exit 3")
    assert (answer["exit_code"], answer["data"]["state"]) == (3, "errored")
    assert not (folder / "new").exists()


def test_an_apply_that_is_refused_leaves_a_plan_to_be_applied(tmp_path: Path) -> None:
    top = plain(tmp_path)
    run_git(top, "checkout", "-q", "--detach")
    answer = ask(top, "run", "--apply", "touch", "new")
    assert (answer["exit_code"], answer["error"]["kind"]) == (125, "checkout_unready")
    assert (answer["data"]["state"], answer["data"]["exit_status"]) == ("complete", 0)
    assert not (top / "new").exists()


def test_a_conflict_of_an_apply_is_told_with_the_plan(folder: Path) -> None:
    line = f"echo mine > a.txt; echo yours > {folder}/a.txt"
    free = ["-c", "sandbox.isolate=off", "-c", "sandbox.at=own-path"]
    answer = ask(folder, *free, "run", "--apply", "--", "sh", "-c", line)
    assert (answer["exit_code"], answer["data"]["state"]) == (125, "constrained")
    assert [conflict["path"] for conflict in answer["data"]["conflicts"]] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "yours\n"


def test_a_checkpoint_that_fails_stops_it_like_any_plan(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MULLIGAN_FAULT", "before:pack.sync:2:ENOSPC")
    shown = subprocess.run(
        [sys.executable, "-m", "mulligan", "--format", "json", "run", "sh", "-c", "seq 9 > new"],
        cwd=folder,
        stdout=subprocess.PIPE,
        check=False,
    )
    answer = json.loads(shown.stdout)
    assert (answer["exit_code"], answer["data"]["state"], answer["data"]["exit_status"]) == (
        125,
        "errored",
        None,
    )
    assert answer["error"]["kind"] != "step_failed"


def test_what_can_be_taken_back_again_is_told(folder: Path) -> None:
    for options in (["--apply"], ["--apply", "--in-place"], ["--in-place"]):
        _, shown = on_a_terminal(folder, "run", *options, "touch", "".join(options).lstrip("-"))
        assert "undo it:   mulligan undo" in shown
    assert all((folder / name).exists() for name in ("apply", "apply--in-place", "in-place"))


def test_in_place_the_real_folder_is_worked_on_and_brought_back(folder: Path) -> None:
    data = data_of(folder / "sub", "run", "--in-place", "--resource", ".", "touch", "new")
    assert (folder / "sub" / "new").exists()
    assert (data["phase"], data["state"]) == ("apply", "applied")
    data_of(folder / "sub", "undo", "--yes")
    assert not (folder / "sub" / "new").exists()


# --- on a terminal -----------------------------------------------------------------------------------------


def test_a_terminal_shows_output_a_short_diff_and_what_to_do_next(folder: Path) -> None:
    code, shown = on_a_terminal(folder, *script("echo working; echo two >> a.txt"))
    assert code == 0
    assert "working\n" in shown
    assert "+two" in shown
    assert "1 file differs: 1 line inserted, 0 deleted" in shown
    assert "sh: complete, exit status 0" in shown
    assert "apply it:  mulligan apply sh\n" in shown
    assert shown.rstrip().endswith("undo it:   mulligan undo")


def test_a_long_diff_is_cut_short_and_nothing_is_said_of_nothing(folder: Path) -> None:
    many = "for i in $(seq 40); do seq 9 > f$i; done"
    code, shown = on_a_terminal(folder, "run", "--in-place", "--", "sh", "-c", many)
    assert code == 0
    assert "… and 20 more: mulligan diff --stat sh" in shown
    assert "40 files differ" in shown
    assert "mulligan apply" not in shown
    _, shown = on_a_terminal(folder, "run", "--", "seq", "3")
    assert "nothing differs" in shown
    assert "mulligan apply" not in shown
    assert "mulligan undo" not in shown
    _, shown = on_a_terminal(folder, "run", "--in-place", "--", "true")
    assert "nothing differs" in shown
    assert "mulligan undo" not in shown
    _, shown = on_a_terminal(folder, "run", "--", "sh", "-c", "seq 50 > long")
    assert "all lines: mulligan diff sh-2\n" in shown
    assert " more" not in shown


def test_ctrl_c_reaches_the_command_and_leaves_a_plan_that_can_go_on(folder: Path) -> None:
    (folder / "long.py").write_text(PATIENT)
    code, shown = on_a_terminal(folder, "run", sys.executable, "long.py", typed=(b"ready\r", b"\x03"))
    assert code == 130
    assert "heard it" in shown
    status = data_of(folder, "plan", "status")
    assert (status["phase"], status["state"]) == ("execute", "queued")
    assert f"mulligan resume {status['handle']}" in shown
    assert "`mulligan undo`" in shown
    assert (sandbox(status) / "half").exists()
    back = data_of(folder, "undo", "--yes")
    assert [(c["file"], c["action"]) for c in back["changes_reverted"]] == [("half", "removed")]
    assert ask(folder, "undo", "--yes")["error"]["kind"] == "nothing_to_undo"
