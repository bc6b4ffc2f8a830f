"""The timeline of a folder through the program: in place one run after the other, and `undo` and `redo` over all."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of, start
from tests.commands.running import on_a_terminal
from tests.commands.timelines import in_place, kind_of, plain_folder, redo, undo, use_own_git
from tests.support.git_checkouts import plain
from tests.support.git_world import run_git
from tests.support.patience import wait_until

BUSY = "import time\nwhile True:\n    open('dev.log', 'a').write('line\\n'); time.sleep(0.002)\n"


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return plain_folder(tmp_path)


@contextmanager
def busy(folder: Path) -> Generator[None]:
    """Let another process append to `dev.log` all the time."""
    writer = subprocess.Popen([sys.executable, "-c", BUSY], cwd=folder)
    try:
        while not (folder / "dev.log").exists():
            time.sleep(0.01)
        yield
    finally:
        writer.kill()
        writer.wait()


def test_a_refused_undo_takes_back_the_same_when_it_is_repeated(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt", "--name", "q")
    (folder / "a.txt").write_text("changed by someone\n")
    code, kind = kind_of(folder, "undo", "--yes")
    assert (code, kind) == (4, "undo_conflicted")
    assert (folder / "a.txt").read_text() == "changed by someone\n"
    (folder / "other").write_text("theirs")
    (folder / "a.txt").write_text("a\nb\n")
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"
    assert (folder / "other").read_text() == "theirs"


def test_a_file_that_is_always_written_does_not_block_an_undo_in_place(folder: Path) -> None:
    with busy(folder):
        in_place(folder, "echo b >> a.txt; mkdir new; echo x > new/x", "--name", "q")
        undo(folder)
        assert (folder / "a.txt").read_text() == "a\n"
        assert not (folder / "new").exists()
        size = (folder / "dev.log").stat().st_size
        redo(folder)
        assert (folder / "a.txt").read_text() == "a\nb\n"
        assert (folder / "new" / "x").read_text() == "x\n"
        assert (folder / "dev.log").stat().st_size >= size


# --- in place, one after the other -------------------------------------------------------------------------


def test_runs_in_place_follow_each_other_and_undo_and_redo_walk_over_all_of_them(folder: Path) -> None:
    states = ["a\n"]
    for word in ("two", "three", "four"):
        data = in_place(folder, f"echo {word} >> a.txt")
        assert (data["phase"], data["state"]) == ("apply", "applied")
        states.append((folder / "a.txt").read_text())
    for wanted in states[-2::-1]:
        undo(folder)
        assert (folder / "a.txt").read_text() == wanted
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    for wanted in states[1:]:
        redo(folder)
        assert (folder / "a.txt").read_text() == wanted
    assert data_of(folder, "status")["state"] == "applied"
    assert kind_of(folder, "redo", "--yes") == (3, "nothing_to_redo")


def test_a_new_act_clears_what_could_be_redone(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt")
    undo(folder)
    in_place(folder, "echo c >> a.txt")
    assert kind_of(folder, "redo", "--yes") == (3, "nothing_to_redo")
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"


def test_a_run_that_failed_or_was_undone_ends_when_the_next_begins(folder: Path) -> None:
    failed = ask(folder, "run", "--in-place", "--name", "bad", "--", "sh", "-c", "echo x > a.txt; exit 3")
    assert failed["data"]["state"] == "errored"
    in_place(folder, "echo b >> a.txt", "--name", "good")
    assert data_of(folder, "status", "bad")["state"] == "cancelled"
    undo(folder)
    assert data_of(folder, "status", "good")["state"] == "queued"
    in_place(folder, "echo c >> a.txt")
    assert data_of(folder, "status", "good")["state"] == "cancelled"
    assert (folder / "a.txt").read_text() == "a\nc\n"


def test_a_plan_file_with_steps_left_holds_its_folder(folder: Path) -> None:
    (folder / "plan.yaml").write_text(
        "name: half\nconfig: {sandbox.strategy: in_place}\nsteps:\n"
        "  - {name: one, tool: shell, args: {command: 'echo 1 > one'}}\n"
        "  - {name: two, tool: shell, args: {command: 'test -e ../ready && echo 2 > two'}}\n"
    )
    assert ask(folder, "plan", "execute", "plan.yaml")["exit_code"] == 1
    answer = ask(folder, "run", "--in-place", "--", "touch", "other")
    assert answer["error"]["kind"] == "location_taken"
    assert "mulligan resume" in answer["error"]["hint"]
    undo(folder)  # what holds the folder does not keep anybody from undoing
    data_of(folder, "redo", "--yes")
    (folder.parent / "ready").touch()
    data_of(folder, "plan", "execute", "half")
    in_place(folder, "touch other")
    for gone in ("other", "two", "one"):
        assert (folder / gone).exists()
        undo(folder)
        assert not (folder / gone).exists()


def test_a_plan_in_place_is_rolled_back_and_resumed_while_nothing_newer_happened(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt", "--name", "first")
    data_of(folder, "rollback", "--yes", "first", "@1")
    assert (folder / "a.txt").read_text() == "a\n"
    assert data_of(folder, "resume", "first")["state"] == "applied"
    assert (folder / "a.txt").read_text() == "a\nb\n"
    in_place(folder, "echo c >> a.txt", "--name", "second")
    code, kind = kind_of(folder, "rollback", "--yes", "first", "@1")
    assert (code, kind) == (3, "newer_work")
    undo(folder)
    data_of(folder, "rollback", "--yes", "first", "@1")
    assert (folder / "a.txt").read_text() == "a\n"


def test_apply_of_a_plan_in_place_does_nothing(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt", "--name", "q")
    for words in (["plan", "apply", "q"], ["apply", "--yes", "q"], ["apply", "--dry-run", "q"]):
        answer = ask(folder, *words, *(["--yes"] if words[0] == "plan" else []))
        assert (answer["exit_code"], answer["data"]["applied"]) == (0, [])
    answer = ask(folder, "unapply", "--yes", "q")
    assert answer["error"]["kind"] == "nothing_applied"
    assert "mulligan undo" in answer["error"]["hint"]
    assert kind_of(folder, "unapply", "--yes") == (3, "no_plan_suits")


# --- across plans, applies and unapplies -------------------------------------------------------------------


def test_undo_and_redo_go_over_runs_in_sandboxes_applies_and_unapplies(folder: Path) -> None:
    data_of(folder, "init")
    data_of(folder, "config", "set", "sandbox.cleanup", "manual")
    made = data_of(folder, "run", "--name", "box", "--", "sh", "-c", "echo b >> a.txt")
    data_of(folder, "apply", "--yes", "box")
    in_place(folder, "echo c >> a.txt", "--name", "real")
    data_of(folder, "undo", "--yes")
    data_of(folder, "unapply", "--yes", "box")
    assert (folder / "a.txt").read_text() == "a\n"
    undo(folder)  # the unapply
    assert (folder / "a.txt").read_text() == "a\nb\n"
    undo(folder)  # the apply
    assert (folder / "a.txt").read_text() == "a\n"
    box = Path(made["sandboxes"][0]["path"])
    undo(folder)  # the run
    assert (box / "a.txt").read_text() == "a\n"
    assert kind_of(folder, "undo", "--yes") == (3, "nothing_to_undo")
    redo(folder)
    assert (box / "a.txt").read_text() == "a\nb\n"
    assert data_of(folder, "status", "box")["state"] == "complete"
    redo(folder)
    assert (folder / "a.txt").read_text() == "a\nb\n"
    assert data_of(folder, "status", "box")["state"] == "applied"
    redo(folder)
    assert (folder / "a.txt").read_text() == "a\n"
    assert kind_of(folder, "redo", "--yes") == (3, "nothing_to_redo")


def test_undo_of_a_plan_stays_within_it(folder: Path) -> None:
    in_place(folder, "echo b > b.txt", "--name", "one")
    in_place(folder, "echo c > c.txt", "--name", "two")
    assert undo(folder, "one")["handle"] == "one"
    assert not (folder / "b.txt").exists()
    assert (folder / "c.txt").exists()
    assert kind_of(folder, "undo", "--yes", "one") == (3, "nothing_to_undo")
    redo(folder)
    assert (folder / "b.txt").exists()


def test_undo_of_a_number_takes_back_that_entry_alone(folder: Path) -> None:
    for name in "bcd":
        in_place(folder, f"echo {name} > {name}.txt", "--name", name)
    back = undo(folder, "2")
    assert (back["entry"]["number"], back["entry"]["kind"], back["handle"]) == (2, "run", "c")
    assert [name for name in "bcd" if (folder / f"{name}.txt").exists()] == ["b", "d"]
    assert kind_of(folder, "undo", "--yes", "2") == (3, "nothing_to_undo")
    assert kind_of(folder, "undo", "--yes", "77") == (3, "entry_not_found")
    redo(folder)
    assert (folder / "c.txt").exists()


def test_a_step_in_the_middle_of_a_plan_in_place_is_undone_alone(folder: Path) -> None:
    steps = "".join(
        f"  - {{name: s{n}, tool: shell, args: {{command: 'echo {n} > f{n}'}}}}\n" for n in range(3)
    )
    text = f"name: p\nconfig: {{sandbox.strategy: in_place}}\nsteps:\n{steps}"
    (folder / "plan.yaml").write_text(text)
    data_of(folder, "plan", "execute", "plan.yaml")
    undo(folder, "2")
    assert [n for n in range(3) if (folder / f"f{n}").exists()] == [0, 2]
    assert data_of(folder, "status", "p")["state"] == "applied"
    undo(folder)
    assert [n for n in range(3) if (folder / f"f{n}").exists()] == [0]
    redo(folder)
    redo(folder)
    assert [n for n in range(3) if (folder / f"f{n}").exists()] == [0, 1, 2]
    undo(folder, "2")
    data_of(folder, "rollback", "--yes", "p", "@-1")  # exactly, as it is now
    data_of(folder, "rollback", "--yes", "p", "@5")
    assert [n for n in range(3) if (folder / f"f{n}").exists()] == [0, 1, 2]


def test_a_step_of_a_sandbox_that_others_build_on_is_not_undone(folder: Path) -> None:
    steps = "".join(
        f"  - {{name: s{n}, tool: shell, args: {{command: 'echo {n} > f{n}'}}}}\n" for n in range(2)
    )
    (folder / "plan.yaml").write_text(f"name: p\nsteps:\n{steps}")
    data_of(folder, "plan", "execute", "plan.yaml")
    assert kind_of(folder, "undo", "--yes", "1") == (3, "nothing_to_undo")
    data_of(folder, "apply", "--yes", "p")
    answer = ask(folder, "undo", "--yes", "2")
    assert answer["error"]["kind"] == "nothing_to_undo"
    assert "mulligan undo 3" in answer["error"]["hint"]


# --- what others did ---------------------------------------------------------------------------------------


def test_what_others_changed_since_stays(folder: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    (folder / "long.txt").write_text(text)
    in_place(
        folder, "sed -i 's/line 2$/LINE 2/' long.txt; echo new > new; rm a.txt; mkdir -p d/e; echo x > d/e/x"
    )
    (folder / "long.txt").write_text((folder / "long.txt").read_text().replace("line 17", "LINE 17"))
    (folder / "mine").write_text("mine")
    (folder / "d" / "mine").write_text("mine")
    data = undo(folder)
    assert (folder / "long.txt").read_text() == text.replace("line 17", "LINE 17")
    assert (folder / "a.txt").read_text() == "a\n"
    assert not (folder / "new").exists()
    assert not (folder / "d" / "e").exists()
    assert (folder / "mine").read_text() == (folder / "d" / "mine").read_text() == "mine"
    assert data["kept"]["number"]
    redo(folder)
    assert (folder / "long.txt").read_text() == text.replace("line 17", "LINE 17").replace(
        "line 2\n", "LINE 2\n"
    )
    assert not (folder / "a.txt").exists()
    assert (folder / "d" / "e" / "x").read_text() == "x\n"


def test_what_was_appended_before_others_appended_is_taken_out(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt")
    with (folder / "a.txt").open("a") as file:
        file.write("c\n")
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\nc\n"


def test_untouched_paths_go_back_exactly(folder: Path) -> None:
    (folder / "a.txt").chmod(0o640)
    before = (folder / "a.txt").stat()
    in_place(folder, "echo b > a.txt; chmod 600 a.txt")
    (folder / "mine").write_text("mine")
    undo(folder)
    after = (folder / "a.txt").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_a_conflict_of_a_redo_changes_nothing(folder: Path) -> None:
    in_place(folder, "echo b > a.txt")
    undo(folder)
    (folder / "a.txt").write_text("other\n")
    answer = ask(folder, "redo", "--yes")
    assert (answer["exit_code"], answer["error"]["kind"]) == (4, "undo_conflicted")
    assert answer["error"]["conflicts"][0]["path"] == "a.txt"
    assert (folder / "a.txt").read_text() == "other\n"
    (folder / "a.txt").write_text("a\n")
    redo(folder)
    assert (folder / "a.txt").read_text() == "b\n"


def test_a_run_that_changed_nothing_leaves_nothing_to_undo(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt")
    in_place(folder, "true")
    data_of(folder, "run", "--", "true")
    undo(folder)
    assert (folder / "a.txt").read_text() == "a\n"


def test_what_a_cut_off_run_left_is_undone_and_redone(folder: Path) -> None:
    process = start(folder, "run", "--in-place", "--", "sh", "-c", "echo half > half; sleep 60")
    wait_until(
        lambda: (folder / "half").exists() and (folder / "half").read_text(), "half of the work is done"
    )
    process.kill()
    process.communicate()
    (folder / "since").write_text("belongs to it until the next event")
    assert undo(folder)["entry"]["status"] == "interrupted"
    assert not (folder / "half").exists()
    redo(folder)
    assert (folder / "half").read_text() == "half\n"
    undo(folder)


def test_what_a_cut_off_run_left_belongs_to_it_until_the_next_plan(folder: Path) -> None:
    process = start(
        folder, "run", "--in-place", "--name", "cut", "--", "sh", "-c", "echo half > half; sleep 60"
    )
    wait_until(
        lambda: (folder / "half").exists() and (folder / "half").read_text(), "half of the work is done"
    )
    process.kill()
    process.communicate()
    in_place(folder, "echo b > b.txt", "--name", "next")
    assert data_of(folder, "status", "cut")["state"] == "cancelled"
    (folder / "mine").write_text("mine")
    undo(folder)
    undo(folder)
    assert not (folder / "half").exists()
    assert not (folder / "b.txt").exists()
    assert (folder / "mine").exists()
    redo(folder)
    assert (folder / "half").exists()


def test_a_git_checkout_goes_back_with_what_the_entry_moved(tmp_path: Path) -> None:
    top = plain(tmp_path)
    run_git(top, "reset", "-q", "--hard")
    head = run_git(top, "rev-parse", "HEAD")
    in_place(top, "echo new > new; git add new; git commit -qm made")
    (top / "mine").write_text("mine")
    undo(top)
    assert run_git(top, "rev-parse", "HEAD") == head
    assert not (top / "new").exists()
    assert (top / "mine").read_text() == "mine"
    redo(top)
    assert run_git(top, "log", "-1", "--format=%s").strip() == "made"
    run_git(top, "commit", "-q", "--allow-empty", "-m", "by hand")
    answer = ask(top, "undo", "--yes")
    assert answer["error"]["kind"] == "undo_conflicted"
    in_place(top, "echo more > more")
    run_git(top, "add", "-A")
    run_git(top, "commit", "-qm", "kept")
    undo(top)
    assert not (top / "more").exists()
    assert run_git(top, "log", "-1", "--format=%s").strip() == "kept"


def test_a_database_in_place_goes_back_as_a_whole(folder: Path) -> None:
    database = folder / "app.db"
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE t (x)")
    (folder / "plan.yaml").write_text(
        "name: p\nresources:\n  here: {type: fs-directory, location: ., strategy: in_place}\n"
        "  db: {type: sqlite, location: app.db}\nsteps:\n"
        "  - {name: add, tool: sql, resource: db, args: {statements: ['INSERT INTO t VALUES (1)']}}\n"
    )
    data_of(folder, "plan", "execute", "plan.yaml")
    (folder / "mine").write_text("mine")
    undo(folder)
    assert rows(database) == []
    redo(folder)
    assert rows(database) == [(1,)]
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("INSERT INTO t VALUES (2)")
    assert kind_of(folder, "undo", "--yes") == (4, "undo_conflicted")
    assert rows(database) == [(1,), (2,)]


def rows(database: Path) -> list[Any]:
    with closing(sqlite3.connect(database)) as db:
        return db.execute("SELECT x FROM t").fetchall()


# --- the log -----------------------------------------------------------------------------------------------


def test_the_log_without_a_plan_is_the_timeline(folder: Path) -> None:
    assert data_of(folder, "init")["new"]
    assert ask(folder, "log")["data"] == {"entries": []}
    data_of(folder, "run", "--name", "box", "--", "sh", "-c", "echo b >> a.txt; echo n > new")
    data_of(folder, "apply", "--yes", "box")
    in_place(folder, "rm new", "--name", "real")
    undo(folder)
    ask(folder, "run", "--in-place", "--name", "bad", "--", "false")
    answer = ask(folder, "log")
    assert answer["command"] == "log"
    entries = answer["data"]["entries"]
    assert [(e["number"], e["kind"], e["handle"], e["status"], e["files"], e["undone"]) for e in entries] == [
        (4, "run", "bad", "failed", 0, True),
        (3, "run", "real", "done", 1, True),
        (2, "apply", "box", "done", 2, False),
        (1, "run", "box", "done", 2, False),
    ]
    assert [e["counts"] for e in entries] == [False, False, True, False]
    assert (entries[1]["before"]["number"], entries[1]["after"]["number"]) == (2, 3)
    limited = ask(folder, "log", "-n", "1")
    assert len(limited["data"]["entries"]) == 1
    assert limited["messages"] == ["3 older entries not shown"]
    assert len(data_of(folder, "log", "--all")["entries"]) == 4
    assert ask(folder, "plan", "log")["command"] == "plan log"
    assert ask(folder, "log", "box")["command"] == "plan log"
    assert kind_of(folder, "log", "--all", "box") == (2, "usage_wrong")


def test_the_timeline_on_a_terminal_has_what_commands_accept(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt", "--name", "real")
    undo(folder)
    _, shown = on_a_terminal(folder, "log")
    assert "real@" in shown
    assert "can be redone" in shown
    _, shown = on_a_terminal(folder, "redo", typed=(b"[y/N]", b"y\n"))
    assert "Redo? [y/N]" in shown
    assert (folder / "a.txt").read_text() == "a\nb\n"
    assert kind_of(folder, "undo") == (3, "confirmation_missing")


def test_diff_takes_the_number_of_an_entry(folder: Path) -> None:
    in_place(folder, "echo b >> a.txt")
    in_place(folder, "echo c > c.txt")
    assert [f["path"] for f in data_of(folder, "diff", "1")["files"]] == ["a.txt"]
    data_of(folder, "run", "--name", "box", "--", "sh", "-c", "rm c.txt")
    data_of(folder, "apply", "--yes", "box")
    assert [f["status"] for f in data_of(folder, "diff", "4")["files"]] == ["deleted"]
    data_of(folder, "unapply", "--yes", "box")
    assert [f["status"] for f in data_of(folder, "diff", "5")["files"]] == ["added"]
    step = "{name: s, tool: shell, args: {command: 'true'}}"
    plan_file = f"name: p\nrollback_policy: {{enabled: false}}\nsteps:\n  - {step}\n"
    (folder / "plan.yaml").write_text(plan_file)
    data_of(folder, "plan", "execute", "plan.yaml")
    assert kind_of(folder, "diff", "6") == (3, "nothing_to_compare")
    assert kind_of(folder, "undo", "--yes", "p") == (3, "rollback_disabled")


def test_a_cancelled_plan_does_not_say_to_resume_it(folder: Path) -> None:
    answer = ask(folder, "run", "--name", "bad", "--", "false")
    assert "resume" in answer["data"]["error"]["hint"]
    data = data_of(folder, "plan", "cancel", "bad")
    assert "resume" not in data["error"]["hint"]
    assert not data["error"]["recoverable"]
