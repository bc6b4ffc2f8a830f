"""The kinds of sandboxes, each with what it needs."""

import time
from pathlib import Path

from mulligan.adapters.sandboxes.database_copy import BUSY_LIMIT
from mulligan.adapters.sandboxes.directory import DirectorySandboxes
from mulligan.adapters.sandboxes.in_place import InPlaceFolders
from mulligan.adapters.sandboxes.in_place_database import InPlaceDatabases
from mulligan.adapters.sandboxes.kinds import LocalSandboxKinds
from mulligan.adapters.sandboxes.sqlite import SqliteSandboxes, Workplace
from mulligan.bootstrap.surroundings import boot_id
from mulligan.ports import SnapshotStore


def sandbox_kinds(*, store: SnapshotStore, project_home: Path) -> LocalSandboxKinds:
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
    return LocalSandboxKinds([folders, in_place, SqliteSandboxes(databases), InPlaceDatabases(databases)])
