"""Commits of checkpoints where a working tree, an index or a repository is not as it should be."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.ports import Publication
from tests.support.git_checkouts import plain, submodules
from tests.support.git_world import AT, GitProject, run_git


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path, plain(tmp_path))


RUIN: dict[str, Callable[[Path], object]] = {
    "gone": shutil.rmtree,
    "without objects": lambda bare: shutil.rmtree(bare / "objects"),
    "without its own objects": lambda bare: shutil.rmtree(bare / "objects" / "pack"),
    "without refs": lambda bare: shutil.rmtree(bare / "refs"),
    "without memory": lambda bare: (bare / "mulligan.json").unlink(),
}


@pytest.mark.parametrize("ruin", RUIN)
def test_a_repository_of_checkpoints_that_is_lost_is_made_anew(project: GitProject, ruin: str) -> None:
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    first = project.publish(sandbox, 1, None)
    project.change(there)
    second = project.publish(sandbox, 2, first)
    run_git(there, "add", "-A")
    run_git(there, "commit", "-q", "-m", "by agent")
    project.change_rules(there)
    third = project.publish(sandbox, 3, second)
    before = [run_git(bare, "ls-tree", "-r", each.sandbox_ref) for each in (first, second, third)]
    wanted = [
        Publication(checkpoint=each, after=after, at=AT)
        for each, after in ((first, None), (second, first), (third, second))
    ]
    assert project.kind.republish(sandbox, wanted) == {}
    RUIN[ruin](bare)
    made = project.kind.republish(sandbox, wanted)
    assert list(made.values()) == [each.sandbox_ref for each in (first, second, third)], "equal, so the same"
    assert [run_git(bare, "ls-tree", "-r", ref) for ref in made.values()] == before
    run_git(bare, "fsck", "--no-dangling")
    RUIN[ruin](bare)
    (there / "more").write_text("more")
    with project.kind.watch(sandbox, others_at_work=False):
        fourth = project.publish(sandbox, 4, third)
        fifth = project.publish(sandbox, 5, fourth)
    assert run_git(bare, "ls-tree", "-r", fifth.sandbox_ref) == project.what_git_would_commit(there)
    project.kind.retire(sandbox, ())
    project.kind.remove(sandbox)
    assert run_git(project.top, "for-each-ref", "refs/mulligan") == ""


def test_pins_go_with_a_sandbox_whose_repository_of_checkpoints_is_gone(project: GitProject) -> None:
    sandbox, _ = project.create()
    shutil.rmtree(str(sandbox.git_dir))
    project.kind.retire(sandbox, ())
    copied = replace(sandbox, git_dir="/elsewhere/.mulligan/git/p/app.git")  # as a copy of the project has it
    assert project.kind.republish(copied, []) == {}
    project.kind.remove(copied)
    assert run_git(project.top, "for-each-ref", "refs/mulligan")
    project.kind.remove(sandbox)
    assert run_git(project.top, "for-each-ref", "refs/mulligan") == ""
    assert list(project.pin_folders()) == []


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


def _prune(top: Path) -> None:
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    run_git(top, "gc", "-q", "--prune=now")


def test_what_the_user_happens_to_have_too_and_prunes_is_not_borrowed(project: GitProject) -> None:
    (project.top / ".gitattributes").write_text("*.up filter=upper\n")
    run_git(project.top, "config", "filter.upper.clean", "tr a-z A-Z")
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    first = project.publish(sandbox, 1, None)
    contents = {"large": os.urandom(9 << 20), "x.up": b"filtered", "small": b"small"}
    for name, content in contents.items():
        (there / name).write_bytes(content)
        (project.top / name).write_bytes(content)
        run_git(project.top, "hash-object", "-w", name)
    second = project.publish(sandbox, 2, first)
    _prune(project.top)
    assert run_git(bare, "show", f"{second.sandbox_ref}:x.up") == "FILTERED"
    assert run_git(bare, "fsck", "--no-dangling", second.sandbox_ref) == ""


def test_collecting_garbage_keeps_what_a_pack_of_the_users_has_for_a_while(project: GitProject) -> None:
    (project.top / "committed").write_bytes(os.urandom(2 << 20))
    run_git(project.top, "add", "committed")
    run_git(project.top, "commit", "-q", "-m", "large")
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    first = project.publish(sandbox, 1, None)
    content = os.urandom(2 << 20)
    (there / "made").write_bytes(content)
    second = project.publish(sandbox, 2, first)
    run_git(project.top, "checkout", "-q", "-f", "-b", "aside")
    (project.top / "same").write_bytes(content)
    run_git(project.top, "add", "same")
    run_git(project.top, "commit", "-q", "-m", "same")
    run_git(project.top, "gc", "-q")
    project.kind.retire(sandbox, (second.checkpoint_id,))
    run_git(project.top, "checkout", "-q", "-f", "main")
    run_git(project.top, "branch", "-q", "-D", "aside")
    _prune(project.top)
    assert run_git(bare, "fsck", "--no-dangling") == ""
    assert run_git(bare, "rev-parse", f"{second.sandbox_ref}:made")
    assert first.sandbox_ref not in run_git(bare, "cat-file", "--batch-all-objects", "--batch-check")
    size = sum(file.stat().st_size for file in (bare / "objects").rglob("*") if file.is_file())
    assert size < 3 << 20, "what the user's commits have is borrowed still"


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
