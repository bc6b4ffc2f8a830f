"""`mulligan restore NUMBER`: paths as they were right after an entry of the timeline."""

from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import data_of
from tests.commands.timelines import in_place, kind_of, plain_folder, redo, undo, use_own_git
from tests.support.git_checkouts import plain as checkout
from tests.support.git_world import run_git


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with three entries in place; the second makes two files and removes one."""
    made = plain_folder(tmp_path)
    (made / "old").write_text("old\n")
    in_place(made, "echo one > a.txt")
    in_place(made, "echo two > a.txt; mkdir -p deep/none; echo b > deep/b; rm old")
    in_place(made, "echo three > a.txt; echo c > deep/c; echo again > old")
    return made


def restored(data: Any) -> list[tuple[str, str]]:
    return [(change["action"], change["path"]) for each in data["restores"] for change in each["changes"]]


def test_a_path_comes_back_as_it_was_right_after_the_entry(folder: Path) -> None:
    assert restored(data_of(folder, "restore", "--yes", "1", "a.txt")) == [("restored", "a.txt")]
    assert (folder / "a.txt").read_text() == "one\n"
    data_of(folder, "restore", "--yes", "2", "a.txt")
    assert (folder / "a.txt").read_text() == "two\n"


def test_a_number_alone_brings_back_all_that_the_entry_changed_and_nothing_else(folder: Path) -> None:
    for path in ("deep/b", "deep/c"):
        (folder / path).unlink()
    (folder / "deep/none").rmdir()
    done = data_of(folder, "restore", "--yes", "2")
    assert restored(done) == [("restored", path) for path in ("a.txt", "deep/b", "deep/none")]
    assert done["restores"][0]["left"] == ["old"]
    assert not (folder / "deep/c").exists()
    assert (folder / "old").read_text() == "again\n"
    assert restored(data_of(folder, "restore", "--yes", "--delete", "2")) == [("removed", "old")]
    assert not (folder / "old").exists()


def test_a_number_is_an_entry_and_a_path_of_that_name_is_written_out(folder: Path) -> None:
    (folder / "1").write_text("a file\n")
    in_place(folder, "echo changed > 1")
    data_of(folder, "restore", "--yes", "./1")
    assert (folder / "1").read_text() == "a file\n"
    assert kind_of(folder, "restore", "--yes", "99", "a.txt") == (3, "entry_not_found")
    assert kind_of(folder, "restore", "--yes", "@99", "a.txt") == (3, "checkpoint_not_found")


def test_entries_of_sandboxes_applies_and_unapplies_too(folder: Path) -> None:
    data_of(folder, "run", "--name", "boxed", "--", "sh", "-c", "echo boxed > a.txt")
    data_of(folder, "restore", "--yes", "4", "a.txt")
    assert (folder / "a.txt").read_text() == "boxed\n"
    (folder / "a.txt").write_text("three\n")
    number = data_of(folder, "log")["entries"][0]["number"]
    data_of(folder, "apply", "--yes", "boxed")
    data_of(folder, "unapply", "--yes", "boxed")
    data_of(folder, "restore", "--yes", str(number + 1))
    assert (folder / "a.txt").read_text() == "boxed\n"
    data_of(folder, "restore", "--yes", str(number + 2), "a.txt")
    assert (folder / "a.txt").read_text() == "three\n"
    assert data_of(folder, "restore", "--yes", "--sandbox", "4", "a.txt")["restores"][0]["place"] == "sandbox"


# --- a restore as an entry of its own ----------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Make a folder with one plan, whose copy of `a.txt` differs from the real one."""
    made = plain_folder(tmp_path)
    (made / "notes.md").write_text("notes\n")
    data_of(made, "run", "--name", "boxed", "--", "sh", "-c", "echo boxed > a.txt; echo new > new")
    return made


def kinds(folder: Path) -> list[tuple[int, str, bool]]:
    return [(e["number"], e["kind"], e["undone"]) for e in data_of(folder, "log")["entries"]]


def test_a_restore_is_an_entry_that_undo_takes_back_and_redo_brings_again(plain: Path) -> None:
    (plain / "notes.md").write_text("changed by hand\n")
    done = data_of(plain, "restore", "--yes", "boxed@3", "a.txt", "new")
    assert done["restores"][0]["entry"] == 2
    data_of(plain, "restore", "--yes", "notes.md")
    assert kinds(plain) == [(3, "restore", False), (2, "restore", False), (1, "run", False)]
    assert [change["file"] for change in undo(plain)["changes_reverted"]] == ["notes.md"]
    assert (plain / "notes.md").read_text() == "changed by hand\n"
    (plain / "mine").write_text("mine\n")
    undo(plain)
    assert (plain / "a.txt").read_text() == "a\n"
    assert not (plain / "new").exists()
    assert (plain / "mine").read_text() == "mine\n"
    assert kinds(plain) == [(3, "restore", True), (2, "restore", True), (1, "run", False)]
    redo(plain)
    assert (plain / "a.txt").read_text() == "boxed\n"
    assert (plain / "new").read_text() == "new\n"
    redo(plain)
    assert (plain / "notes.md").read_text() == "notes\n"
    # Once redone it can be undone again, and what was done since stays.
    (plain / "a.txt").write_text("boxed\nmore\n")
    assert kind_of(plain, "undo", "--yes", "2") == (4, "undo_conflicted")
    (plain / "a.txt").write_text("boxed\n")
    undo(plain, "2")
    assert ((plain / "a.txt").read_text(), (plain / "notes.md").read_text()) == ("a\n", "notes\n")
    assert (plain / "mine").read_text() == "mine\n"
    assert data_of(plain, "doctor")["findings"] == []


