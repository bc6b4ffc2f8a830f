"""`bisect`: the first checkpoint of a plan at which a command fails, found without touching anything."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mulligan
from tests.commands.program import ask, data_of
from tests.commands.timelines import kind_of, plain_folder, use_own_git
from tests.hostile.program import say
from tests.support.git_world import run_git
from tests.support.homes import home_of
from tests.support.patience import PATIENCE, wait_until
from tests.support.snapshot_world import picture

PLAN = """
name: many
steps:
  - {name: one, run: echo 1 >> a.txt}
  - {name: choose, decision: {question: Which?, chosen: this}}
  - {name: look, run: "true"}
  - {name: breaks, run: echo BROKEN >> a.txt; echo 5 > x, checkpoint: broken}
  - {name: more, run: echo 3 >> a.txt}
  - {name: last, run: echo 4 >> a.txt}
"""
INTACT = ("sh", "-c", "! grep -q BROKEN a.txt")


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = plain_folder(tmp_path)
    (made / "p.yaml").write_text(PLAN)
    data_of(made, "plan", "execute", "p.yaml")
    return made


def found_in(folder: Path, *words: str, command: tuple[str, ...] = INTACT) -> Any:
    return data_of(folder, "bisect", *words, "--", *command)


def rows_of(folder: Path) -> str:
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db:
        return "\n".join(db.iterdump())


def test_the_first_that_fails_comes_with_its_step_call_decision_and_change(folder: Path) -> None:
    found = found_in(folder)
    first = found["first_bad"]
    assert (first["handle"], first["step"]) == ("many", "breaks")
    assert first["tool_call"]["about"] == "echo BROKEN >> a.txt; echo 5 > x"
    assert (first["decision"]["handle"], first["decision"]["chosen"]) == ("many/d1", "this")
    assert (first["files"], first["insertions"], first["deletions"]) == (2, 2, 0)
    assert first["label"] == "broken"
    assert found["candidates"] == [first["number"]]
    assert found["skipped"] == []
    numbers = [trial["number"] for trial in found["trials"]]
    assert [numbers[0], numbers[1]] == [found["good"], found["bad"]]
    assert len(numbers) == len({*numbers}) <= 4, "groups that hold the same are tried once"
    assert {trial["result"] for trial in found["trials"]} == {"passed", "failed"}


def test_nothing_else_is_touched(folder: Path) -> None:
    (sandbox,) = data_of(folder, "status", "many")["sandboxes"]
    (folder / "mine").write_text("mine")
    before = rows_of(folder), picture(folder), picture(Path(sandbox["path"]))
    writing = ("sh", "-c", "rm -rf *; echo > more; mkdir -m 0 closed; exit 1")
    found_in(folder, command=("sh", "-c", f"! grep -q BROKEN a.txt || {{ {writing[2]}; }}"))
    assert (rows_of(folder), picture(folder), picture(Path(sandbox["path"]))) == before
    assert list((home_of(folder) / "sandboxes" / ".trials").iterdir()) == []


def test_the_command_sees_the_copy_at_the_real_path_and_writes_nowhere_else(folder: Path) -> None:
    inside = ("sh", "-c", f"cd {folder} && test $PWD = {folder} && ! test -e x && touch probe")
    assert found_in(folder, command=inside)["first_bad"]["step"] == "breaks"
    assert not (folder / "probe").exists()
    outside = folder.parent / "outside"
    kind = ask(folder, "bisect", "-c", "sandbox.isolate=required", "--", "touch", str(home_of(folder) / "x"))
    assert kind["error"]["kind"] == "bisection_ends_wrong"
    assert not outside.exists()


def test_it_starts_in_the_folder_of_the_caller(folder: Path) -> None:
    (folder / "sub").mkdir()
    data_of(folder, "run", "--name", "s", "--", "sh", "-c", "echo 1 > sub/one")
    found = found_in(folder / "sub", "s", command=("sh", "-c", "! test -e one"))
    assert found["first_bad"]["handle"] == "s"


@pytest.mark.parametrize(
    ("command", "kind", "code"),
    [
        (("false",), "bisection_ends_wrong", 3),
        (("true",), "bisection_ends_wrong", 3),
        (("no-such-program",), "bisection_ends_wrong", 3),
        (("sh", "-c", "exit 125"), "bisection_ends_wrong", 3),
        (("sh", "-c", "kill -9 $$"), "bisection_stopped", 1),
        (("sh", "-c", "grep -q BROKEN a.txt && exit 130; true"), "bisection_stopped", 1),
        (
            ("sh", "-c", "grep -q 3 a.txt && exit 1; grep -q 1 a.txt && exit 125; exit 0"),
            "bisection_undecided",
            1,
        ),
        ((), "usage_wrong", 2),
    ],
)
def test_what_cannot_be_found_is_said(folder: Path, command: tuple[str, ...], kind: str, code: int) -> None:
    assert kind_of(folder, "bisect", "--", *command) == (code, kind)
    assert list((home_of(folder) / "sandboxes" / ".trials").glob("*")) == []


def test_skipped_groups_leave_several_candidates(folder: Path) -> None:
    skipping = "grep -q 3 a.txt && exit 1; grep -q 1 a.txt && exit 125; exit 0"
    answer = ask(folder, "bisect", "--", "sh", "-c", skipping)
    data = answer["data"]
    assert data["first_bad"] is None
    assert len(data["skipped"]) == 2
    assert data["candidates"][:-1] == data["skipped"]
    assert f"many@{data['candidates'][-1]}" in answer["error"]["message"]


def test_ends_are_named_by_numbers_labels_entries_and_plans(folder: Path) -> None:
    number = found_in(folder)["first_bad"]["number"]
    (entry,) = [e["number"] for e in data_of(folder, "log")["entries"] if e["title"] == "breaks"]
    for words in (
        ("--good", "@2", "--bad", "broken"),
        ("--bad", str(entry)),
        ("many", "--good", "many@2"),
        (f"many@{number}",),
        ("--good", f"many@{number - 1}", "--bad", f"@{number}"),
    ):
        assert found_in(folder, *words)["first_bad"]["number"] == number, words
    data_of(folder, "run", "--name", "other", "--", "touch", "y")
    assert kind_of(folder, "bisect", "many", "--bad", "other@2", "--", "true") == (3, "checkpoint_foreign")
    assert kind_of(folder, "bisect", "many", "--good", "@4", "--bad", "@2", "--", "true") == (
        3,
        "bisection_impossible",
    )
    assert kind_of(folder, "bisect", "many", "--good", "@2", "--bad", "@2", "--", "true") == (
        3,
        "bisection_impossible",
    )
    assert kind_of(folder, "bisect", "many@3", "--bad", "@4", "--", "true") == (2, "usage_wrong")


def test_a_group_that_holds_real_resources_is_no_end(folder: Path) -> None:
    data_of(folder, "apply", "--yes", "many")
    held = next(
        c["number"]
        for c in data_of(folder, "checkpoint", "list", "many")["checkpoints"]
        if c["checkpoint_type"] == "pre_apply"
    )
    assert kind_of(folder, "bisect", "many", "--bad", f"@{held}", "--", "true") == (3, "bisection_impossible")
    assert found_in(folder, "many")["first_bad"]["step"] == "breaks", "sandboxes that are gone do not matter"


def test_an_abandoned_attempt_is_searched_along_its_own_line(folder: Path) -> None:
    number = found_in(folder)["first_bad"]["number"]
    data_of(folder, "rollback", "many", "@4", "--yes")
    (folder / "p.yaml").write_text(PLAN.replace("echo BROKEN >> a.txt; echo 5 > x", "echo fine >> a.txt"))
    data_of(folder, "resume", "many", "--plan", "p.yaml")
    assert kind_of(folder, "bisect", "many", "--", *INTACT) == (3, "bisection_ends_wrong")
    assert found_in(folder, "many", "--bad", f"@{number + 1}")["first_bad"]["number"] == number


def test_plans_in_place_are_searched_in_copies(folder: Path) -> None:
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "first")
    (folder / "q.yaml").write_text(
        PLAN.replace("name: many", "name: real\nconfig: {sandbox.strategy: in_place}")
    )
    data_of(folder, "plan", "execute", "q.yaml")
    before = picture(folder)
    git = "git log --oneline | grep -q first && git diff > d; ! grep -q BROKEN a.txt"
    found = found_in(folder, command=("sh", "-c", git))
    assert (found["handle"], found["first_bad"]["step"]) == ("real", "breaks")
    assert picture(folder) == before


def test_checkouts_have_their_git_directory_of_then(folder: Path) -> None:
    run_git(folder, "init", "-q")
    run_git(folder, "add", ".")
    run_git(folder, "commit", "-q", "-m", "first")
    commit = "git -c user.name=x -c user.email=x@y commit -qam"
    (folder / "q.yaml").write_text(
        f"name: commits\nsteps: [{{run: echo 1 >> a.txt; {commit} one}}, {{run: echo 2 >> a.txt; {commit} two}}]\n"
    )
    data_of(folder, "plan", "execute", "q.yaml")
    refs = run_git(folder, "for-each-ref")
    found = found_in(folder, "commits", command=("sh", "-c", "! git log --format=%s | grep -q two"))
    assert found["first_bad"]["step"] == "step-2"
    assert run_git(folder, "for-each-ref") == refs


def test_databases_inside_of_folders_are_part_of_the_copy(tmp_path: Path) -> None:
    folder = plain_folder(tmp_path)
    with closing(sqlite3.connect(folder / "d.db")) as db:
        db.execute("create table t (x)")
    (folder / "p.yaml").write_text(
        """
