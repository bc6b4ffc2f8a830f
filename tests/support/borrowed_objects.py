"""What tests of borrowed git objects share: objects that no ref keeps, and ways to reach them from a sandbox."""

import subprocess
from pathlib import Path

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox
from tests.support.git_checkouts import plain
from tests.support.git_world import GIT_ENVIRONMENT, GitProject, run_git
from tests.support.snapshot_world import Watcher

TEXT = "the very same text\n"


def prune(top: Path) -> None:
    """Remove all that no ref of the user's repository reaches."""
    run_git(top, "reflog", "expire", "--expire=now", "--all")
    run_git(top, "gc", "-q", "--prune=now")


def clean(base: Path) -> Path:
    top = plain(base)
    run_git(top, "reset", "-q", "--hard")
    return top


def staged_and_unstaged(top: Path) -> None:
    (top / "same").write_text(TEXT)
    run_git(top, "add", "same")
    run_git(top, "rm", "-q", "--cached", "same")
    (top / "same").unlink()


def amended(top: Path) -> None:
    (top / "same").write_text(TEXT)
    run_git(top, "add", "same")
    run_git(top, "commit", "-q", "-m", "with it")
    run_git(top, "rm", "-q", "-f", "same")
    (top / "instead").write_text("instead\n")
    run_git(top, "add", "instead")
    run_git(top, "commit", "-q", "--amend", "-m", "without it")
    run_git(top, "reflog", "expire", "--expire=now", "--all")  # what only a reflog knows is not promised


def dropped_stash(top: Path) -> None:
    (top / "same").write_text(TEXT)
    run_git(top, "stash", "-u")
    run_git(top, "stash", "drop")


def undone_apply(top: Path) -> None:
    """A commit, its trees and blobs in a pack, as applying leaves them when it is taken back."""
    (top / "same").write_text(TEXT)
    run_git(top, "add", "same")
    run_git(top, "commit", "-q", "-m", "applied")
    run_git(top, "repack", "-q", "-a", "-d")
    run_git(top, "update-ref", "HEAD", "HEAD~1")
    run_git(top, "rm", "-q", "-f", "same")
    run_git(top, "reflog", "expire", "--expire=now", "--all")


LEFT = [staged_and_unstaged, amended, dropped_stash, undone_apply]


def commit(there: Path) -> None:
    (there / "same").write_text(TEXT)
    run_git(there, "add", "same")
    run_git(there, "commit", "-q", "-m", "by the plan")


def stage(there: Path) -> None:
    (there / "same").write_text(TEXT)
    run_git(there, "add", "same")


def stash(there: Path) -> None:
    stage(there)
    run_git(there, "stash")
    (there / "other").write_text("another stash on top\n")
    run_git(there, "stash", "-u")


def commit_elsewhere(there: Path) -> None:
    run_git(there, "checkout", "-q", "--detach")
    commit(there)
    run_git(there, "tag", "-a", "kept", "-m", "kept")
    run_git(there, "checkout", "-q", "main")


def merge(there: Path) -> None:
    run_git(there, "checkout", "-q", "-b", "side")
    commit(there)
    run_git(there, "checkout", "-q", "main")
    (there / "ours").write_text("ours\n")
    run_git(there, "add", "ours")
    run_git(there, "commit", "-q", "-m", "ours")
    run_git(there, "merge", "-q", "--no-edit", "side")
    run_git(there, "branch", "-D", "side")


def undo_a_commit(there: Path) -> None:
    """The reflog is all that knows the commit; it was made in the sandbox."""
    commit(there)
    run_git(there, "reset", "-q", "--hard", "HEAD~1")


USED = [commit, stage, stash, commit_elsewhere, merge, undo_a_commit]


def fsck(there: Path) -> list[str]:
    ended = subprocess.run(
        ["git", "fsck", "--no-dangling"],
        cwd=there,
        env=dict(GIT_ENVIRONMENT),
        capture_output=True,
        text=True,
        check=False,
    )
    return [line for line in (ended.stdout + ended.stderr).splitlines() if "notice" not in line]


def borrows(there: Path, top: Path) -> bool:
    """Whether the sandbox has an object that only the user's repository holds, and no ref of it reaches."""
    loose = run_git(top, "fsck", "--unreachable", "--no-reflogs", "--no-dangling", check=False)
    unreachable = {line.split()[2] for line in loose.splitlines() if line.startswith("unreachable")}
    listed = run_git(there, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects").splitlines()
    return any(line.split()[0] in unreachable for line in listed)


def checkpoint(project: GitProject, sandbox: Sandbox) -> Snapshot:
    return project.kind.capture(sandbox, Watcher()).snapshot