def test_the_plan_that_paths_come_from_is_left_as_it_was(plain: Path) -> None:
    before = data_of(plain, "status", "boxed")
    data_of(plain, "restore", "--yes", "1", "a.txt")
    shown = data_of(plain, "diff", "2")
    assert [(file["path"], file["status"]) for file in shown["files"]] == [("a.txt", "modified")]
    undo(plain)
    after = data_of(plain, "status", "boxed")
    for name in ("phase", "state", "last_checkpoint_id"):
        assert before[name] == after[name], name
    redo(plain)
    # A rollback of the copy does not touch what was restored, nor does it take the entry from the timeline.
    data_of(plain, "rollback", "--yes", "boxed", "first")
    assert (2, "restore", False) in kinds(plain)
    undo(plain, "2")
    assert (plain / "a.txt").read_text() == "a\n"
    data_of(plain, "resume", "boxed")
    data_of(plain, "apply", "--yes", "boxed")
    assert (plain / "a.txt").read_text() == "boxed\n"
    # Without sandboxes too.
    (plain / "a.txt").write_text("later\n")
    data_of(plain, "restore", "--yes", "boxed@1", "a.txt")
    undo(plain)
    assert (plain / "a.txt").read_text() == "later\n"
    redo(plain)
    assert (plain / "a.txt").read_text() == "a\n"


def test_in_a_checkout_only_the_working_tree_goes_back_and_forward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_own_git(monkeypatch)
    code = checkout(tmp_path / "code")
    data_of(code, "run", "--name", "boxed", "--", "sh", "-c", "echo boxed > tracked")
    (code / "tracked").write_text("staged\n")
    run_git(code, "add", "tracked")
    staged = run_git(code, "ls-files", "--stage")
    data_of(code, "restore", "--yes", "1")
    for act, content in ((undo, "staged\n"), (redo, "boxed\n"), (undo, "staged\n")):
        act(code)
        assert (code / "tracked").read_text() == content
        assert run_git(code, "ls-files", "--stage") == staged


def test_numbers_from_the_end_count_groups_of_sandboxes_and_not_of_the_real_folder(plain: Path) -> None:
    def group(word: str) -> int:
        return data_of(plain, "show", word)["number"]

    assert (group("boxed@-1"), group("boxed@-2")) == (3, 2)
    data_of(plain, "apply", "--yes", "boxed")
    data_of(plain, "unapply", "--yes", "boxed")
    (plain / "notes.md").unlink()
    data_of(plain, "restore", "--yes", "notes.md")
    assert (group("boxed@-1"), group("boxed@-2")) == (3, 2)
    assert data_of(plain, "show", "boxed@4")["checkpoint_type"] == "pre_apply"
    data_of(plain, "rollback", "--yes", "boxed", "@-2")
    # In place the folder is the sandbox: what a restore kept and made can be gone back to.
    in_place(plain, "echo here > a.txt", "--name", "here")
    data_of(plain, "restore", "--yes", "here@1", "a.txt")
    assert [group(f"here@-{back}") for back in (1, 2)] == [5, 4]
    data_of(plain, "rollback", "--yes", "here", "@-2")
    assert (plain / "a.txt").read_text() == "here\n"


def test_in_place_a_rollback_takes_the_restore_with_it(folder: Path) -> None:
    handle = data_of(folder, "log")["entries"][0]["handle"]
    data_of(folder, "restore", "--yes", "3", "a.txt")  # nothing to restore: no entry
    assert len(kinds(folder)) == 3
    data_of(folder, "restore", "--yes", f"{handle}@1", "a.txt")
    assert (folder / "a.txt").read_text() == "two\n"
    undo(folder)
    assert (folder / "a.txt").read_text() == "three\n"
    redo(folder)
    data_of(folder, "rollback", "--yes", handle, "first")
    assert kinds(folder)[:2] == [(4, "restore", True), (3, "run", True)]
    # One plan in place is not rolled back over paths that came back from a checkpoint of another.
    data_of(folder, "run", "--name", "boxed", "--", "sh", "-c", "echo boxed > a.txt")
    in_place(folder, "echo four > a.txt", "--name", "last")
    data_of(folder, "restore", "--yes", "boxed@3", "a.txt")
    assert kind_of(folder, "rollback", "--yes", "last", "first") == (3, "newer_work")
    undo(folder)
    data_of(folder, "rollback", "--yes", "last", "first")
    assert (folder / "a.txt").read_text() == "two\n"
