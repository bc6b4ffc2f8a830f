"""Applying plans to git checkouts, from end to end: before, after, and when something stands in the way."""

import os
from pathlib import Path

import pytest

from mulligan.errors import CheckoutUnready, MulliganError
from tests.applied import Applying, complete
from tests.applying_world import lines, write
from tests.git_world import run_git

SAME, PLANNED = lines(), lines("9 plan")


@pytest.fixture
def applying(tmp_path: Path) -> Applying:
    top = tmp_path / "site"
    top.mkdir()
    run_git(top, "init", "-q")
    run_git(top, "config", "user.name", "A User")
    run_git(top, "config", "user.email", "user@example.com")
    write(top, {"text": SAME, "gone": "gone\n", ".gitignore": "*.log\n"})
    run_git(top, "add", "-A")
    run_git(top, "commit", "-q", "-m", "first")
    write(top, {"text": lines("2 mine"), "notes": "mine\n"})
    applying = complete(tmp_path, "site: {type: git-checkout, location: site}")
    write(
        applying.sandbox(),
        {"text": lines("2 mine", "9 plan"), "gone": None, "new": "new\n", "notes": "plan\n"},
    )
    run_git(applying.sandbox(), "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qam", "by the plan")
    return applying


def _standing(top: Path) -> tuple[str, ...]:
    told = ("status", "--porcelain=v2", "--branch"), ("ls-files", "-s"), ("diff",), ("reflog",)
    return tuple(run_git(top, *words) for words in told)


def test_one_commit_comes_and_goes(applying: Applying) -> None:
    top = applying.real
    before = _standing(top)
    preview = applying.applied(dry_run=True)
    assert _standing(top) == before
    write(top, {"text": lines("2 mine", "5 later")})
    done = applying.applied(message="What it did")
    (told,) = done.applied
    assert told.commit == run_git(top, "rev-parse", "HEAD").strip()
    assert preview.applied[0].uncommitted == told.uncommitted == ("notes: you had it untracked",)
    assert any("by the plan" in message for message in done.messages)
    shown = run_git(top, "show", "--format=%s", "--name-status").splitlines()
    assert shown == ["What it did", "", "D\tgone", "A\tnew", "M\ttext"]
    assert run_git(top, "show", "HEAD:text") == PLANNED
    assert (top / "text").read_text() == lines("2 mine", "5 later", "9 plan")
    assert run_git(top, "status", "--porcelain") == " M text\n?? notes\n"
    assert run_git(top, "for-each-ref", "refs/mulligan") == ""
    applying.unapplied()
    assert run_git(top, "log", "--format=%s").splitlines() == ['Revert "p"', "What it did", "first"]
    assert run_git(top, "rev-parse", "HEAD^{tree}") == run_git(top, "rev-parse", "HEAD~2^{tree}")
    assert (top / "text").read_text() == lines("2 mine", "5 later")
    assert run_git(top, "status", "--porcelain") == " M text\n?? notes\n"
    assert run_git(top, "for-each-ref", "refs/mulligan") == ""


def test_without_a_commit_only_files_change(applying: Applying) -> None:
    top = applying.real
    applying.applied(commit=False)
    assert run_git(top, "log", "--format=%s") == "first\n"
    assert run_git(top, "status", "--porcelain") == " D gone\n M text\n?? new\n?? notes\n"


def test_a_conflict_changes_nothing(applying: Applying) -> None:
    write(applying.real, {"text": lines("9 mine")})
    before = _standing(applying.real)
    _, done = applying.apply()
    assert [conflict.path for conflict in done.conflicts] == ["text"]
    assert _standing(applying.real) == before
    write(applying.real, {"text": lines("2 mine")})
    assert applying.applied().applied[0].commit is not None


def test_a_merge_in_progress_is_refused(applying: Applying) -> None:
    (applying.real / ".git" / "MERGE_HEAD").write_text(run_git(applying.real, "rev-parse", "HEAD"))
    with pytest.raises(CheckoutUnready, match="a merge is in progress"):
        applying.apply()


def test_what_fails_after_the_files_changed_puts_them_back(applying: Applying) -> None:
    before = _standing(applying.real)
    os.mkdir(applying.real / ".git" / "index.mulligan")  # where the new index is prepared
    with pytest.raises(MulliganError, match="Is a directory"):
        applying.apply()
    assert _standing(applying.real) == before
    os.rmdir(applying.real / ".git" / "index.mulligan")
    assert applying.applied().applied[0].commit is not None
    assert run_git(applying.real, "status", "--porcelain") == " M text\n?? notes\n"
