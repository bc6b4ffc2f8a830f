"""What a process that died left in a real folder: whose changes are whose, and what the next command finishes first."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of
from tests.commands.timelines import cut_off, in_place, killed, plain_folder, undo, use_own_git
from tests.support.git_world import run_git
from tests.support.homes import home_of

CUT_OFF = ("run", "--in-place", "--name", "cut", "--", "sh", "-c", "echo changed > a.txt")


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


# --- what changes after a command that was cut off ----------------------------------------------------------


def test_what_is_applied_after_a_command_was_cut_off_is_not_its_own(folder: Path) -> None:
    data_of(folder, "run", "--name", "box", "--", "touch", "applied")
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    data_of(folder, "apply", "box", "--yes")
    undo(folder, "cut")
    assert contents(folder) == {"a.txt": "a\n", "applied": ""}


EVENTS: dict[str, Callable[[Path], object]] = {
    "accept": lambda folder: data_of(folder, "accept", "cut"),
    "cancel": lambda folder: data_of(folder, "cancel", "cut"),
    "sandbox": lambda folder: data_of(folder, "run", "--name", "box", "--", "true"),
    "label": lambda folder: data_of(folder, "checkpoint", "create", "cut", "--label", "here"),
    "restore": lambda folder: data_of(folder, "restore", "cut@1", "lost", "--yes"),
}


@pytest.mark.parametrize("event", EVENTS)
def test_a_command_that_was_cut_off_owns_changes_until_the_next_event(folder: Path, event: str) -> None:
    (folder / "user").write_text("user\n")
    (folder / "lost").write_text("lost\n")
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    (folder / "lost").unlink()
    EVENTS[event](folder)
    (folder / "user").write_text("edited\n")
    in_place(folder, "echo later > later", "--name", "later")
    undo(folder, "1")
    assert contents(folder) == {"a.txt": "a\n", "user": "edited\n", "later": "later\n", "lost": "lost\n"}


def test_a_commit_after_the_next_event_stays(tmp_path: Path) -> None:
    folder = plain_folder(tmp_path)
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    data_of(folder, "run", "--name", "box", "--", "true")
    (folder / "mine").write_text("mine\n")
    run_git(folder, "add", "mine")
    run_git(folder, "commit", "-qm", "second")
    undo(folder, "cut")
    assert run_git(folder, "log", "--format=%s").split() == ["second", "first"]
    assert contents(folder) == {"a.txt": "a\n", "mine": "mine\n"}


@pytest.mark.parametrize("event", ["none", "sandbox"])
def test_a_commit_after_a_command_was_cut_off_stays_with_what_is_in_it(tmp_path: Path, event: str) -> None:
    folder = plain_folder(tmp_path)
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-qm", "first")
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    (folder / "mine").write_text("mine\n")
    (folder / "loose").write_text("loose\n")
    run_git(folder, "add", "mine")
    run_git(folder, "commit", "-qm", "second")
    if event == "sandbox":
        data_of(folder, "run", "--name", "box", "--", "true")
    answer = ask(folder, "undo", "cut", "--yes")
    assert answer["exit_code"] == 0, answer
    assert any("commits" in message for message in answer["messages"])
    assert run_git(folder, "log", "--format=%s").split() == ["second", "first"]
    assert contents(folder) == {"a.txt": "a\n", "mine": "mine\n"}
    assert run_git(folder, "status", "--porcelain") == ""
    data_of(folder, "redo", "--yes")
    assert contents(folder) == {"a.txt": "changed\n", "mine": "mine\n", "loose": "loose\n"}
    assert run_git(folder, "log", "--format=%s").split() == ["second", "first"]


def test_an_undo_without_the_checkpoint_of_the_end_is_refused(folder: Path) -> None:
    killed(folder, "after:call.run:1:SIGKILL", *CUT_OFF)
    data_of(folder, "run", "--name", "box", "--", "true")
    end = data_of(folder, "log")["entries"][1]["after"]
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db, db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("UPDATE plans SET current_group_id = NULL WHERE handle = 'cut'")
        db.execute("DELETE FROM checkpoint_groups WHERE group_id = ?", (end["group_id"],))
    (folder / "user").write_text("user\n")
    answer = ask(folder, "undo", "cut", "--yes")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "nothing_to_undo")
    assert contents(folder) == {"a.txt": "changed\n", "user": "user\n"}


# --- what was cut off in the middle ---------------------------------------------------------------------------


def three_files(folder: Path) -> None:
    for name in ("f1", "f2", "f3"):
        (folder / name).write_text("old\n")
    in_place(folder, "for i in 1 2 3; do echo new > f$i; done", "--name", "real")


def test_a_rollback_in_place_that_was_cut_off_is_finished_before_anything_newer(folder: Path) -> None:
    three_files(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "rollback", "real", "@1", "--yes")
    assert data_of(folder, "status", "real")["error"]["recoverable"]
    in_place(folder, "rm a.txt; cat f1 f2 f3 > seen; echo newer > f1", "--name", "newer")
    wanted = {"f1": "newer\n", "f2": "old\n", "f3": "old\n", "seen": "old\n" * 3}
    assert contents(folder) == wanted
    data_of(folder, "restore", "real@1", "a.txt", "--yes")
    assert contents(folder) == {**wanted, "a.txt": "a\n"}


def test_a_live_rollback_in_place_holds_its_folder(folder: Path) -> None:
    three_files(folder)
    words = [sys.executable, "-m", "mulligan", "rollback", "real", "@1", "--yes"]
    around = {**os.environ, "MULLIGAN_FAULT": "after:restore.place:1:SIGSTOP"}
    slow = subprocess.Popen(words, cwd=folder, env=around, stdout=subprocess.DEVNULL)
    try:
        os.waitpid(slow.pid, os.WUNTRACED)
        answer = ask(folder, "run", "--in-place", "--", "true")
    finally:
        slow.send_signal(signal.SIGCONT)
        slow.wait()
    assert answer["error"]["kind"] == "apply_under_way"
    assert contents(folder) == {"a.txt": "a\n", "f1": "old\n", "f2": "old\n", "f3": "old\n"}


def test_a_rollback_that_holds_no_folder_is_taken_back_after_newer_work(folder: Path) -> None:
    """One that an earlier version recorded."""
    three_files(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "rollback", "real", "@1", "--yes")
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db, db:
        db.execute("UPDATE intents SET data_json = json_remove(data_json, '$.locations')")
    in_place(folder, "rm a.txt; echo newer > newer", "--name", "newer")
    data_of(folder, "restore", "real@1", "f2", "--yes")
    assert contents(folder) == {"f1": "new\n", "f2": "old\n", "f3": "new\n", "newer": "newer\n"}


def test_what_was_cut_off_is_settled_before_a_sandbox_is_made(folder: Path) -> None:
    three_files(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "undo", "--yes")
    copied = data_of(folder, "run", "--name", "box", "--", "sh", "-c", "cat f1 f2 f3")
    assert copied["stdout"] == "new\n" * 3
    undo(folder, "real")
    assert contents(folder) == {"a.txt": "a\n", "f1": "old\n", "f2": "old\n", "f3": "old\n"}


def test_an_undo_that_was_cut_off_does_not_block_that_of_another_entry(folder: Path) -> None:
    in_place(folder, "echo first > first", "--name", "first")
    three_files(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "undo", "--yes")
    undo(folder, "first")
    assert contents(folder) == {"a.txt": "a\n", "f1": "new\n", "f2": "new\n", "f3": "new\n"}


def test_doctor_finishes_what_was_cut_off_in_place(folder: Path) -> None:
    three_files(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "rollback", "real", "@1", "--yes")
    (found,) = data_of(folder, "doctor")["findings"]
    assert (found["area"], found["repaired"]) == ("leftovers", True)
    assert contents(folder) == {"a.txt": "a\n", "f1": "old\n", "f2": "old\n", "f3": "old\n"}


@pytest.mark.parametrize("command", ["undo", "apply"])
def test_a_signal_after_the_end_does_not_ask_for_the_command_again(folder: Path, command: str) -> None:
    in_place(folder, "touch one")
    data_of(folder, "run", "--name", "box", "--", "touch", "two")
    act = "undo.settle" if command == "undo" else "apply.settle"
    words = ("undo", "1", "--yes") if command == "undo" else ("apply", "box", "--yes")
    ended = cut_off(folder, f"after:{act}:1:SIGTERM", *words, "--format", "json")
    answer = json.loads(ended.stdout)
    assert (answer["exit_code"], answer["error"]["kind"]) == (130, "interrupted")
    assert "`mulligan log`" in answer["error"]["hint"]
    assert {*contents(folder)} == ({"a.txt"} if command == "undo" else {"a.txt", "one", "two"})