name: rows
resources:
  files: {type: fs-directory, location: .}
  rows: {type: sqlite, location: d.db}
steps:
  - {tool: sql, resource: rows, args: {statements: ["insert into t values (1)"]}}
  - {run: echo > x, resource: files}
  - {tool: sql, resource: rows, args: {statements: ["insert into t values (2)"]}}
  - {run: echo > y, resource: files}
"""
    )
    data_of(folder, "plan", "execute", "p.yaml")
    count = "sqlite3.connect('d.db').execute('select count(*) from t').fetchone()[0]"
    program = f"import sqlite3, sys; sys.exit({count} > 1)"
    found = found_in(folder, command=(sys.executable, "-c", program))
    assert found["first_bad"]["step"] == "step-3"


def test_excluded_paths_are_there_and_a_removed_sandbox_is_not_needed(tmp_path: Path) -> None:
    folder = plain_folder(tmp_path)
    (folder / ".mulliganignore").write_text("big/\n")
    (folder / "big").mkdir()
    (folder / "big" / "cache").write_text("cached")
    data_of(folder, "run", "--name", "e", "--", "sh", "-c", "echo BROKEN >> a.txt")
    command = ("sh", "-c", "test -s big/cache && ! grep -q BROKEN a.txt")
    assert found_in(folder, "e", command=command)["first_bad"]["handle"] == "e"
    shutil.rmtree(home_of(folder) / "sandboxes")
    assert found_in(folder, "e", command=command)["first_bad"]["handle"] == "e"


def test_people_see_each_trial_and_then_the_change(folder: Path) -> None:
    said = say(folder, "bisect", "--", *INTACT, format="plain")
    assert said.code == 0
    lines = said.stderr.splitlines()
    assert len(lines) == 4
    assert "at the start" in lines[0]
    assert "passed" in lines[0]
    assert "failed (1)" in lines[1]
    shown = said.stdout.decode()
    assert "many@7 is the first that fails: your label 'broken'" in shown
    assert "step: breaks\n" in shown
    assert "after the decision many/d1: Which? this\n" in shown
    assert "2 files differ: 2 lines inserted, 0 deleted\n" in shown
    command = shown.splitlines()[-1].partition("mulligan ")[2].split()
    assert "+BROKEN" in data_of(folder, *command)["patch"]
    assert "loud" not in said.stderr
    loud = say(folder, "bisect", "-v", "--", "sh", "-c", f"echo loud; {INTACT[2]}", format="plain")
    assert loud.stderr.count("loud\n") == 4
    undecided = say(
        folder,
        "bisect",
        "--",
        "sh",
        "-c",
        "grep -q 3 a.txt && exit 1; grep -q 1 a.txt && exit 125; true",
        format="plain",
    )
    assert "many: not found" in undecided.stdout.decode()
    assert "skipped" in undecided.stderr


def test_without_a_plan_the_newest_with_two_groups_is_meant(folder: Path) -> None:
    (folder / "none.yaml").write_text("name: none\nrollback_policy: {enabled: false}\nsteps: [{run: echo}]\n")
    data_of(folder, "plan", "execute", "none.yaml")
    assert found_in(folder)["handle"] == "many"


def test_without_any_plan_it_is_refused(tmp_path: Path) -> None:
    folder = plain_folder(tmp_path)
    data_of(folder, "init")
    assert kind_of(folder, "bisect", "--", "true") == (3, "no_plans_yet")
    (folder / "p.yaml").write_text("name: p\nsteps: [{run: echo}]\n")
    data_of(folder, "plan", "create", "p.yaml")
    assert kind_of(folder, "bisect", "--", "true") == (3, "no_plan_suits")


def test_programs_follow_it_through_the_api(folder: Path) -> None:
    trials, printed = list[int](), list[bytes]()
    with_output = ["sh", "-c", f"echo loud; {INTACT[2]}"]
    found = mulligan.open(folder).bisect(
        with_output, tried=lambda trial: trials.append(trial.number), printed=printed.append
    )
    assert trials == [trial.number for trial in found.trials]
    assert b"".join(printed) == b"loud\n" * len(trials)
    assert found.first_bad is not None
    assert found.trials[0].stdout == "loud\n"


def test_edits_by_hand_and_sessions_are_named(folder: Path) -> None:
    project = mulligan.open(folder)
    with project.session("agent") as session:
        with session.step("first"):
            (session.path() / "b.txt").write_text("1")
        with session.step("second"):
            (session.path() / "a.txt").write_text("BROKEN")
    first = found_in(folder)["first_bad"]
    assert (first["handle"], first["step"], first["tool_call"]) == ("agent", "second", None)
    (folder / "q.yaml").write_text("name: q\nsteps: [{run: echo > x}, {run: test -e y}]\n")
    ask(folder, "plan", "execute", "q.yaml")
    (sandbox,) = data_of(folder, "status", "q")["sandboxes"]
    (Path(sandbox["path"]) / "y").write_text("BROKEN")
    data_of(folder, "resume", "q")
    found = found_in(folder, "q", command=("sh", "-c", "! test -e y"))
    assert found["first_bad"]["step"] is None
    assert (
        "edited by hand"
        in say(folder, "bisect", "q", "--", "sh", "-c", "! test -e y", format="plain").stdout.decode()
    )


@pytest.mark.processes_measured
def test_an_interrupted_one_leaves_nothing(folder: Path) -> None:
    waiting = folder.parent / "waiting"
    command = [sys.executable, "-m", "mulligan", "bisect", "-c", f"sandbox.writable={folder.parent}"]
    process = subprocess.Popen(
        [*command, "-c", "sandbox.isolate=off", "--", "sh", "-c", f"touch {waiting}; sleep 60"], cwd=folder
    )
    wait_until(lambda: waiting.exists() or process.poll() is not None, "the command to run")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=PATIENCE) == 130
    assert list((home_of(folder) / "sandboxes" / ".trials").iterdir()) == []
