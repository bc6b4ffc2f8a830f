"""The timeline of a folder where files are in use, commands are killed, or others are at work."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from threading import Timer

import pytest

import mulligan
from mulligan.application.timeline import cut_off_work
from tests.commands.program import ask, data_of
from tests.commands.timelines import in_place, killed, kind_of, plain_folder, redo, undo, use_own_git
from tests.support.earlier_schema import as_version
from tests.support.homes import home_of

IN_PLACE = {"sandbox.strategy": "in_place"}


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


def test_a_log_that_a_program_has_open_is_left_as_it_is_and_named(folder: Path) -> None:
    (folder / "app.log").write_text("started\n")
    in_place(folder, "echo b >> a.txt; echo step >> app.log")
    with (folder / "app.log").open("a") as log:
        log.write("later\n")
        log.flush()
        answer = ask(folder, "undo", "--yes")
    assert answer["exit_code"] == 0, answer
    assert (folder / "a.txt").read_text() == "a\n"
    assert (folder / "app.log").read_text() == "started\nstep\nlater\n"
    assert any("app.log" in message for message in answer["messages"])


def test_a_file_in_use_that_nobody_changed_since_refuses_the_undo(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt; echo new > new")
    with (folder / "a.txt").open("a"):
        assert kind_of(folder, "undo", "--yes") == (3, "file_in_use")
    assert (folder / "a.txt").read_text() == "a\nb\n"
    assert (folder / "new").exists()
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"


def test_a_conflict_in_a_file_that_is_being_written_blocks_nothing(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt; echo first > state")
    writer = (
        "import itertools, os, time\n"
        "for n in itertools.count():\n"
        "    open('state.new', 'w').write(str(n)); os.rename('state.new', 'state'); time.sleep(0.001)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", writer], cwd=folder)
    try:
        while (folder / "state").read_text() == "first\n":
            time.sleep(0.01)
        undo(folder)
        assert (folder / "a.txt").read_text() == "a\n"
    finally:
        process.kill()
        process.wait()
    assert (folder / "state").exists()


def test_an_undo_in_a_sandbox_that_was_killed_is_finished_once(folder: Path) -> None:
    boxes = [
        Path(data_of(folder, "run", "--name", name, "--", "touch", name)["sandboxes"][0]["path"])
        for name in ("one", "two")
    ]
    killed(folder, "before:return.settle:1:SIGKILL", "undo", "--yes")
    undo(folder)
    assert [(boxes[0] / "one").exists(), (boxes[1] / "two").exists()] == [True, False]
    killed(folder, "before:return.settle:1:SIGKILL", "redo", "--yes")
    redo(folder)
    assert (boxes[1] / "two").exists()
    assert data_of(folder, "status", "two")["state"] == "complete"


def test_a_killed_undo_in_place_is_put_back_by_the_next_plan(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt; echo new > new", "--name", "real")
    killed(folder, "before:undo.settle:1:SIGKILL", "undo", "--yes")
    assert ask(folder, "undo", "--dry-run")["messages"], "it says that it would be put back first"
    in_place(folder, "echo c > c.txt")
    assert (folder / "a.txt").read_text() == "a\nb\n"
    assert data_of(folder, "status", "real")["state"] == "applied"
    undo(folder)
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"


def test_a_killed_redo_is_named_by_the_status_and_settled_by_the_doctor(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt; touch new")
    undo(folder)
    killed(folder, "after:restore.place:1:SIGKILL", "redo", "--yes")
    assert "real files" in data_of(folder, "status")["error"]["message"]
    doctor = data_of(folder, "doctor")
    assert any("took back what was cut off (undo)" in each["what"] for each in doctor["findings"])
    assert doctor["waiting"] == []
    assert (folder / "a.txt").read_text() == "a\n"
    assert not (folder / "new").exists()
    assert data_of(folder, "status")["error"] is None
    data_of(folder, "redo", "--yes")
    assert (folder / "a.txt").read_text() == "a\nb\n"


def test_the_doctor_says_that_a_killed_apply_left_real_files_half_changed(folder: Path) -> None:
    data_of(folder, "run", "--name", "box", "--", "sh", "-c", "echo b >> a.txt; touch new")
    killed(folder, "after:restore.place:1:SIGKILL", "apply", "--yes")
    (waiting,) = data_of(folder, "doctor")["waiting"]
    assert "real files may be half changed; `mulligan resume " in waiting
    assert ask(folder, "resume", "box")["error"]["kind"] == "plan_already_complete"
    assert ((folder / "a.txt").read_text(), (folder / "new").exists()) == ("a\n", False)
    assert data_of(folder, "doctor")["waiting"] == []


@pytest.mark.parametrize("act", ["apply", "restore"])
def test_an_undo_after_a_killed_change_of_real_files_takes_back_that_change_alone(
    folder: Path, act: str
) -> None:
    in_place(folder, "echo b >> a.txt", "--name", "real")
    data_of(folder, "run", "--name", "box", "--", "sh", "-c", "echo c > c; echo d > d; echo e > a.txt")
    words = ("apply", "--yes", "box") if act == "apply" else ("restore", "--yes", "real@1", "a.txt")
    killed(folder, "after:restore.place:1:SIGKILL", *words)
    assert kind_of(folder, "undo", "--dry-run") == (3, "nothing_to_undo")
    assert kind_of(folder, "undo") == (3, "nothing_to_undo")
    files = {path.name for path in folder.iterdir()} - {".mulligan"}
    assert files != {"a.txt"} or (folder / "a.txt").read_text() != "a\nb\n", "nothing is settled yet"
    answer = ask(folder, "undo", "--yes")
    assert (answer["exit_code"], answer["error"]["kind"]) == (3, "nothing_to_undo")
    assert "undo 2" in answer["error"]["hint"]
    assert {path.name for path in folder.iterdir()} == {"a.txt", ".mulligan"}
    assert (folder / "a.txt").read_text() == "a\nb\n"
    assert data_of(folder, "status", "box")["state"] == "complete"
    assert undo(folder)["entry"]["number"] == 2
    assert (folder / "a.txt").read_text() == "a\nb\n"


def test_an_undo_after_a_killed_redo_and_a_redo_after_a_killed_undo_take_back_that_alone(
    folder: Path,
) -> None:
    in_place(folder, "echo b >> a.txt")
    in_place(folder, "echo c >> a.txt")
    killed(folder, "before:undo.settle:1:SIGKILL", "undo", "--yes")
    assert kind_of(folder, "redo", "--yes") == (3, "nothing_to_redo")
    assert (folder / "a.txt").read_text() == "a\nb\nc\n"
    undo(folder)
    killed(folder, "before:undo.settle:1:SIGKILL", "redo", "--yes")
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    assert (folder / "a.txt").read_text() == "a\nb\n"
    killed(folder, "before:undo.settle:1:SIGKILL", "redo", "--yes")
    redo(folder)
    assert (folder / "a.txt").read_text() == "a\nb\nc\n"


def test_an_undo_after_a_killed_redo_in_a_sandbox_takes_that_entry_back(folder: Path) -> None:
    boxes = [
        Path(data_of(folder, "run", "--name", name, "--", "touch", name)["sandboxes"][0]["path"])
        for name in ("one", "two")
    ]
    undo(folder)
    killed(folder, "before:return.settle:1:SIGKILL", "redo", "--yes")
    undo(folder)
    assert [(boxes[0] / "one").exists(), (boxes[1] / "two").exists()] == [True, False]
    killed(folder, "before:return.settle:1:SIGKILL", "redo", "--yes")
    killed(folder, "before:return.settle:1:SIGKILL", "undo", "--yes")
    redo(folder)
    assert (boxes[1] / "two").exists()


def test_a_killed_undo_of_an_apply_is_repeated(folder: Path) -> None:
    data_of(folder, "run", "--name", "box", "--", "sh", "-c", "echo c > c; echo d > d")
    data_of(folder, "apply", "--yes", "box")
    killed(folder, "before:apply.settle:1:SIGKILL", "undo", "--yes")
    undo(folder)
    assert {path.name for path in folder.iterdir()} == {"a.txt", ".mulligan"}
    killed(folder, "before:apply.settle:1:SIGKILL", "redo", "--yes")
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    redo(folder)
    killed(folder, "before:apply.settle:1:SIGKILL", "unapply", "--yes", "box")
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    assert (folder / "c").exists()
    undo(folder)
    assert not (folder / "c").exists()


def test_a_session_in_place_that_stopped_ends_when_the_next_plan_begins(folder: Path) -> None:
    project = mulligan.init(folder)
    with pytest.raises(ValueError, match="stop"), project.session("work", config=IN_PLACE) as session:  # noqa: PT012 - what raises is the end of the session
        with session.step("one"):
            (folder / "one").write_text("1")
        raise ValueError("stop")
    in_place(folder, "echo c > c.txt")
    assert data_of(folder, "status", "work")["state"] == "cancelled"
    undo(folder)
    undo(folder)
    assert not (folder / "one").exists()
    assert data_of(folder, "status", "work")["state"] == "cancelled"
    redo(folder)
    assert (folder / "one").exists()


def test_a_session_in_place_that_completes_has_ended(folder: Path) -> None:
    project = mulligan.init(folder)
    with project.session("work", config=IN_PLACE) as session:
        for name in ("one", "two"):
            with session.step(name):
                (folder / name).write_text(name)
    assert data_of(folder, "status", "work")["state"] == "applied"
    undo(folder)
    assert [(folder / "one").exists(), (folder / "two").exists()] == [True, False]
    redo(folder)
    assert data_of(folder, "status", "work")["state"] == "applied"


def test_two_applies_at_once_wait_for_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        data_of(folder, "run", "--name", name, "--", "touch", name)
    environment = {**os.environ, "MULLIGAN_FAULT": "after:apply.ready:1:SIGSTOP"}
    command = [sys.executable, "-m", "mulligan", "apply", "--yes", "one", "--format", "json"]
    slow = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE)
    try:
        os.waitpid(slow.pid, os.WUNTRACED)
        monkeypatch.setattr(cut_off_work, "_PATIENCE", 0.2)
        answer = ask(folder, "apply", "--yes", "two")
        assert (answer["exit_code"], answer["error"]["kind"]) == (3, "apply_under_way")
        assert answer["error"]["pid"] == slow.pid
        monkeypatch.undo()
        Timer(0.5, slow.send_signal, [signal.SIGCONT]).start()
        data_of(folder, "apply", "--yes", "two")
    finally:
        slow.send_signal(signal.SIGCONT)
        slow.communicate()
    assert (folder / "one").exists()
    assert (folder / "two").exists()


def test_a_database_of_an_earlier_version_gets_its_timeline(folder: Path) -> None:
    data_of(folder, "init")
    data_of(folder, "config", "set", "sandbox.cleanup", "manual")
    data_of(folder, "run", "--name", "box", "--", "touch", "one")
    data_of(folder, "apply", "--yes", "box")
    in_place(folder, "touch two", "--name", "real")
    (folder / "plan.yaml").write_text(
        "name: p\nsteps:\n" + "".join(f"  - {{name: s{n}, run: touch s{n}}}\n" for n in range(2))
    )
    data_of(folder, "plan", "execute", "plan.yaml")
    before = data_of(folder, "log")["entries"]
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db, db:
        as_version(db, 12)
    after = data_of(folder, "log")["entries"]
    wanted = [(e["number"], e["handle"], e["title"], e["before"], e["after"]) for e in before]
    found = [(e["number"], e["handle"], e["title"], e["before"], e["after"]) for e in after]
    assert [each[1:3] for each in found] == [each[1:3] for each in wanted]
    assert [each for each in found if each[2] != "box"] == [each for each in wanted if each[2] != "box"]
    undo(folder)
    undo(folder)
    undo(folder)
    assert not (folder / "two").exists()
    undo(folder)
    assert not (folder / "one").exists()


def test_what_was_applied_before_a_plan_in_place_is_undone_after_it(folder: Path) -> None:
    data_of(folder, "run", "--name", "box", "--", "touch", "one")
    data_of(folder, "apply", "--yes", "box")
    step = "{name: s, tool: shell, args: {command: touch two}}"
    (folder / "plan.yaml").write_text(
        f"name: p\nconfig: {{sandbox.strategy: in_place}}\nsteps:\n  - {step}\n"
    )
    data_of(folder, "plan", "execute", "plan.yaml")
    undo(folder)
    assert not (folder / "two").exists()
    undo(folder)
    assert not (folder / "one").exists()
