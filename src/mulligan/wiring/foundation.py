"""What a project stands on: its adapters, each imported and built when it is first needed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.adapters import project_home as home
from mulligan.adapters.db.database import SqliteDatabase
from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.domain.resources.resource import Resource, ResourceType
from mulligan.errors import DatabaseUnusable
from mulligan.ports import StopRequest
from mulligan.wiring.database_place import SQLITE, database_in
from mulligan.wiring.layered_settings import LayeredSettings
from mulligan.wiring.surroundings import boot_id
from mulligan.wiring.system_clock import SystemClock, UlidSource

if TYPE_CHECKING:
    from mulligan.adapters.other_projects import LocalNeighbours
    from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.adapters.tools.project_toolbox import ProjectToolbox
    from mulligan.config import Entry
    from mulligan.domain.plans.tool import ToolDeclaration
    from mulligan.ports import Confinement
    from mulligan.wiring.sandbox_kinds import ProjectSandboxes
    from mulligan.wiring.surroundings import Surroundings


class Foundation:
    """Settings, database, store, sandboxes, tools and locks of one project."""

    def __init__(self, *, folder: Path, around: Surroundings, stop: StopRequest | None) -> None:
        """Build on this project folder; other threads ask work here to `stop`, and None is work that cannot be."""
        self._stop = stop
        self.folder = folder
        self.home = folder / home.NAME
        self.settings_file = self.home / "config.toml"
        self._around = around
        self._clock = SystemClock()
        self._ids = UlidSource()

    @cached_property
    def settings(self) -> LayeredSettings:
        """Where settings come from."""
        return LayeredSettings(around=self._around, project_file=self.settings_file)

    @cached_property
    def database_path(self) -> Path:
        """The file of the database."""
        return database_in(self.home, self.settings.of_project())

    @cached_property
    def database(self) -> SqliteDatabase:
        """Where rows are kept. An empty one beside a full store is a loss, not a beginning."""
        files = (self.database_path, Path(f"{self.database_path}-wal"))
        # A log without its database is a loss too: SQLite would begin a new one, and drop the log.
        empty = not files[0].exists() or not any(file.exists() and file.stat().st_size for file in files)
        packs = self.home / "store" / "packs"
        if empty and packs.is_dir() and any(packs.iterdir()):
            raise DatabaseUnusable(
                database=str(self.database_path),
                reason="it is empty or missing, but the store beside it holds snapshots",
                hint=f"put the database back; to start anew instead, move {self.home} away",
            )
        return SqliteDatabase(self.database_path)

    def close(self) -> None:
        """Give the database back, if it was opened."""
        if "database" in self.__dict__:
            self.database.close()

    @property
    def known_tools(self) -> Mapping[str, ToolDeclaration]:
        """Tools by name."""
        return self.toolbox.declarations()

    @property
    def default_resource(self) -> Resource:
        """What a plan without `resources:` works on: the project folder."""
        is_git = (self.folder / ".git").exists()
        return Resource(
            name="workspace",
            type=ResourceType.GIT_CHECKOUT if is_git else ResourceType.FS_DIRECTORY,
            location=".",
            strategy=None,
            from_revision=None,
            create=False,
        )

    def shown_settings(self) -> list[Entry]:
        """Every setting of the project; the database's address is shown as it is used."""
        url = f"{SQLITE}{self.home / 'mulligan.db'}"
        return [
            replace(entry, value=url) if entry.key == "core.database.url" and entry.value is None else entry
            for entry in self.settings.of_project().entries
        ]

    @cached_property
    def toolbox(self) -> ProjectToolbox:
        """The tools, and the processes they keep."""
        from mulligan.wiring.toolbox_wiring import build_toolbox

        obey = self._stop.obey if self._stop is not None else None

        def linked() -> None:
            self._store.distrust_watches()  # which is not made before a tool runs

        return build_toolbox(self._scratch, self.home, self._around.environ, obey, linked)

    @cached_property
    def confinement(self) -> Confinement:
        """Confines what tools may write."""
        from mulligan.wiring.confinement_wiring import confinement

        kept = (self.home, self.database_path)
        return confinement(self.folder, kept, self._scratch, self._around.environ)

    @property
    def _stop_request(self) -> StopRequest:
        """The request that work here obeys; one that nobody makes where there is none."""
        return self._stop or StopRequest()

    @property
    def _scratch(self) -> Path:
        return self.home / "scratch"

    @cached_property
    def _locks(self) -> FilePlanLocks:
        return FilePlanLocks(folder=self.home / "locks", clock=self._clock, stop=self._stop)

    @cached_property
    def _neighbours(self) -> LocalNeighbours:
        from mulligan.adapters.other_projects import LocalNeighbours

        def database_of(project: Path) -> Path:
            return Foundation(folder=project, around=self._around, stop=None).database_path

        return LocalNeighbours(project=self.folder, database_of=database_of)

    @cached_property
    def _trees(self) -> PackedTrees:
        from mulligan.adapters.snapshots.packed_trees import PackedTrees

        return PackedTrees(home=self.home / "store")

    @cached_property
    def _store(self) -> PackedSnapshotStore:
        from mulligan.adapters.snapshots.store import PackedSnapshotStore

        return PackedSnapshotStore(home=self.home / "store", now_ns=time.time_ns, boot_id=boot_id())

    @cached_property
    def _sandbox_kinds(self) -> ProjectSandboxes:
        from mulligan.wiring.sandbox_kinds import ProjectSandboxes

        return ProjectSandboxes(store=self._store, project_home=self.home, around=self._around)

    @property
    def _kinds(self) -> LocalSandboxKinds:
        return self._sandbox_kinds.kinds

    def _release(self, repository: Path) -> None:
        """Let go of what stands in a user's repository for one of the repositories of checkpoints."""
        self._sandbox_kinds.repositories.unpin(repository)
