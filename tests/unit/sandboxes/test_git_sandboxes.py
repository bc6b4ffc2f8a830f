"""Where git sandboxes start, what they survive, and whose code they never run."""

import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.text.ids import PlanId
from mulligan.errors import ResourceUnsuitable
from tests.support.git_checkouts import (
    configured,
    filtered,
    inner_repository,
    linked_worktree,
    merge_half_done,
    plain,
    submodules,
    worktree_inside,
)
from tests.support.git_world import GIT_ENVIRONMENT, GitProject, looks, repository_picture, run_git, unlike
from tests.support.snapshot_world import Watcher, picture, removed


@pytest.fixture
def project(tmp_path: Path) -> GitProject:
    return GitProject(tmp_path, plain(tmp_path))


# --- where it starts -------------------------------------------------------------------------------------


def test_from_a_revision_it_starts_clean(project: GitProject) -> None:
    before = repository_picture(project.top)
    sandbox, capture = project.create(revision="v1")
    there = Path(sandbox.path)
    assert run_git(there, "status", "--porcelain", "--ignored") == ""
    assert run_git(there, "rev-parse", "HEAD") == run_git(project.top, "rev-parse", "v1^{commit}")
    assert sandbox.branch is None
    assert not (there / "untracked").exists()
    assert (there / "run.sh").stat().st_mode & 0o777 == 0o755
    assert capture.snapshot == sandbox.base
    assert project.kind.capture(sandbox, Watcher()).snapshot.same_as(sandbox.base)
    survey = project.kind.survey(project.order(revision="v1"), Watcher())
    assert survey.files == capture.files
    assert unlike(repository_picture(project.top), before) == {}


def test_from_a_branch_it_is_on_that_branch(project: GitProject) -> None:
    sandbox, _ = project.create(revision="other")
    assert sandbox.branch == "other"
    assert run_git(Path(sandbox.path), "branch", "--show-current") == "other\n"
    again, _ = project.create(revision="other")
    assert run_git(Path(again.path), "status", "--porcelain") == ""


def test_from_a_revision_leaves_what_is_half_done_behind(tmp_path: Path) -> None:
    project = GitProject(tmp_path, merge_half_done(tmp_path))
    sandbox, _ = project.create(revision="other")
    assert run_git(Path(sandbox.path), "status", "--porcelain") == ""
    assert not (Path(sandbox.path) / ".git" / "MERGE_HEAD").exists()


@pytest.mark.parametrize("revision", ["nowhere", "--help", "v1:sub", ""])
def test_a_revision_that_names_no_commit_is_refused(project: GitProject, revision: str) -> None:
    resource = project.order(revision=revision).resource
    with pytest.raises(ResourceUnsuitable, match="no commit"):
        project.kind.check(resource, project.top)


def test_ignored_files_stay_behind_when_told_so(project: GitProject) -> None:
    sandbox, _ = project.create(include_ignored=False)
    there = Path(sandbox.path)
    assert not (there / "noise.log").exists()
    assert not (there / "build").exists()
    assert (there / "untracked").exists()
    assert set(sandbox.excluded) == {"noise.log", "build"}
    (there / "build").mkdir()
    assert project.kind.capture(sandbox, Watcher()).snapshot.same_as(sandbox.base)
    assert project.kind.survey(project.order(include_ignored=False), Watcher()).files == 10


def test_the_first_status_reads_no_file_again(tmp_path: Path) -> None:
    top = plain(tmp_path)
    run_git(top, "reset", "-q", "--hard")
    long_ago = 1_700_000_000
    for path in top.rglob("*"):
        if ".git" not in path.parts and not path.is_symlink():
            os.utime(path, (long_ago, long_ago))
    run_git(top, "status")
    project = GitProject(tmp_path, top)
    sandbox, _ = project.create()
    # Without a look at contents it lists every file whose stat data are not those it knows.
    assert run_git(Path(sandbox.path), "diff-files", "--name-only") == ""


# --- whose code is never run -----------------------------------------------------------------------------


