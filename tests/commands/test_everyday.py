"""Small things of everyday use: what refusals name, what is asked, and what is not said twice."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

import mulligan
from mulligan.errors import UsageWrong
from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal
from tests.commands.timelines import killed, plain_folder, use_own_git
from tests.hostile.program import say
from tests.support.git_world import run_git


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


def shown(folder: Path, *words: str) -> str:
    """Return all that people see of a command that is not on a terminal."""
    said = say(folder, *words, format="plain")
    return said.stdout.decode() + said.stderr


def commands_in(text: str) -> list[list[str]]:
    """Return the commands of mulligan that a text names, as words without the program."""
    return [shlex.split(part)[1:] for part in text.split("`")[1::2] if part.startswith("mulligan ")]


def kinds(folder: Path) -> list[str]:
    return [each["handle"] for each in data_of(folder, "list")["plans"]]


APPEND = ("sh", "-c", "echo b >> a.txt; echo new > new")


# --- plans that are over -----------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [("apply", "q1", "--yes"), ("resume", "q1"), ("undo", "q1", "--yes")])
def test_a_refusal_of_a_dropped_plan_names_what_works(folder: Path, act: tuple[str, ...]) -> None:
    data_of(folder, "run", "--name", "q1", "--", *APPEND)
    data_of(folder, "cancel", "q1")
    said = say(folder, *act, format="plain")
    assert said.code == 3
    look, restore, again = commands_in(said.stderr)
    assert "+b" in data_of(folder, *look)["patch"]
    assert restore[0] == "restore"
    assert restore[1].startswith("q1@")
    data_of(folder, *restore[:2], "new", "--yes")
    assert (folder / "new").read_text() == "new\n"
    assert again == ["run", "--", *APPEND]


def test_a_refusal_of_a_plan_that_was_undone_and_ended_names_what_works(folder: Path) -> None:
    data_of(folder, "run", "--in-place", "--name", "q1", "--", *APPEND)
    data_of(folder, "undo", "--yes")
    data_of(folder, "run", "--in-place", "--name", "q2", "--", "true")  # ends q1
    look, again = commands_in(ask(folder, "resume", "q1")["error"]["hint"])
    assert look == ["log"]
    assert [each["undone"] for each in data_of(folder, *look)["entries"] if each["handle"] == "q1"] == [True]
    assert again == ["run", "--in-place", "--", *APPEND]


def test_a_refusal_of_an_applied_plan_names_what_works(folder: Path) -> None:
    data_of(folder, "run", "--apply", "--name", "q1", "--", *APPEND)
    hint = ask(folder, "apply", "--yes", "q1")["error"]["hint"]
    back, look, again = commands_in(hint)
    assert (back[0], look[0], again) == ("unapply", "diff", ["run", "--", *APPEND])


def test_a_plan_of_a_file_is_run_again_from_its_file(folder: Path) -> None:
    (folder / "p.yaml").write_text("name: p\nsteps: [{run: echo b >> a.txt}]\n")
    data_of(folder, "plan", "execute", "p.yaml")
    data_of(folder, "cancel", "p")
    assert ["plan", "execute", "FILE"] in commands_in(ask(folder, "resume", "p")["error"]["hint"])


def test_the_timeline_marks_what_was_dropped_and_where_it_was_done(folder: Path) -> None:
    data_of(folder, "run", "--name", "gone", "--", *APPEND)
    data_of(folder, "cancel", "gone")
    data_of(folder, "run", "--apply", "--name", "kept", "--", "touch", "x")
    data_of(folder, "run", "--in-place", "--name", "real", "--", "touch", "y")
    found = {(e["handle"], e["kind"]): (e["dropped"], e["real"]) for e in data_of(folder, "log")["entries"]}
    assert found == {
        ("gone", "run"): (True, False),
        ("kept", "run"): (False, False),
        ("kept", "apply"): (False, True),
        ("real", "run"): (False, True),
    }
    rows = {line.split()[0]: line for line in shown(folder, "log").splitlines()[1:]}
    assert "dropped" in rows["1"]
    assert "sandbox" in rows["1"]
    assert "real files" in rows["4"]
    assert "real files" in shown(folder, "undo", "--dry-run")
    data_of(folder, "undo", "--yes")
    assert "real files" in shown(folder, "redo", "--dry-run")


def test_a_plan_that_was_cancelled_waits_for_nobody(folder: Path) -> None:
    (folder / "p.yaml").write_text("name: p\nsteps: [{decision: {question: Which way?}}]\n")
    assert ask(folder, "plan", "execute", "p.yaml")["exit_code"] == 4
    data_of(folder, "cancel", "p")
    status = shown(folder, "status", "p")
    assert "waiting" not in status
    assert "Which way?" in status
    assert "waiting" not in data_of(folder, "status", "p")["error"]["message"]


def test_watching_an_ended_plan_says_once_how_it_ended(folder: Path) -> None:
    data_of(folder, "run", "--name", "q1", "--", *APPEND)
    assert shown(folder, "status", "--watch", "q1").count("q1: complete\n") == 1


def test_a_rollback_in_a_moved_checkout_names_what_it_changes_only(folder: Path) -> None:
    run_git(folder, "init", "-q")
    run_git(folder, "add", "a.txt")
    run_git(folder, "commit", "-q", "-m", "first")
    data_of(folder, "run", "--name", "q1", "--", *APPEND)
    moved = folder.rename(folder.with_name("moved"))
    done = data_of(moved, "rollback", "q1@2", "--yes")
    assert [change["file"] for change in done["changes_reverted"]] == ["a.txt", "new"]


def test_a_tree_has_the_words_for_each_node(folder: Path) -> None:
    (folder / "p.yaml").write_text(
        "name: p\nsteps: [{decision: {question: Which?, chosen: this}}, {run: touch x}]\n"
    )
    data_of(folder, "plan", "execute", "p.yaml")
    data_of(folder, "correct", "p/d1", "--choose", "that", "--yes")

    def words(node: dict[str, Any]) -> list[tuple[str, str, int | None]]:
        here = (node["type"], node["handle"], node.get("number"))
        return [here, *(word for child in node["children"] for word in words(child))]

    found = words(data_of(folder, "plan", "tree", "p")["tree"])
    assert found[0] == ("plan", "p", None)
    assert [each for each in found if each[0] == "decision"] == [
        ("decision", "p/d2", 2),
        ("decision", "p/d3", 3),
    ]
    for _, handle, number in [each for each in found if each[0] == "checkpoint"]:
        assert handle == f"p@{number}"
        assert data_of(folder, "checkpoint", "show", handle)["number"] == number


def test_the_newest_plan_for_an_unknown_act_is_refused(folder: Path) -> None:
    data_of(folder, "run", "--name", "q1", "--", *APPEND)
    with pytest.raises(UsageWrong, match="'frobnicate'"):
        mulligan.open(folder).newest_for("frobnicate")


def test_settings_that_an_import_drops_are_set_again_by_the_commands_that_it_names(folder: Path) -> None:
    data_of(folder, "init")
    wanted = data_of(folder, "config", "set", "--add", "sandbox.writable", str(folder.parent / "a,b"))[
        "value"
    ]
    data_of(folder, "config", "set", "sandbox.isolate", "off")
    data_of(folder, "project", "export", "saved")
    (folder.parent / "other").mkdir()
    answer = ask(folder, "project", "import", "saved", "../other")
    again = [command for note in answer["messages"] for command in commands_in(note)]
    assert len(again) == 2
    for command in again:
        data_of(folder, *command)
    assert data_of(folder.parent / "other", "config", "get", "sandbox.writable")["value"] == wanted
    assert data_of(folder.parent / "other", "config", "get", "sandbox.isolate")["value"] == "off"


def test_the_timeline_marks_what_was_taken_and_then_undone(folder: Path) -> None:
    ask(folder, "run", "--name", "f", "--", "sh", "-c", "echo b >> a.txt; exit 3")
    assert "failed" in shown(folder, "log")
    data_of(folder, "accept", "f")
    assert "taken" in shown(folder, "log")
    data_of(folder, "undo", "--yes")
    assert "undone, can be redone" in shown(folder, "log")
    data_of(folder, "redo", "--yes")
    assert "taken" in shown(folder, "log")


def test_the_timeline_marks_what_was_cut_off_and_then_undone(folder: Path) -> None:
    killed(folder, "after:call.run:1:SIGKILL", "run", "--in-place", "--name", "half", "--", *APPEND)
    data_of(folder, "undo", "--yes")
    data_of(folder, "run", "--in-place", "--", "touch", "c.txt")  # nothing can be redone any more
    said = [line for line in shown(folder, "log").splitlines() if " half@" in line]
    assert len(said) == 1
    assert "cut off, undone" in said[0], said


# --- conflicts and questions -------------------------------------------------------------------------------


def test_a_conflict_names_commands_to_paste(folder: Path) -> None:
    data_of(folder, "run", "--name", "c1", "--", "sed", "-i", "s/a/plan/", "a.txt")
    (folder / "a.txt").write_text("mine\n")
    said = say(folder, "apply", "--yes", "c1", format="plain")
    assert said.code == 4
    look, fix, again = commands_in(said.stderr)
    assert "+plan" in data_of(folder, *look)["patch"]
    assert fix == ["run", "--on", "c1", "--", "COMMAND"]
    data_of(folder, *fix[:-1], "cp", "a.txt", "b.txt")  # it works as it is worded
    data_of(folder, "run", "--on", "c1", "--", "sh", "-c", "echo a > a.txt")
    data_of(folder, *again, "--yes")
    assert (folder / "a.txt").read_text() == "mine\n"
    assert (folder / "b.txt").read_text() == "plan\n"


@pytest.mark.parametrize("option", ["--apply", "--in-place"])
def test_a_conflict_of_an_undo_names_commands_to_paste(folder: Path, option: str) -> None:
    data_of(folder, "run", option, "--name", "c1", "--", "sed", "-i", "s/a/plan/", "a.txt")
    (folder / "a.txt").write_text("mine\n")
    said = say(folder, "undo", "--yes", format="plain")
    assert said.code == 4
    for words in commands_in(said.stderr):
        data_of(folder, *words)
    assert commands_in(said.stderr)[0][0] == "diff"


def waiting(folder: Path, name: str) -> None:
    text = f"name: {name}\nsteps: [{{name: s, decision: {{question: Which?, alternatives: [x, y]}}}}]\n"
    (folder / f"{name}.yaml").write_text(text)
    assert ask(folder, "plan", "execute", f"{name}.yaml")["exit_code"] == 4


def test_an_answer_needs_no_plan_where_one_waits(folder: Path) -> None:
    waiting(folder, "one")
    data_of(folder, "answer", "x")
    assert data_of(folder, "status", "one")["state"] == "complete"
    assert ask(folder, "answer", "x")["error"]["kind"] == "no_plan_suits"
    waiting(folder, "two")
    waiting(folder, "three")
    error = ask(folder, "answer", "x")["error"]
    assert error["kind"] == "usage_wrong"
    assert ["answer", "two", "x"] in commands_in(error["hint"])
    data_of(folder, "answer", "two", "y")
    data_of(folder, "answer", "y")
    assert data_of(folder, "status", "three")["state"] == "complete"


# --- what is said ------------------------------------------------------------------------------------------


def test_the_output_of_a_failed_command_is_not_repeated(folder: Path) -> None:
    (folder / "fail").write_text("#!/bin/sh\necho told >&2; exit 3\n")
    (folder / "fail").chmod(0o755)
    said = say(folder, "run", "--", "./fail", format="plain")
    assert said.code == 3
    assert "told" not in said.stderr  # it went to the stream of the process, and once
    assert "shell:" not in said.stderr
    assert "exit status 3" in said.stderr
    assert not ask(folder, "run", "--", "./fail")["error"]["reason"].startswith("shell:")
    (folder / "p.yaml").write_text("name: p\nsteps: [{run: ./fail}]\n")
    said = say(folder, "plan", "execute", "p.yaml", format="plain")
    assert "shell: " in said.stderr


# --- nothing to apply --------------------------------------------------------------------------------------


def test_nothing_is_asked_where_nothing_is_to_be_applied(folder: Path) -> None:
    data_of(folder, "run", "--name", "idle", "--", "true")
    data_of(folder, "apply", "idle")  # without --yes, and without a terminal
    assert data_of(folder, "status", "idle")["state"] == "applied"
    data_of(folder, "run", "--name", "caches", "--", "sh", "-c", "mkdir __pycache__; touch __pycache__/x")
    data_of(folder, "apply", "caches")
    # What is left behind is worth a question: an option takes it over.
    data_of(
        folder, "run", "--name", "hook", "--", "sh", "-c", "mkdir -p in/.git/hooks; touch in/.git/hooks/x"
    )
    assert ask(folder, "apply", "hook")["error"]["kind"] == "confirmation_missing"


@pytest.mark.parametrize("how", ["sandbox", "in place"])
def test_a_command_that_never_started_leaves_no_plan(folder: Path, how: str) -> None:
    options = ("--in-place",) if how == "in place" else ()
    answer = ask(folder, "run", *options, "--", "no-such-program")
    assert (answer["exit_code"], answer["error"]["kind"]) == (127, "step_failed")
    assert ask(folder, "run", *options, "--", "./a.txt")["exit_code"] == 126
    assert ask(folder, "list")["error"]["kind"] == "project_not_found"
    data_of(folder, "run", "--name", "q", "--", *APPEND)
    assert ask(folder, "run", "--on", "q", "--", "no-such-program")["exit_code"] == 127
    plan = data_of(folder, "status", "q")
    assert (plan["state"], len(plan["steps"])) == ("complete", 1)
    data_of(folder, "apply", "--yes", "q")
    assert (folder / "new").exists()


# --- what is shown of a run --------------------------------------------------------------------------------


def test_a_run_that_changed_caches_alone_offers_nothing(folder: Path) -> None:
    cache = "mkdir -p __pycache__; echo x > __pycache__/x.pyc"
    code, seen = on_a_terminal(folder, "run", "--name", "q", "--", "sh", "-c", cache)
    assert code == 0
    assert "mulligan apply" not in seen
    assert "mulligan undo" not in seen
    data_of(folder, "run", "--on", "q", "--", *APPEND)
    code, seen = on_a_terminal(folder, "run", "--on", "q", "--", "sh", "-c", "echo c >> new")
    assert code == 0
    assert "+c" in seen
    assert "+b" not in seen, "that is the step before"
    assert "mulligan diff q" in seen


def test_a_branch_is_not_shown_as_a_path(folder: Path) -> None:
    run_git(folder, "init", "-q", "-b", "main")
    run_git(folder, "add", "-A")
    run_git(folder, "-c", "user.name=n", "-c", "user.email=n@e", "commit", "-qm", "1")
    git = "git -c user.name=n -c user.email=n@e"
    data_of(folder, "run", "--in-place", "--name", "q", "--", "sh", "-c", f"{git} commit -qm 2 --allow-empty")
    seen = shown(folder, "undo", "--dry-run")
    assert ".git/branch" not in seen
    old, new = (run_git(folder, "rev-parse", "--short=7", each).strip() for each in ("main", "main~1"))
    assert f"branch: main {old} → {new}" in seen
    data_of(folder, "undo", "--yes")
    data_of(folder, "run", "--in-place", "--name", "r", "--", "git", "switch", "-qc", "x")
    assert "branch: x → main" in shown(folder, "undo", "--dry-run")
    run_git(folder, "-c", "user.name=n", "-c", "user.email=n@e", "commit", "-qm", "mine", "--allow-empty")
    run_git(folder, "switch", "-qc", "y")
    said = say(folder, "undo", "--yes", format="plain")
    assert said.code == 4
    assert "/.git/branch" not in said.stderr


# --- in place ----------------------------------------------------------------------------------------------


def failed_in_place(folder: Path) -> Any:
    answer = ask(folder, "run", "--in-place", "--name", "p", "--", "sh", "-c", "echo b >> a.txt; exit 3")
    assert (answer["exit_code"], (folder / "a.txt").read_text()) == (3, "a\n")
    return answer["error"]["checkpoint"]


def test_accept_at_a_checkpoint_asks_where_it_changes_real_files(folder: Path) -> None:
    checkpoint = failed_in_place(folder)
    refused = ask(folder, "accept", "p", "--at", checkpoint)
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "confirmation_missing")
    assert (folder / "a.txt").read_text() == "a\n"
    data_of(folder, "accept", "p", "--at", checkpoint, "--yes")
    assert (folder / "a.txt").read_text() == "a\nb\n"


def test_a_plan_that_ended_in_place_is_not_said_to_be_unapplied(folder: Path) -> None:
    data_of(folder, "run", "--in-place", "--name", "p", "--", *APPEND)
    error = ask(folder, "run", "--on", "p", "--", "true")["error"]
    named = commands_in(error["hint"])
    assert ["undo", "p"] in named
    assert all(words[0] != "unapply" for words in named)
