"""What git sandboxes refuse, each by name and with a next step."""

from pathlib import Path

import pytest

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position import index_lock
from mulligan.adapters.sandboxes.git.repository.user_repository import (
    KnownRepository,
    Repository,
    Unsuited,
    open_repository,
)
from mulligan.errors import ResourceUnsuitable, SystemFailed
from tests.support.git_checkouts import plain
from tests.support.git_world import GIT_ENVIRONMENT, GitProject, run_git
from tests.support.snapshot_world import Watcher


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path, plain(tmp_path))


def refusal(project: GitProject, location: Path) -> ResourceUnsuitable:
    with pytest.raises(ResourceUnsuitable) as caught:
        project.kind.check(project.order().resource, location)
    assert caught.value.next_step
    return caught.value


def test_a_folder_inside_a_checkout_is_refused_with_its_top(project: GitProject) -> None:
    error = refusal(project, project.top / "sub")
    assert str(project.top) in error.text
    assert "fs-directory" in error.next_step


def test_what_is_no_checkout_is_refused(project: GitProject, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "no .git in it" in refusal(project, tmp_path / "folder").text
    run_git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert "bare" in refusal(project, tmp_path / "bare.git").text
    run_git(project.top, "config", "core.bare", "true")
    assert "bare" in refusal(project, project.top).text


def test_a_damaged_repository_is_refused_with_what_git_says(project: GitProject) -> None:
    (project.top / ".git" / "HEAD").unlink()
    assert "not a git repository" in refusal(project, project.top).text


def test_a_lock_of_another_git_command_is_named(project: GitProject) -> None:
    (project.top / ".git" / "index.lock").touch()
    error = refusal(project, project.top)
    assert "index.lock" in error.text
    assert "delete that file" in error.next_step
    with pytest.raises(ResourceUnsuitable):
        project.kind.create(project.order(), Watcher())


def test_a_lock_is_waited_for_once_in_vain_and_a_new_one_again(
    project: GitProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, waits = project.top / ".git" / "index.lock", list[float]()
    monkeypatch.setattr(index_lock.time, "sleep", waits.append)
    lock.touch()
    refusal(project, project.top)
    once = len(waits)
    assert once > 1
    refusal(project, project.top)
    assert len(waits) == once
    lock.rename(lock.with_name("other"))  # so that the new one has another inode
    lock.touch()
    refusal(project, project.top)
    assert len(waits) == 2 * once


def test_a_reftable_is_refused_by_name(project: GitProject) -> None:
    run_git(project.top, "config", "core.repositoryFormatVersion", "1")
    run_git(project.top, "config", "extensions.refStorage", "reftable")
    (project.top / ".git" / "reftable").mkdir()
    assert "reftable" in refusal(project, project.top).text


def test_a_repository_of_another_user_is_refused_as_git_does(project: GitProject) -> None:
    strange = Git.within(GIT_ENVIRONMENT, project.top).on(project.top, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    found = open_repository(strange, project.top)
    assert isinstance(found, Unsuited)
    assert "safe.directory" in found.reason
    assert f"safe.directory {project.top}" in found.hint


def test_without_git_it_says_so(tmp_path: Path) -> None:
    project = GitProject(tmp_path, plain(tmp_path), environment={"PATH": str(tmp_path)})
    with pytest.raises(SystemFailed, match="no such program"):
        project.kind.check(project.order().resource, project.top)


@pytest.mark.parametrize(
    ("key", "command"), [("process", "no-such-lfs filter-process"), ("clean", "git no-such-lfs clean -- %f")]
)
def test_a_required_filter_that_is_not_installed_is_named(
    project: GitProject, key: str, command: str
) -> None:
    run_git(project.top, "config", f"filter.lfs.{key}", command)
    run_git(project.top, "config", "filter.lfs.required", "true")
    project.create()  # no file needs it
    project.kind.remove(project.create()[0])
    (project.top / ".gitattributes").write_text("sub/file5 filter=lfs\n")
    error = refusal(project, project.top)
    assert "sub/file5" in error.text
    assert command in error.text
    assert "install it" in error.next_step
    if key == "clean":
        run_git(project.top, "config", "filter.lfs.required", "false")
        project.create()  # git takes the file as it is


@pytest.mark.parametrize(
    "command", ["sed s/a/b/", "exec cat", "$HOME/x || cat", "./run.sh", "X=1 cat", "'", "git hash-object"]
)
def test_a_required_filter_that_can_be_run_is_run(project: GitProject, command: str) -> None:
    run_git(project.top, "config", "filter.lfs.clean", command)
    run_git(project.top, "config", "filter.lfs.required", "true")
    (project.top / ".gitattributes").write_text("sub/file5 filter=lfs\n")
    project.kind.check(project.order().resource, project.top)


def test_a_repository_that_git_found_before_is_asked_for_again_when_it_differs(project: GitProject) -> None:
    known: dict[Path, KnownRepository] = {}
    git, nowhere = Git.within(GIT_ENVIRONMENT, project.top), Git({"PATH": "/nowhere"}, project.top)
    found = open_repository(git, project.top, known)
    assert isinstance(found, Repository)
    assert open_repository(nowhere, project.top, known) == found  # git was not started
    run_git(project.top, "config", "core.bare", "true")
    assert isinstance(open_repository(git, project.top, known), Unsuited)
    run_git(project.top, "config", "core.bare", "false")
    (project.top / ".git" / "HEAD").write_text("no branch and no commit")
    assert isinstance(open_repository(git, project.top, known), Unsuited)
    (project.top / ".git" / "HEAD").unlink()
    assert isinstance(open_repository(git, project.top, known), Unsuited)


def test_what_is_checked_out_is_read_from_files_only_where_they_are_plain(project: GitProject) -> None:
    found = open_repository(Git.within(GIT_ENVIRONMENT, project.top), project.top)
    assert isinstance(found, Repository)
    head = run_git(project.top, "rev-parse", "HEAD").strip()
    branch = run_git(project.top, "symbolic-ref", "HEAD").strip()
    assert found.standing() == (branch, head)
    run_git(project.top, "pack-refs", "--all")
    assert found.standing() == (branch, head)
    run_git(project.top, "checkout", "-q", "--detach")
    assert found.standing() is None
    run_git(project.top, "symbolic-ref", "HEAD", "refs/heads/other")
    (project.top / ".git" / "refs" / "heads" / "other").write_text(f"ref: {branch}\n")
    assert found.standing() is None
    (project.top / ".git" / "HEAD").unlink()
    (project.top / ".git" / "HEAD").symlink_to("refs/heads/other")
    assert found.standing() is None
