"""What the timeline says after acts that were refused, changed nothing, or met files that do not hold still."""

import threading
from pathlib import Path

import pytest

from tests.commands.program import ask, data_of

STEPS = """\
name: three
resources: {w: {type: fs-directory, location: ., strategy: in_place}}
steps:
  - {name: s1, run: echo s1 > f1}
  - {name: s2, run: echo s2 > f2}
  - {name: s3, run: echo s3 > f3}
"""


def run(folder: Path, name: str, command: str, *options: str) -> None:
    data_of(folder, "run", "--name", name, *options, "--", "sh", "-c", command)


def log(folder: Path) -> dict[int, bool]:
    """Return the numbers of the timeline, and whether each entry still counts."""
    return {each["number"]: each["undone"] is False for each in data_of(folder, "log")["entries"]}


def test_a_file_that_moved_during_an_apply_belongs_to_the_plan_afterwards(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "app.log").write_text("l0\n")
    run(tmp_path, "plan", "echo P > a")
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.001):
            with (tmp_path / "app.log").open("a") as file:
                file.write("line\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        data_of(tmp_path, "apply", "plan", "--yes")
    finally:
        over.set()
        writer.join()
    data_of(tmp_path, "unapply", "plan", "--yes")
    data_of(tmp_path, "run", "--on", "plan", "--", "sh", "-c", "echo from the plan >> app.log; echo Q > q")
    changed = {each["path"]: each["status"] for each in data_of(tmp_path, "diff", "plan")["files"]}
    assert changed == {"a": "modified", "app.log": "modified", "q": "added"}


def test_a_step_that_changed_nothing_is_not_in_the_way_of_an_undo(tmp_path: Path) -> None:
    run(tmp_path, "plan", "echo one > x")
    data_of(tmp_path, "run", "--on", "plan", "--", "true")
    assert data_of(tmp_path, "undo", "--yes")["entry"]["number"] == 1


def test_a_refused_undo_of_an_unapply_leaves_the_plan_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    run(tmp_path, "plan", "printf '1\\nP\\n3\\n' > a")
    data_of(tmp_path, "apply", "plan", "--yes")
    data_of(tmp_path, "unapply", "plan", "--yes")
    (tmp_path / "a").write_text("1\nmine\n3\n")
    for _ in range(2):
        assert ask(tmp_path, "undo", "--yes")["exit_code"] == 4
        assert data_of(tmp_path, "status", "plan")["state"] == "complete"
        assert log(tmp_path) == {1: True, 2: True, 3: True}
    assert (tmp_path / "a").read_text() == "1\nmine\n3\n"


def test_a_conflict_of_a_second_apply_does_not_hide_the_unapply(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    run(tmp_path, "plan", "echo P > a")
    data_of(tmp_path, "apply", "plan", "--yes")
    data_of(tmp_path, "unapply", "plan", "--yes")
    (tmp_path / "a").write_text("mine\n")
    assert ask(tmp_path, "apply", "plan", "--yes")["exit_code"] == 4
    (tmp_path / "a").write_text("1\n")
    assert data_of(tmp_path, "undo", "--yes")["entry"]["number"] == 3
    assert (tmp_path / "a").read_text() == "P\n"


def test_caches_are_not_in_the_way_of_an_undo_in_place(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("X=1\n")
    run(tmp_path, "edit", "echo X=2 > mod.py; mkdir __pycache__; echo A > __pycache__/m.pyc", "--in-place")
    (tmp_path / "__pycache__" / "m.pyc").write_text("B\n")
    data_of(tmp_path, "undo", "--yes")
    assert (tmp_path / "mod.py").read_text() == "X=1\n"
    assert (tmp_path / "__pycache__" / "m.pyc").read_text() == "B\n"


def test_a_rollback_to_after_an_undo_leaves_the_entry_undone(tmp_path: Path) -> None:
    (tmp_path / "three.yaml").write_text(STEPS)
    data_of(tmp_path, "plan", "execute", "three.yaml")
    data_of(tmp_path, "undo", "2", "--yes")
    after = data_of(tmp_path, "checkpoint", "list", "three")["checkpoints"][-1]["number"]
    data_of(tmp_path, "undo", "3", "--yes")
    data_of(tmp_path, "rollback", f"three@{after}", "--yes")
    assert not (tmp_path / "f2").exists()
    assert (tmp_path / "f3").exists()
    assert log(tmp_path)[2] is False
    data_of(tmp_path, "rollback", "three@1", "--yes")
    data_of(tmp_path, "rollback", f"three@{after}", "--yes")
    assert log(tmp_path)[2] is False


@pytest.mark.parametrize("undone", [False, True])
def test_what_ends_a_run_in_place_before_it_is_forgotten_works(tmp_path: Path, *, undone: bool) -> None:
    if undone:
        run(tmp_path, "here", "echo a > a", "--in-place")
        data_of(tmp_path, "undo", "--yes")
    else:
        ask(tmp_path, "run", "--name", "here", "--in-place", "--", "sh", "-c", "echo a > a; exit 1")
    refused = ask(tmp_path, "rm", "here", "--yes")
    assert refused["exit_code"] == 3
    assert "cancel" in refused["error"]["hint"]
    data_of(tmp_path, "cancel", "here")
    data_of(tmp_path, "rm", "here", "--yes")


def test_a_cache_below_what_becomes_a_file_is_not_called_left_out(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "__pycache__").mkdir(parents=True)
    (tmp_path / "pkg" / "__pycache__" / "m.pyc").write_text("c")
    run(tmp_path, "plan", "rm -r pkg; echo file > pkg")
    applied = data_of(tmp_path, "apply", "plan", "--yes")
    assert (tmp_path / "pkg").read_text() == "file\n"
    assert not [each for each in applied["messages"] if "cache" in each]
