"""What a private git directory takes from the user's, and what it must not lead back to."""

import os
from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.creation.tracked_files import Tracking
from mulligan.adapters.sandboxes.git.git_command import Git, GitFailed
from mulligan.adapters.sandboxes.git.position.index_file import paths_in
from mulligan.adapters.sandboxes.git.repository.user_repository import quoted, unquoted
from mulligan.errors import ResourceUnsuitable
from tests.support.git_checkouts import inner_repository, plain
from tests.support.git_world import GIT_ENVIRONMENT, GitProject, run_git
from tests.support.snapshot_world import Watcher


def test_a_copied_inner_repository_knows_neither_the_users_worktrees_nor_paths(tmp_path: Path) -> None:
    top = inner_repository(tmp_path)
    inner = top / "vendor" / "inner"
    run_git(inner, "worktree", "add", "-q", "-b", "aside", str(tmp_path / "aside"))
    run_git(inner, "config", "core.hooksPath", str(top / "hooks"))
    project = GitProject(tmp_path, top)
    sandbox, capture = project.create()
    mine = Path(sandbox.path) / "vendor" / "inner"
    assert "aside" not in run_git(mine, "worktree", "list")
    assert run_git(mine, "config", "core.hooksPath") == f"{sandbox.path}/hooks\n"
    assert run_git(mine, "status", "--short") == run_git(inner, "status", "--short")
    assert capture.snapshot == sandbox.base
    assert project.kind.capture(sandbox, Watcher()).snapshot.same_as(sandbox.base)


def test_links_in_the_git_directory_lead_into_the_sandbox(tmp_path: Path) -> None:
    top = plain(tmp_path)
    hooks = top / ".git" / "hooks"
    (hooks / "pre-commit").symlink_to(top / "run.sh")
    (hooks / "pre-push").symlink_to("../../run.sh")
    (hooks / "elsewhere").symlink_to("/bin/true")
    os.mkfifo(top / ".git" / "pipe")
    (top / ".git" / "gone.lock").touch()
    sandbox, _ = GitProject(tmp_path, top).create()
    mine = Path(sandbox.path) / ".git"
    assert (mine / "hooks" / "pre-commit").readlink() == Path(sandbox.path) / "run.sh"
    assert (mine / "hooks" / "pre-push").resolve() == Path(sandbox.path) / "run.sh"
    assert (mine / "hooks" / "elsewhere").readlink() == Path("/bin/true")
    assert not (mine / "pipe").exists()
    assert not (mine / "gone.lock").exists()


def test_what_is_committed_is_borrowed_and_not_copied(tmp_path: Path) -> None:
    top = plain(tmp_path)
    for name in ("committed", "staged", "untracked"):
        (top / name).write_bytes(os.urandom(200_000))
        if name != "untracked":
            run_git(top, "add", name)
        if name == "committed":
            run_git(top, "commit", "-q", "-m", "large")
    sandbox, _ = GitProject(tmp_path, top).create()
    stored = [
        sum(file.stat().st_size for file in objects.rglob("*") if file.is_file())
        for objects in (Path(sandbox.path) / ".git" / "objects", Path(str(sandbox.git_dir)) / "objects")
    ]
    assert 200_000 < stored[0] < 300_000  # what is staged
    assert 400_000 < stored[1] < 700_000  # and what is untracked, once loose and once in a pack


@pytest.mark.parametrize("name", ["plain", '"quoted"', "#hash", "new\nline", 'a"b', "back\\slash\nline"])
def test_any_path_can_be_borrowed_from(name: str) -> None:
    assert unquoted(quoted(Path(name))) == name


def test_a_checkout_under_an_odd_name(tmp_path: Path) -> None:
    base = tmp_path / '"odd name"'
    base.mkdir()
    project = GitProject(base, plain(base))
    sandbox, _ = project.create()
    run_git(Path(sandbox.path), "fsck", "--connectivity-only")
    assert project.publish(sandbox, 1, None).sandbox_ref
    broken = tmp_path / "line\nbreak"
    broken.mkdir()
    project = GitProject(broken, plain(broken))
    with pytest.raises(ResourceUnsuitable, match="line break"):
        project.create()


def test_an_index_that_cannot_be_read_tracks_nothing() -> None:
    assert paths_in(b"DIRC", "sha1") == frozenset()
    assert paths_in(b"DIRC\0\0\0\2\0\0\0\1", "sha1") == frozenset()


def test_a_version_4_index_with_long_shared_beginnings(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    names = ["a/" + "x" * 200 + "/one", "a/" + "x" * 200 + "/two", "b"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    run_git(tmp_path, "add", "-A")
    run_git(tmp_path, "update-index", "--index-version=4")
    assert paths_in((tmp_path / ".git" / "index").read_bytes(), "sha1") == {n.encode() for n in names}


def test_what_git_says_when_it_fails_is_told(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        Git.within(GIT_ENVIRONMENT, tmp_path).run("rev-parse", "HEAD")
    nowhere = Tracking(
        Git.within(GIT_ENVIRONMENT, tmp_path),
        tmp_path,
        tmp_path / "index",
        "sha1",
        lasting=True,
        sparse=tmp_path / "sparse-checkout",
    )
    with pytest.raises(GitFailed, match="without an answer"):
        nowhere.judge([b"file"])
