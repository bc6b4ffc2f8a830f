"""The kinds of sandboxes, each with what it needs."""

import time
from pathlib import Path

from mulligan.adapters.sandboxes.database_copy import BUSY_LIMIT
from mulligan.adapters.sandboxes.directory import DirectorySandboxes
from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.in_place import InPlaceCheckouts
from mulligan.adapters.sandboxes.git.repositories import CheckpointRepositories
from mulligan.adapters.sandboxes.git.sandboxes import GitSandboxes
from mulligan.adapters.sandboxes.in_place import InPlaceFolders
from mulligan.adapters.sandboxes.in_place_database import InPlaceDatabases
from mulligan.adapters.sandboxes.kinds import LocalSandboxKinds
from mulligan.adapters.sandboxes.sqlite import SqliteSandboxes, Workplace
from mulligan.bootstrap.surroundings import Surroundings, boot_id
from mulligan.ports import SnapshotStore


def checkpoint_repositories(*, project_home: Path, around: Surroundings) -> CheckpointRepositories:
    """Where checkpoints of git checkouts are commits; git is the user's own, with the caller's environment."""
    return CheckpointRepositories(git=Git.within(around.environ, project_home), home=project_home / "git")


def sandbox_kinds(*, store: SnapshotStore, project_home: Path, around: Surroundings) -> LocalSandboxKinds:
    """All kinds of sandboxes of a project."""
    home, user_home = project_home / "sandboxes", Path.home()
    folders = DirectorySandboxes(store=store, home=home, project_home=project_home, user_home=user_home)
    in_place = InPlaceFolders(store=store, home=home, project_home=project_home, user_home=user_home)
    databases = Workplace(
        store=store,
        home=home,
        project_home=project_home,
        now_ns=time.time_ns,
        boot_id=boot_id(),
        busy_limit=BUSY_LIMIT,
    )
    checkouts, real_checkouts = (
        kind(
            store=store,
            home=home,
            git_home=project_home / "git",
            project_home=project_home,
            user_home=user_home,
            environment=around.environ,
        )
        for kind in (GitSandboxes, InPlaceCheckouts)
    )
    copies, real_databases = SqliteSandboxes(databases), InPlaceDatabases(databases)
    return LocalSandboxKinds([folders, in_place, checkouts, real_checkouts, copies, real_databases])
