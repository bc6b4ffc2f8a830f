"""Commits of checkpoints where a working tree, an index or a repository is not as it should be."""

import shutil
from pathlib import Path

import pytest

from mulligan.errors import SystemFailed
from tests.git_checkouts import plain, submodules
from tests.git_world import GitProject, run_git


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path, plain(tmp_path))


def test_a_repository_of_checkpoints_that_is_gone_is_named(project: GitProject) -> None:
    sandbox, _ = project.create()
    shutil.rmtree(str(sandbox.git_dir))
    with project.kind.watch(sandbox), pytest.raises(SystemFailed, match="gone or damaged"):
        project.publish(sandbox, 1, None)
    project.kind.retire(sandbox, ())
    project.kind.remove(sandbox)


def test_a_path_inside_a_submodule_that_is_not_checked_out_is_none_of_gits(tmp_path: Path) -> None:
    project = GitProject(tmp_path, submodules(tmp_path))
    run_git(project.top, "submodule", "deinit", "-q", "-f", "lib/inner")
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    first = project.publish(sandbox, 1, None)
    (there / "lib" / "inner" / "new").write_text("in nobody's land")
    second = project.publish(sandbox, 2, first)
    bare = Path(str(sandbox.git_dir))
    assert run_git(bare, "diff", "--name-only", first.sandbox_ref, second.sandbox_ref) == ""
    shutil.rmtree(there / "lib" / "inner")
    third = project.publish(sandbox, 3, second)
    assert run_git(bare, "diff", "--name-only", first.sandbox_ref, third.sandbox_ref) == "lib/inner\n"


def test_repositories_that_come_and_go_inside_the_sandbox(project: GitProject) -> None:
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    first = project.publish(sandbox, 1, None)
    inner = there / "made"
    inner.mkdir()
    (inner / "file").write_text("inner")
    run_git(inner, "init", "-q")
    unborn = project.publish(sandbox, 2, first)
    assert "made" not in run_git(bare, "ls-tree", "--name-only", unborn.sandbox_ref).split()
    run_git(inner, "add", "-A")
    run_git(inner, "commit", "-q", "-m", "inner")
    run_git(inner, "pack-refs", "--all")
    born = project.publish(sandbox, 3, unborn)
    head = run_git(inner, "rev-parse", "HEAD").strip()
    assert f"160000 commit {head}\tmade\n" in run_git(bare, "ls-tree", born.sandbox_ref)
    shutil.rmtree(inner / ".git")
    plain_again = project.publish(sandbox, 4, born)
    assert "made/file" in run_git(bare, "ls-tree", "-r", "--name-only", plain_again.sandbox_ref).split()


def test_large_and_many_files_are_committed_like_any_others(project: GitProject) -> None:
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    first = project.publish(sandbox, 1, None)
    (there / "large").write_bytes(bytes(9 << 20))
    for number in range(5):
        (there / f"many {number}").write_bytes(bytes([number]) * (7 << 20))
    for number in range(2000):
        (there / f"a rather long name so that questions come in batches {number}").write_text(str(number))
    second = project.publish(sandbox, 2, first)
    assert run_git(bare, "ls-tree", "-r", second.sandbox_ref) == project.what_git_would_commit(there)


def test_an_index_that_an_agent_broke_does_not_stop_checkpoints(project: GitProject) -> None:
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    first = project.publish(sandbox, 1, None)
    (there / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\0\0\0\7 broken")
    (there / "noise.log").write_text("changed and ignored")
    (there / "untracked").write_text("changed")
    (there / ".gitignore").write_text("*.log\n")
    second = project.publish(sandbox, 2, first)
    bare = Path(str(sandbox.git_dir))
    assert "untracked" in run_git(bare, "diff", "--name-only", first.sandbox_ref, second.sandbox_ref)
