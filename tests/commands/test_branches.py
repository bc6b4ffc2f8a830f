"""Applies to a git checkout, taken back and brought back: on which branch, as which commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commands.program import ask, data_of
from tests.commands.running import on_a_terminal
from tests.commands.timelines import redo, undo, use_own_git
from tests.support.git_world import run_git


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch) -> None:
    use_own_git(monkeypatch)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A checkout on `master` with one commit, and a branch `other` at it."""
    made = tmp_path / "r1"
    made.mkdir()
    run_git(made, "init", "-q", "-b", "master")
    run_git(made, "config", "user.name", "n")
    run_git(made, "config", "user.email", "n@e")
    (made / "f").write_text("a\nb\n")
    (made / "g").write_text("".join(f"{n}\n" for n in range(9)))
    run_git(made, "add", "-A")
    run_git(made, "commit", "-qm", "1")
    run_git(made, "branch", "other")
    return made


def subjects(top: Path, branch: str = "HEAD") -> list[str]:
    """Return the subjects of the commits of a branch, newest first."""
    return run_git(top, "log", "--format=%s", branch).splitlines()


def status(top: Path) -> str:
    """Return what git says about files that are not committed."""
    return run_git(top, "status", "--porcelain", "--", ".", ":!.mulligan")


def refused(top: Path, *words: str) -> Any:
    """Run a command that is refused, and return its error."""
    answer = ask(top, *words)
    assert answer["exit_code"] == 3, answer
    return answer["error"]


def entries(top: Path) -> list[tuple[str, bool]]:
    """Return the kind of each entry of the timeline, newest first, and whether it is undone."""
    return [(each["kind"], each["undone"]) for each in data_of(top, "log")["entries"]]


# --- another branch ----------------------------------------------------------------------------------------


def test_an_apply_is_not_taken_back_on_another_branch_without_a_question(top: Path) -> None:
    data_of(top, "run", "--apply", "--", "sed", "-i", "s/a/A/", "f")
    run_git(top, "switch", "-q", "other")
    for words in (
        ("undo", "--yes"),
        ("undo", "--dry-run"),
        ("unapply", "--yes"),
        ("unapply", "--dry-run", "sed"),
    ):
        error = refused(top, *words)
        assert (error["kind"], error["began"], error["now"]) == ("branch_differs", "master", "other")
        assert "git switch master" in error["hint"]
    assert ("apply", False) in entries(top)
    # Where the change is not, there is nothing to take back, whatever was answered.
    for words in (("undo", "--yes", "--onto-branch"), ("unapply", "--yes", "--onto-branch")):
        assert refused(top, *words)["kind"] == "nothing_applied"
    assert (data_of(top, "status", "sed")["state"], entries(top)[0]) == ("applied", ("apply", False))
    run_git(top, "switch", "-q", "master")
    undo(top)
    assert (top / "f").read_text() == "a\nb\n"
    # The redo goes where the change was taken back.
    run_git(top, "switch", "-q", "other")
    assert refused(top, "redo", "--yes")["kind"] == "branch_differs"
    assert refused(top, "redo", "--dry-run")["began"] == "master"
    data_of(top, "redo", "--yes", "--onto-branch")
    assert subjects(top, "other") == ["sed", "1"]
    run_git(top, "switch", "-q", "master")
    assert refused(top, "undo", "--yes")["began"] == "other"


def test_an_unapply_is_undone_on_the_branch_it_was_made_on(top: Path) -> None:
    data_of(top, "run", "--", "sed", "-i", "s/a/A/", "f")
    run_git(top, "switch", "-q", "other")
    data_of(top, "apply", "--yes", "--onto-branch")
    data_of(top, "unapply", "--yes")
    run_git(top, "switch", "-q", "master")
    error = refused(top, "undo", "--yes")
    assert (error["kind"], error["began"], error["now"]) == ("branch_differs", "other", "master")
    assert subjects(top, "master") == ["1"]
    run_git(top, "switch", "-q", "other")
    undo(top)
    assert (top / "f").read_text() == "A\nb\n"
    redo(top)
    assert (top / "f").read_text() == "a\nb\n"


@pytest.mark.processes_measured
def test_undo_on_another_branch_asks_on_a_terminal(top: Path) -> None:
    data_of(top, "run", "--apply", "--", "sed", "-i", "s/a/A/", "f")
    run_git(top, "switch", "-q", "-c", "third")
    code, shown = on_a_terminal(top, "undo", typed=(b"Undo it there?", b"n\n"))
    assert (code, "branch master" in shown) == (3, True)
    assert entries(top)[0] == ("apply", False)


def test_what_others_took_back_is_not_recorded_as_undone(top: Path) -> None:
    data_of(top, "run", "--apply", "--", "sed", "-i", "s/a/A/", "f")
    run_git(top, "revert", "--no-edit", "HEAD")
    assert refused(top, "undo", "--yes")["kind"] == "nothing_applied"
    assert entries(top)[0] == ("apply", False)


# --- what the user has not committed -----------------------------------------------------------------------


def test_what_the_user_did_in_the_same_way_stays_uncommitted(top: Path) -> None:
    data_of(top, "run", "--", "sed", "-i", "s/a/A/", "f")
    (top / "f").write_text("A\nb\n")
    before = status(top)
    (applied,) = data_of(top, "apply", "--yes")["applied"]
    assert (applied["files"], applied["commit"]) == (0, None)
    for turn in (None, undo, redo, undo):
        if turn is not None:
            turn(top)
        assert (subjects(top), status(top), (top / "f").read_text()) == (["1"], before, "A\nb\n")


def test_a_commit_holds_only_what_an_apply_changes(top: Path) -> None:
    data_of(
        top, "run", "--name", "both", "--", "sh", "-c", "sed -i s/a/A/ f; sed -i 's/^1$/one/;s/^7$/seven/' g"
    )
    (top / "f").write_text("A\nb\n")
    edited = (top / "g").read_text().replace("1\n", "one\n")
    (top / "g").write_text(edited)
    before = run_git(top, "diff", "-U0", "--no-prefix")
    (applied,) = data_of(top, "apply", "--yes")["applied"]
    assert applied["files"] == 1
    assert run_git(top, "show", "--format=", "--numstat").split() == ["1", "1", "g"]
    assert "seven" in run_git(top, "show", "HEAD:g")
    assert "one" not in run_git(top, "show", "HEAD:g")
    kept = [line for line in before.splitlines() if not line.startswith("index")]
    now = run_git(top, "diff", "-U0", "--no-prefix").splitlines()
    assert [line for line in now if not line.startswith("index")] == kept
    undo(top)
    assert ((top / "g").read_text(), (top / "f").read_text()) == (edited, "A\nb\n")
