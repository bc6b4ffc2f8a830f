"""`mulligan rm PLAN…`: a plan is forgotten, with its checkpoints, sandboxes, pins and children."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

import mulligan
from mulligan.rows.tables.plan_rows import OWNED
from tests.commands.program import answer_of, ask, data_of, project_with_plan, start, store_size
from tests.commands.running import on_a_terminal, sandbox, script
from tests.support.homes import home_of


def rows_of(folder: Path) -> dict[str, int]:
    """How many rows each table with rows of plans has."""
    with closing(sqlite3.connect(home_of(folder) / "mulligan.db")) as db:
        return {table: db.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in OWNED}


def test_every_table_with_rows_of_plans_is_cleared(tmp_path: Path) -> None:
    data_of(tmp_path, "init")
    with closing(sqlite3.connect(home_of(tmp_path) / "mulligan.db")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        owned = [t for t in tables if any(c[1] == "plan_id" for c in db.execute(f"PRAGMA table_info({t})"))]
    assert sorted(owned) == sorted(OWNED)


def test_nothing_of_a_plan_is_left(tmp_path: Path) -> None:
    project_with_plan(tmp_path, steps=3, limit=50)
    data_of(tmp_path, "run", "--name", "other", "--", "true")
    before, size = rows_of(tmp_path), store_size(tmp_path)
    gone = data_of(tmp_path, "rm", "--yes", "growing")
    (plan,) = gone["removed"]
    assert (plan["handle"], plan["checkpoints"] > 3, plan["child_plans"]) == ("growing", True, 0)
    assert gone["bytes_freed"] > 20_000
    assert store_size(tmp_path) < size
    assert not any(Path(path).exists() for path in plan["sandboxes"])
    assert [p["handle"] for p in data_of(tmp_path, "list")["plans"]] == ["other"]
    after = rows_of(tmp_path)
    assert after["plans"] == before["plans"] - 1
    home = home_of(tmp_path)
    names = {path.stem for folder in ("locks", "sandboxes", "scratch") for path in (home / folder).iterdir()}
    assert plan["plan_id"] not in names
    assert data_of(tmp_path, "doctor")["findings"] == []
    assert data_of(tmp_path, "checkpoint", "verify")["damaged"] == []
    assert data_of(tmp_path, "gc")["sandboxes_removed"] == []
    # Its handle is free again.
    assert data_of(tmp_path, "run", "--name", "growing", "--", "true")["handle"] == "growing"


def test_the_numbers_of_forgotten_entries_are_not_given_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        data_of(tmp_path, "run", "--name", name, "--", "sh", "-c", "echo x > x")
    data_of(tmp_path, "rm", "--yes", "two")
    assert ask(tmp_path, "undo", "--yes", "2")["error"]["kind"] == "entry_not_found"
    data_of(tmp_path, "run", "--name", "three", "--", "true")
    assert [entry["number"] for entry in data_of(tmp_path, "log")["entries"]] == [3, 1]
    data_of(tmp_path, "rm", "--yes", "one", "three")
    data_of(tmp_path, "run", "--name", "four", "--", "true")
    assert [entry["number"] for entry in data_of(tmp_path, "log")["entries"]] == [4]


def test_all_at_once_or_none(tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        data_of(tmp_path, "run", "--name", name, "--", "true")
    assert ask(tmp_path, "rm", "--yes", "one", "nothing")["error"]["kind"] == "plan_not_found"
    assert len(data_of(tmp_path, "list")["plans"]) == 3
    gone = data_of(tmp_path, "plan", "rm", "--yes", "one", "three", "one")
    assert [plan["handle"] for plan in gone["removed"]] == ["one", "three"]
    assert [p["handle"] for p in data_of(tmp_path, "list")["plans"]] == ["two"]


@pytest.mark.processes_measured
def test_it_asks_and_says_what_is_lost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    data_of(tmp_path, "run", "--name", "tune", "--", "sh", "-c", "echo two > a")
    refused = ask(tmp_path, "rm", "tune")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "confirmation_missing")
    code, shown = on_a_terminal(tmp_path, "rm", "tune", typed=(b"[y/N]", b"n\n"))
    assert (code, "not applied" in shown) == (3, True)
    assert data_of(tmp_path, "rm", "--dry-run", "tune")["removed"][0]["unapplied"] is True
    data_of(tmp_path, "apply", "--yes", "tune")
    preview = data_of(tmp_path, "rm", "--dry-run", "tune")
    assert preview["removed"][0]["can_be_taken_back"] is True
    assert preview["bytes_freed"] is None
    code, shown = on_a_terminal(tmp_path, "rm", "tune", typed=(b"[y/N]", b"y\n"))
    assert (code, "unapply" in shown) == (0, True)
    assert (tmp_path / "a").read_text() == "two\n"
    assert data_of(tmp_path, "list")["plans"] == []
    assert ask(tmp_path, "rm", "--yes", "tune")["error"]["kind"] == "plan_not_found"


def test_a_plan_at_work_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: busy\nsteps: [{tool: shell, args: {command: sleep 30}}]\n")
    process = start(tmp_path, "plan", "execute", "plan.yaml")
    try:
        while ask(tmp_path, "show", "busy@2")["exit_code"]:
            pass
        refused = ask(tmp_path, "rm", "--yes", "busy")
        assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_busy")
    finally:
        process.terminate()
        answer_of(process)
    data_of(tmp_path, "rm", "--yes", "busy")
    assert data_of(tmp_path, "list")["plans"] == []


def test_a_plan_that_holds_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "name: here\nresources: {all: {type: fs-directory, location: ., strategy: in_place}}\n"
        "steps: [{tool: shell, args: {command: 'echo x > x; false'}}]\n"
    )
    ask(tmp_path, "plan", "execute", "plan.yaml")
    refused = ask(tmp_path, "rm", "--yes", "here")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_not_ready")
    assert "mulligan cancel here" in refused["error"]["hint"]
    data_of(tmp_path, "plan", "cancel", "here")
    data_of(tmp_path, "rm", "--yes", "here")
    assert (tmp_path / "plan.yaml").exists()


def test_children_go_with_their_parent_and_not_alone(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(
        "name: family\nsteps:\n  - name: parts\n    subplans:\n      plans:\n"
        "        - {name: one, steps: [{tool: shell, args: {command: echo 1 > one}}]}\n"
        "        - {name: two, steps: [{name: pick, decision: {question: Which?, chosen: this}}]}\n"
    )
    data_of(tmp_path, "plan", "execute", "plan.yaml")
    refused = ask(tmp_path, "rm", "--yes", "family.one")
    assert (refused["exit_code"], refused["error"]["kind"]) == (3, "plan_is_child")
    (plan,) = data_of(tmp_path, "rm", "--yes", "family")["removed"]
    assert plan["child_plans"] == 2
    assert set(rows_of(tmp_path).values()) == {0}
    assert list((home_of(tmp_path) / "locks").iterdir()) == []
    assert list((home_of(tmp_path) / "sandboxes").iterdir()) == []


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=n", "-c", "user.email=e", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("in_place", [False, True])
def test_pins_and_commits_of_a_checkout_go(tmp_path: Path, in_place: bool) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    place = ["--in-place"] if in_place else []
    data_of(tmp_path, "run", *place, "--name", "tune", "--", "sh", "-c", "echo two >> file")
    assert in_place or git(tmp_path, "for-each-ref", "refs/mulligan")
    ask(tmp_path, "plan", "cancel", "tune")  # where it still holds the folder
    data_of(tmp_path, "rm", "--yes", "tune")
    assert not git(tmp_path, "for-each-ref", "refs/mulligan")
    assert list((home_of(tmp_path) / "git").iterdir()) == []
    assert data_of(tmp_path, "doctor")["findings"] == []


def test_what_an_interrupted_plan_left_goes_too(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("name: cut\nsteps: [{tool: shell, args: {command: kill -9 $PPID}}]\n")
    ask(tmp_path, "plan", "execute", "plan.yaml")
    data_of(tmp_path, "rm", "--yes", "cut")
    assert data_of(tmp_path, "list")["plans"] == []


def test_the_same_from_python(tmp_path: Path) -> None:
    data_of(tmp_path, *script("true"))
    project = mulligan.open(tmp_path)
    copy = sandbox(data_of(tmp_path, "status"))
    assert project.remove_plan("latest", dry_run=True).removed[0].sandboxes == (str(copy),)
    project.remove_plan("latest")
    assert list(project.plans()) == []
    assert not copy.exists()
    project.close()
