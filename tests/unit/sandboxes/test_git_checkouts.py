"""Sandboxes of every make of git checkout look and behave as the user's does, and leave it as it was."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.text.ids import CheckpointId
from mulligan.ports import Publication
from tests.support.git_checkouts import CHECKOUTS, Checkout
from tests.support.git_world import GitProject, looks, repository_picture, run_git, unlike
from tests.support.snapshot_world import Watcher

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=CHECKOUTS.values(), ids=CHECKOUTS)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> GitProject:
    made: Checkout = request.param
    return GitProject(tmp_path, made(tmp_path))


def questions(top: Path) -> dict[str, str]:
    """What git says of a checkout; the same of two that look the same."""
    with_submodules = (
        ("submodule status",) if (top / ".gitmodules").exists() else ()
    )  # a slow script of git's
    return {
        question: run_git(top, *question.split(), check=False)
        for question in (
            *with_submodules,
            "status --porcelain=v2 --branch --ignored",
            "status",
            "diff",
            "diff --cached",
            "log --all --format=%H",
            "stash list",
            "for-each-ref refs/heads refs/tags refs/remotes refs/stash refs/bisect",
            "tag -l",
            "reflog",
            "ls-files -s",
            "config user.email",
            "config color.ui",
        )
    }


def test_git_says_the_same_in_the_sandbox_and_nothing_changes_for_the_user(project: GitProject) -> None:
    said = questions(project.top)
    before = repository_picture(project.top)
    sandbox, capture = project.create()
    there = Path(sandbox.path)
    assert capture.unheld == ()
    assert unlike(looks(there), looks(project.top)) == {}
    assert unlike(questions(there), said) == {}
    assert unlike(repository_picture(project.top), before) == {}
    run_git(there, "fsck", "--connectivity-only")
    project.kind.remove(sandbox)
    assert unlike(repository_picture(project.top, pins=True), before) == {}
    assert not list(project.pin_folders())


def test_what_git_does_in_the_sandbox_rolls_back_and_forward_and_stays_there(project: GitProject) -> None:
    before = repository_picture(project.top)
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    first = project.kind.capture(sandbox, Watcher()).snapshot
    said = questions(there)
    project.misbehave(there)
    changed = questions(there)
    second = project.kind.capture(sandbox, Watcher()).snapshot
    assert changed != said
    project.kind.restore(sandbox, first, Watcher())
    assert unlike(questions(there), said) == {}
    project.kind.restore(sandbox, second, Watcher())
    assert unlike(questions(there), changed) == {}
    assert unlike(repository_picture(project.top), before) == {}
    assert not (there / "hooked").exists()


def test_a_checkpoint_is_the_commit_that_git_would_make(project: GitProject, tmp_path: Path) -> None:
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    bare = Path(str(sandbox.git_dir))
    after: Checkpoint | None = None
    changes = (None, project.change, project.change_rules, project.change_index)
    for number, change in enumerate(changes):
        if change is not None:
            change(there)
        snapshot = project.kind.capture(sandbox, Watcher()).snapshot
        checkpoint_id = CheckpointId(f"01JZZZZZZZZZZZZZZZZZZZZZZ{number}")
        new = project.checkpoint(sandbox, checkpoint_id, snapshot)
        commit = project.kind.publish(sandbox, Publication(checkpoint=new, after=after, at=AT))
        assert run_git(bare, "rev-parse", f"refs/checkpoints/{checkpoint_id}").strip() == commit
        parents = run_git(bare, "log", "-1", "--format=%P", commit).split()
        assert parents == ([after.sandbox_ref] if after else [])
        assert run_git(bare, "ls-tree", "-r", commit) == project.what_git_would_commit(there)
        after = replace(new, sandbox_ref=commit)
    assert "missing" not in run_git(bare, "fsck", check=False)


def test_the_users_prune_takes_nothing_from_a_sandbox(project: GitProject) -> None:
    sandbox, _ = project.create()
    there = Path(sandbox.path)
    said = run_git(there, "diff", "--cached", check=False)
    run_git(project.top, "stash", "clear")
    run_git(project.top, "merge", "--abort", check=False)
    run_git(project.top, "rebase", "--abort", check=False)
    run_git(project.top, "read-tree", "--empty")
    run_git(project.top, "reflog", "expire", "--expire=now", "--all")
    run_git(project.top, "gc", "-q", "--prune=now", check=False)
    assert run_git(there, "diff", "--cached", check=False) == said
    assert "missing" not in run_git(there, "fsck", "--connectivity-only", check=False)
    run_git(there, "stash", check=False)
    shutil.rmtree(project.top)
    project.kind.remove(sandbox)
    assert not os.path.lexists(sandbox.path)
    assert not os.path.lexists(str(sandbox.git_dir))