def test_nothing_that_a_sandbox_configures_is_run_by_us(tmp_path: Path) -> None:
    project = GitProject(tmp_path, filtered(tmp_path))
    sandbox, _ = project.create()
    there, proof = Path(sandbox.path), tmp_path / "was run"
    after = project.publish(sandbox, 1, None)
    touch = f"touch '{proof}'; cat"
    for key in (
        "core.fsmonitor",
        "filter.upper.clean",
        "filter.upper.process",
        "filter.evil.clean",
        "gpg.program",
    ):
        run_git(there, "config", key, touch)
    for key in ("core.sshCommand", "core.pager", "diff.external", "core.editor", "core.alternateRefsCommand"):
        run_git(there, "config", key, touch)
    run_git(there, "config", "diff.evil.textconv", touch)
    run_git(there, "config", "commit.gpgSign", "true")
    hooks = there / ".git" / "hooks"
    for name in ("reference-transaction", "post-index-change", "pre-commit", "post-checkout", "pre-auto-gc"):
        (hooks / name).write_text(f"#!/bin/sh\n{touch}\n")
        (hooks / name).chmod(0o755)
    (there / ".gitattributes").write_text("*.up filter=upper\n*.evil filter=evil diff=evil\n")
    (there / "a.evil").write_text("evil\n")
    (there / "b.up").write_text("up\n")
    second = project.publish(sandbox, 2, after)
    bare = Path(str(sandbox.git_dir))
    assert run_git(bare, "show", f"{second.sandbox_ref}:b.up") == "UP\n"
    assert run_git(bare, "show", f"{second.sandbox_ref}:a.evil") == "evil\n"
    fork = project.kind.fork(project.order("fork"), sandbox, second.snapshot, Watcher())
    project.kind.compare(sandbox, after.snapshot)
    project.kind.restore(sandbox, after.snapshot, Watcher())
    project.kind.retire(sandbox, ())
    project.kind.remove(fork)
    project.kind.remove(sandbox)
    assert not proof.exists()


def test_nothing_that_the_users_repository_configures_is_run_but_filters(tmp_path: Path) -> None:
    top, proof = filtered(tmp_path), tmp_path / "was run"
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.alternateRefsCommand", "gpg.program"):
        run_git(top, "config", key, f"touch '{proof}'")
    for name in ("reference-transaction", "post-index-change", "post-checkout"):
        hook = top / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch '{proof}'\n")
        hook.chmod(0o755)
    project = GitProject(tmp_path, top)
    for how in ({}, {"revision": "v1"}):
        sandbox, _ = project.create(**how)
        project.publish(sandbox, 1, None)
        project.kind.remove(sandbox)
    assert not proof.exists()


