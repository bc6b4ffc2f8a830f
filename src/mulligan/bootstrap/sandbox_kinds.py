"""The kinds of sandboxes of a project, in its home."""

from pathlib import Path

from mulligan.adapters.sandboxes.directory import DirectorySandboxes
from mulligan.adapters.sandboxes.git.sandboxes import GitSandboxes
from mulligan.adapters.sandboxes.in_place import InPlaceFolders
from mulligan.adapters.sandboxes.kinds import LocalSandboxKinds
from mulligan.bootstrap.surroundings import Surroundings
from mulligan.ports import SnapshotStore


def git_sandboxes(*, home: Path, store: SnapshotStore, around: Surroundings) -> GitSandboxes:
    """Those of git checkouts; git is the user's own, with the caller's environment."""
    return GitSandboxes(
        store=store,
        home=home / "sandboxes",
        git_home=home / "git",
        project_home=home,
        user_home=Path.home(),
        environment=around.environ,
    )


def sandbox_kinds(*, home: Path, store: SnapshotStore, git: GitSandboxes) -> LocalSandboxKinds:
    """All of them."""
    folders = (
        kind(store=store, home=home / "sandboxes", project_home=home, user_home=Path.home())
        for kind in (DirectorySandboxes, InPlaceFolders)
    )
    return LocalSandboxKinds([*folders, git])
