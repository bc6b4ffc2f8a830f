"""Sandboxes of git checkouts in a project home."""

from pathlib import Path

from mulligan.adapters.sandboxes.git.sandboxes import GitSandboxes
from mulligan.bootstrap.surroundings import Surroundings
from mulligan.ports import SnapshotStore


def git_sandboxes(*, home: Path, store: SnapshotStore, around: Surroundings) -> GitSandboxes:
    """Build them; git is the user's own, with the caller's environment."""
    return GitSandboxes(
        store=store,
        home=home / "sandboxes",
        git_home=home / "git",
        project_home=home,
        user_home=Path.home(),
        environment=around.environ,
    )