@pytest.mark.parametrize("project_is_checkout", [True, False])
def test_settings_that_lead_to_the_users_files_lead_to_the_sandbox(
    tmp_path: Path, *, project_is_checkout: bool
) -> None:
    top = configured(tmp_path)
    project = GitProject(top if project_is_checkout else tmp_path, top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    config = (there / ".git" / "config").read_text()
    assert str(project.top) not in config.replace(str(there), "")
    assert run_git(there, "config", "core.hooksPath") == f"{there}/hooks\n"
    assert run_git(there, "config", "alias.here") == f"!ls {there}/sub; true\n"
    assert run_git(there, "config", 'branch.a"b\\c.description') == "one\ntwo\t#three\n"
    assert run_git(there, "config", "user.email") == "included@example.com\n"
    assert "x.tmp" not in run_git(there, "status", "--porcelain")


@pytest.mark.parametrize("made", [submodules, inner_repository, worktree_inside, linked_worktree])
def test_git_inside_inner_repositories_stays_in_the_sandbox(tmp_path: Path, made) -> None:
    project = GitProject(tmp_path, made(tmp_path))
    everything = {
        str(p): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and ".mulligan" not in p.parts
    }
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    first = project.kind.capture(sandbox, Watcher()).snapshot
    for inner in ("lib/inner", "vendor/inner", "trees/inside", "."):
        if (there / inner).is_dir():
            (there / inner / "by agent").write_text("by agent")
            run_git(there / inner, "add", "by agent")
            run_git(there / inner, "commit", "-q", "-m", "by agent")
            run_git(there / inner, "config", "user.name", "agent")
            run_git(there / inner, "stash", check=False)
    now = {str(p): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and ".mulligan" not in p.parts}
    pins = {name for name in now if "refs/mulligan" in name}
    assert pins
    assert {name: data for name, data in now.items() if name not in pins} == everything
    project.kind.restore(sandbox, first, Watcher())
    assert not list(there.rglob("by agent"))


# --- what it survives ------------------------------------------------------------------------------------


def test_a_git_directory_that_was_deleted_comes_back_and_goes_again(project: GitProject) -> None:
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    with project.kind.watch(sandbox, others_at_work=False):
        first = project.publish(sandbox, 1, None)
        status = run_git(there, "status")
        shutil.rmtree(there / ".git")
        without = project.publish(sandbox, 2, first)
        assert len(without.snapshot.roots) == 1
        project.kind.compare(sandbox, first.snapshot)
        project.kind.restore(sandbox, first.snapshot, Watcher())
        assert run_git(there, "status") == status
        project.kind.restore(sandbox, without.snapshot, Watcher())
        assert not (there / ".git").exists()
        project.kind.restore(sandbox, first.snapshot, Watcher())
        assert project.kind.capture(sandbox, Watcher()).snapshot.same_as(first.snapshot)


def test_a_git_directory_that_became_a_file_is_told_and_comes_back(project: GitProject) -> None:
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    shutil.rmtree(there / ".git")
    (there / ".git").write_text("gitdir: /elsewhere\n")
    capture = project.kind.capture(sandbox, Watcher())
    assert [unheld.path for unheld in capture.unheld] == [".git"]
    assert project.kind.compare(sandbox, capture.snapshot) == removed(".git")
    planned = project.kind.compare(sandbox, sandbox.base)
    assert project.kind.restore(sandbox, sandbox.base, Watcher()) == planned
    assert (there / ".git").is_dir()
    shutil.rmtree(there / ".git")
    (there / ".git").symlink_to(project.top / ".git")
    project.kind.restore(sandbox, sandbox.base, Watcher())
    assert not (there / ".git").is_symlink()
    assert (project.top / ".git" / "HEAD").exists()


def test_the_tree_of_a_commit_does_not_depend_on_how_it_came_about(project: GitProject) -> None:
    """Under a watch, in a new process, and after someone emptied the repository of the checkpoints."""
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    after = project.publish(sandbox, 1, None)
    with project.kind.watch(sandbox, others_at_work=False), project.kind.watch(sandbox, others_at_work=False):
        for number in range(2, 50):
            (there / f"file{number % 5}").write_text(f"{number}")
            after = project.publish(sandbox, number, after)
        watched = run_git(bare, "rev-parse", f"{after.sandbox_ref}^{{tree}}")
    assert len(list((bare / "objects" / "pack").glob("*.pack"))) < 45
    assert len(run_git(bare, "rev-list", after.sandbox_ref).split()) == 49
    lost = replace(after, sandbox_ref="0" * 39 + "1")
    anew = project.publish(sandbox, 60, lost)
    assert run_git(bare, "rev-parse", f"{anew.sandbox_ref}^{{tree}}") == watched
    assert run_git(bare, "rev-list", anew.sandbox_ref).split() == [anew.sandbox_ref]
    assert run_git(bare, "fsck", "--full", "--no-dangling") == ""


def test_retired_checkpoints_are_gone_and_the_others_whole(project: GitProject) -> None:
    sandbox, _ = project.create()
    there, bare = Path(sandbox.path), Path(str(sandbox.git_dir))
    taken: list[Checkpoint] = []
    for number in range(9):
        (there / "large").write_bytes(os.urandom(1 << 18))
        taken.append(project.publish(sandbox, number, taken[-1] if taken else None))
    kept = [taken[0], taken[4], taken[5], taken[8]]
    size = sum(path.stat().st_size for path in bare.rglob("*.pack"))
    for _ in range(2):
        project.kind.retire(sandbox, {each.checkpoint_id for each in kept})
    listed = run_git(bare, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints").split()
    assert listed == [each.checkpoint_id for each in kept]
    assert run_git(bare, "rev-list", kept[2].sandbox_ref).split() == [
        kept[2].sandbox_ref,
        kept[1].sandbox_ref,
    ]
    assert run_git(bare, "rev-list", kept[3].sandbox_ref).split() == [kept[3].sandbox_ref]
    assert run_git(bare, "fsck", "--full", "--no-dangling") == ""
    assert sum(path.stat().st_size for path in bare.rglob("*.pack")) < size
    (there / "large").unlink()
    last = project.publish(sandbox, 10, kept[3])
    assert "large" not in run_git(bare, "ls-tree", "--name-only", last.sandbox_ref)
    project.kind.remove(sandbox)
    project.kind.retire(sandbox, ())


def test_a_fork_writes_through_no_symlink_of_its_parent(project: GitProject, tmp_path: Path) -> None:
    parent, _ = project.create()
    own, outside = Path(parent.path) / ".git", tmp_path / "outside"
    (outside / "x" / "objects").mkdir(parents=True)
    (outside / "x" / "HEAD").touch()
    (outside / "x" / "config").write_text(f"path = {parent.path}\n")
    shutil.copy2(own / "index", outside / "index")
    shutil.copy2(outside / "x" / "config", outside / "config")
    for name in ("index", "config"):
        (own / name).unlink()
        (own / name).symlink_to(outside / name)
    for name in ("modules", "inner"):
        (own / name).symlink_to(outside)
    before = picture(outside)
    snapshot = project.kind.capture(parent, Watcher()).snapshot
    project.kind.fork(project.order("fork"), parent, snapshot, Watcher())
    assert project.kind.lenders(parent) != ()
    assert picture(outside) == before


def test_a_fork_has_its_own_repository_and_pins(tmp_path: Path) -> None:
    project = GitProject(tmp_path, submodules(tmp_path))
    run_git(project.top, "config", "core.hooksPath", str(project.top / "hooks"))
    before = repository_picture(project.top)
    parent, _ = project.create()
    there = Path(parent.path)
    first = project.publish(parent, 1, None)
    (there / "by parent").write_text("by parent")
    run_git(there, "add", "by parent")
    run_git(there, "commit", "-q", "-m", "by parent")
    second = project.publish(parent, 2, first)
    status = run_git(there, "status")
    (there / "later").write_text("later")
    order = replace(project.order("child"), plan_id=PlanId("01JZZZZZZZZZZZZZZZZZZZZZZY"))
    child = project.kind.fork(order, parent, second.snapshot, Watcher())
    assert run_git(Path(child.path), "status") == status
    assert run_git(Path(child.path), "config", "core.hooksPath") == f"{child.path}/hooks\n"
    project.kind.remove(parent)
    (Path(child.path) / "by child").write_text("by child")
    made = project.publish(child, 3, None)
    bare = Path(str(child.git_dir))
    assert "by child" in run_git(bare, "ls-tree", "--name-only", made.sandbox_ref)
    assert "by parent" in run_git(bare, "ls-tree", "--name-only", made.sandbox_ref)
    assert "missing" not in run_git(bare, "fsck", check=False)
    run_git(Path(child.path), "fsck")
    assert run_git(project.top, "for-each-ref", "refs/mulligan")
    project.kind.remove(child)
    assert unlike(repository_picture(project.top, pins=True), before) == {}


def test_a_repository_that_no_row_names_goes_with_its_pins(project: GitProject, tmp_path: Path) -> None:
    before = repository_picture(project.top)
    sandbox, _ = project.create()
    bare = Path(str(sandbox.git_dir))
    copy = tmp_path / "copy" / "of" / bare.name
    shutil.copytree(bare, copy)
    git = CheckpointRepositories(git=Git.within(GIT_ENVIRONMENT, tmp_path), home=tmp_path)
    repositories = LocalRepositoryFolders(home=tmp_path / "copy", release=git.unpin)
    assert repositories.list(PlanId("of")) == [copy]
    repositories.remove(copy)  # that of a copied project: the pins are the original's
    assert not copy.exists()
    assert run_git(project.top, "for-each-ref", "refs/mulligan")
    own = LocalRepositoryFolders(home=bare.parents[1], release=git.unpin)
    own.remove(bare)
    assert not bare.exists()
    assert unlike(repository_picture(project.top, pins=True), before) == {}
    own.remove(bare)


def test_pins_outlive_a_user_who_deletes_branches_and_packs_refs(project: GitProject) -> None:
    run_git(project.top, "checkout", "-q", "-f", "--orphan", "lonely")
    run_git(project.top, "commit", "-q", "-m", "lonely")
    run_git(project.top, "checkout", "-q", "-f", "main")
    sandbox, _ = project.create()
    commit = run_git(project.top, "rev-parse", "lonely").strip()
    run_git(project.top, "branch", "-q", "-D", "lonely")
    run_git(project.top, "reflog", "expire", "--expire=now", "--all")
    run_git(project.top, "gc", "-q", "--prune=now")
    assert run_git(Path(sandbox.path), "cat-file", "-t", "lonely") == "commit\n"
    project.kind.remove(sandbox)
    assert run_git(project.top, "for-each-ref", "refs/mulligan") == ""
    assert "mulligan" not in (project.top / ".git" / "packed-refs").read_text()
    run_git(project.top, "gc", "-q", "--prune=now")
    assert run_git(project.top, "cat-file", "-t", commit, check=False) == ""
    assert not (project.top / ".git" / "refs" / "mulligan").exists()


def test_a_symlink_to_the_checkout_and_pins_of_others_are_no_matter(
    project: GitProject, tmp_path: Path
) -> None:
    run_git(project.top, "update-ref", "refs/mulligan/another/plan", "HEAD")
    run_git(project.top, "pack-refs", "--all")
    (tmp_path / "alias").symlink_to(project.top)
    order = replace(project.order(), location=tmp_path / "alias")
    sandbox, _ = project.kind.create(order, Watcher())
    assert run_git(Path(sandbox.path), "for-each-ref", "refs/mulligan") == ""
    assert unlike(looks(Path(sandbox.path)), looks(project.top)) == {}
    project.kind.remove(sandbox)
    assert (
        run_git(project.top, "for-each-ref", "--format=%(refname)", "refs/mulligan")
        == "refs/mulligan/another/plan\n"
    )
