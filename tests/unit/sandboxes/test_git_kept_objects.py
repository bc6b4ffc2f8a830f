"""What a sandbox's refs, stashes and index reach is kept for it at every checkpoint, whatever the user prunes.

An object that no ref of the user's repository reaches is still found through the borrowed object folder, so git in
the sandbox does not write it again. The user's next `git gc --prune=now` would take it away.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.borrowed_objects import (
    LEFT,
    TEXT,
    USED,
    borrows,
    checkpoint,
    clean,
    commit,
    fsck,
    prune,
    stage,
    staged_and_unstaged,
    stash,
    undone_apply,
)
from tests.support.git_checkouts import linked_worktree, packed_refs, sha256, split_index, submodules
from tests.support.git_world import GitProject, run_git
from tests.support.snapshot_world import Watcher


@pytest.mark.parametrize(
    ("left", "used"),
    [
        (left, used)
        for left in LEFT
        for used in USED
        if left is staged_and_unstaged or used in (commit, stash)
    ],
    ids=lambda each: each.__name__,
)
def test_what_a_checkpoint_reaches_outlasts_the_users_prune(
    tmp_path: Path, left: Callable[[Path], None], used: Callable[[Path], None]
) -> None:
    top = clean(tmp_path)
    left(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    used(there)
    assert borrows(there, top)
    kept = checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []
    project.kind.restore(sandbox, sandbox.base, Watcher())
    project.kind.restore(sandbox, kept, Watcher())
    assert fsck(there) == []


@pytest.mark.parametrize(
    "made", [sha256, linked_worktree, packed_refs, split_index], ids=lambda each: each.__name__
)
def test_in_checkouts_of_other_makes(tmp_path: Path, made: Callable[[Path], Path]) -> None:
    top = made(tmp_path)
    run_git(top, "reset", "-q", "--hard")
    staged_and_unstaged(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    if made is split_index:
        run_git(there, "update-index", "--split-index")
    stage(there)
    assert borrows(there, top)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []
    assert run_git(there, "show", ":same") == TEXT


def test_in_a_submodule(tmp_path: Path) -> None:
    top = submodules(tmp_path)
    staged_and_unstaged(top / "lib" / "inner")
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    inner = Path(sandbox.path) / "lib" / "inner"
    commit(inner)
    assert borrows(inner, top / "lib" / "inner")
    checkpoint(project, sandbox)
    prune(top / "lib" / "inner")
    assert fsck(inner) == []


def test_a_commit_that_the_user_made_later_and_dropped(tmp_path: Path) -> None:
    """Git in the sandbox finds what comes into the user's repository later too, and a fetch then brings nothing."""
    top = clean(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    run_git(top, "checkout", "-q", "-b", "later")
    for number in range(3):
        (top / "sub" / f"file{number}").write_text(f"later {number}\n")
        run_git(top, "commit", "-q", "-am", f"later {number}")
    later = run_git(top, "rev-parse", "HEAD").strip()
    run_git(there, "update-ref", "refs/heads/later", later)
    run_git(top, "checkout", "-q", "main")
    run_git(top, "branch", "-D", "later")
    assert borrows(there, top)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []
    assert run_git(there, "log", "--format=%s", "later").splitlines()[:3] == ["later 2", "later 1", "later 0"]


def test_a_tag_object_and_a_merge_that_is_half_done(tmp_path: Path) -> None:
    top = clean(tmp_path)
    run_git(top, "tag", "-a", "gone", "-m", "gone")
    tag = run_git(top, "rev-parse", "gone").strip()
    run_git(top, "tag", "-d", "gone")
    (top / "dropped").write_text("dropped\n")
    run_git(top, "add", "dropped")
    run_git(top, "commit", "-q", "-m", "dropped")
    dropped = run_git(top, "rev-parse", "HEAD").strip()
    run_git(top, "update-ref", "HEAD", "HEAD~1")
    run_git(top, "rm", "-q", "-f", "dropped")
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    run_git(there, "update-ref", "refs/tags/again", tag)
    run_git(there, "merge", "-q", "--no-commit", "--no-ff", dropped)
    assert borrows(there, top)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []
    run_git(there, "commit", "-q", "-m", "merged")
    assert fsck(there) == []


def test_after_git_in_the_sandbox_dropped_its_own_copies(tmp_path: Path) -> None:
    """`git gc` drops what a pack of the lender's holds too; the next checkpoint copies it again."""
    top = clean(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    commit(there)
    checkpoint(project, sandbox)
    undone_apply(top)
    run_git(there, "gc", "-q", "--prune=now")
    assert borrows(there, top)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []


def test_nothing_is_copied_that_a_pin_keeps(tmp_path: Path) -> None:
    top = clean(tmp_path)
    (top / "large").write_bytes(os.urandom(300_000))
    run_git(top, "add", "large")
    run_git(top, "commit", "-q", "-m", "large")
    staged_and_unstaged(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    run_git(there, "mv", "large", "moved")
    commit(there)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []
    objects = there / ".git" / "objects"
    assert sum(file.stat().st_size for file in objects.rglob("*") if file.is_file()) < 50_000


def test_a_checkpoint_that_was_taken_too_late_names_what_is_missing(tmp_path: Path) -> None:
    top = clean(tmp_path)
    staged_and_unstaged(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    commit(there)
    blob = run_git(there, "rev-parse", "HEAD:same").strip()
    prune(top)
    capture = project.kind.capture(sandbox, Watcher())
    (said,) = capture.unheld
    assert said.path == ".git"
    assert blob in said.reason
    assert "same" in said.reason


def test_while_it_is_watched(tmp_path: Path) -> None:
    top = clean(tmp_path)
    staged_and_unstaged(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    with project.kind.watch(sandbox, others_at_work=False):
        first = checkpoint(project, sandbox)
        assert checkpoint(project, sandbox) == first
        commit(there)
        second = checkpoint(project, sandbox)
        assert checkpoint(project, sandbox) == second
        prune(top)
        assert fsck(there) == []
        project.kind.restore(sandbox, first, Watcher())
        project.kind.restore(sandbox, second, Watcher())
    assert fsck(there) == []


def _split(there: Path) -> None:
    run_git(there, "update-index", "--split-index")


def _unborn(there: Path) -> None:
    run_git(there, "symbolic-ref", "HEAD", "refs/heads/unborn")


def _conflict(there: Path) -> None:
    for branch, text in (("mine", "mine\n"), ("theirs", "theirs\n")):
        run_git(there, "switch", "-q", "-c", branch, "main")
        (there / "sub" / "file5").write_text(text)
        run_git(there, "commit", "-q", "-am", branch)
    run_git(there, "merge", "-q", "mine", check=False)


@pytest.mark.parametrize("kind", [_split, _unborn, _conflict], ids=lambda each: each.__name__)
def test_an_index_of_any_kind_after_the_sandbox_dropped_its_copies(
    tmp_path: Path, kind: Callable[[Path], None]
) -> None:
    top = clean(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    with project.kind.watch(sandbox, others_at_work=False):
        kind(there)
        checkpoint(project, sandbox)
        assert not list((there / ".git" / "objects").rglob("*.pack"))  # nothing is copied that is pinned
        stage(there)
        checkpoint(project, sandbox)
        undone_apply(top)
        run_git(there, "gc", "-q", "--prune=now")
        assert borrows(there, top)
        checkpoint(project, sandbox)
    prune(top)
    assert run_git(there, "show", ":same") == TEXT
    if kind is _conflict:
        assert run_git(there, "show", ":3:sub/file5") == "mine\n"


def test_an_index_that_git_cannot_read_names_nothing(tmp_path: Path) -> None:
    top = clean(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    with project.kind.watch(sandbox, others_at_work=False):
        commit(there)
        checkpoint(project, sandbox)
        run_git(there, "gc", "-q", "--prune=now")
        (there / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\1")
        assert project.kind.capture(sandbox, Watcher()).unheld == ()
        next((there / ".git" / "objects" / "pack").glob("*.pack")).rename(there / "moved.pack")
        (there / ".git" / "index").unlink()
        (there / ".git" / "index").symlink_to("/nonexistent")
        (said, *_) = project.kind.capture(sandbox, Watcher()).unheld
        assert "missing" in said.reason


@pytest.mark.parametrize("commits", [1, 40])
def test_a_tree_and_many_commits_at_once(tmp_path: Path, commits: int) -> None:
    """More commits than are read one by one; and a tree that a ref names directly."""
    top = clean(tmp_path)
    staged_and_unstaged(top)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    commit(there)
    tree = run_git(there, "rev-parse", "HEAD^{tree}").strip()
    tip = run_git(there, "rev-parse", "HEAD").strip()
    for number in range(commits):
        tip = run_git(there, "commit-tree", "-p", tip, "-m", str(number), tree).strip()
    run_git(there, "update-ref", "refs/heads/main", tip)
    if commits == 1:
        run_git(there, "tag", "-a", "-m", "tree", "of-tree", tree)
        run_git(there, "update-ref", "refs/trees/one", tree)
    assert borrows(there, top)
    checkpoint(project, sandbox)
    prune(top)
    assert fsck(there) == []


def test_a_sandbox_whose_lender_is_gone_is_captured_as_it_is(tmp_path: Path) -> None:
    top = clean(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    commit(there)
    top.rename(tmp_path / "away")
    assert project.kind.capture(sandbox, Watcher()).unheld == ()
    assert project.kind.lacking(sandbox, [sandbox.base]) == {}


def test_a_submodule_is_looked_at_too(tmp_path: Path) -> None:
    top = submodules(tmp_path)
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    assert project.kind.lacking(sandbox, [sandbox.base]) == {}
    commit(Path(sandbox.path) / "lib" / "inner")
    later = checkpoint(project, sandbox)
    inner = top / ".git" / "modules" / "lib" / "inner"
    commit_id = run_git(top / "lib" / "inner", "rev-parse", "HEAD").strip()
    for pack in (inner / "objects" / "pack").glob("*"):
        pack.unlink()
    for folder in (inner / "objects").glob("??"):
        for file in folder.iterdir():
            file.unlink()
    (damages,) = project.kind.lacking(sandbox, [sandbox.base]).values()
    assert any(commit_id in damage.object for damage in damages)
    (damages,) = project.kind.lacking(sandbox, [later]).values()
    assert any(commit_id in damage.object for damage in damages)  # the parent of a commit that is there
