"""The adapters of a project, each imported and built when it is first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.adapters import project_home as home
from mulligan.adapters.plan_locks import FilePlanLocks
from mulligan.domain.resources.resource import Resource, type_of_folder
from mulligan.errors import DatabaseUnusable
from mulligan.ports import StopRequest
from mulligan.wiring.database_place import SQLITE, database_at, database_in, reader_of
from mulligan.wiring.layered_settings import LayeredSettings
from mulligan.wiring.system_clock import SystemClock, UlidSource

if TYPE_CHECKING:
    from mulligan.adapters.other_projects import LocalNeighbours
    from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
    from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders, LocalRepositoryFolders
    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.adapters.tools.project_toolbox import ProjectToolbox
    from mulligan.config import Entry
    from mulligan.ports import Confinement, Pins
    from mulligan.rows.database import Database
    from mulligan.rows.sql_connection import SqlConnection
    from mulligan.wiring.sandbox_kinds import ProjectSandboxes
    from mulligan.wiring.surroundings import Surroundings

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - tools may write them, we do not


class Adapters:
    """Settings, database, store, sandboxes, tools and locks of one project."""

    def __init__(self, *, folder: Path, around: Surroundings, stop: StopRequest | None) -> None:
        """Open nothing yet. Other threads ask work here to `stop`; None: nobody can."""
        self._asked = stop
        self.stop = stop or StopRequest()
        self.project = folder
        self.home = folder / home.NAME
        self.sandbox_home = self.home / "sandboxes"
        self._scratch = self.home / "scratch"
        self.settings_file = self.home / "config.toml"
        self.around = around
        self.clock = SystemClock()
        self.ids = UlidSource()
        self.settings = LayeredSettings(around=around, project_file=self.settings_file)
        self.locks = FilePlanLocks(folder=self.home / "locks", clock=self.clock, stop=stop)

    @cached_property
    def database_path(self) -> Path:
        """The file of the database."""
        return database_in(self.home, self.settings.of_project())

    @cached_property
    def database(self) -> Database:
        """The database. An empty one beside a full store is a loss, not a new project."""
        from mulligan.wiring.store_wiring import pack_storage

        files = (self.database_path, Path(f"{self.database_path}-wal"))
        # A log without its database is a loss too: SQLite would begin a new one, and drop the log.
        empty = not files[0].exists() or not any(file.exists() and file.stat().st_size for file in files)
        if empty and pack_storage(self).list():
            raise DatabaseUnusable(
                database=str(self.database_path),
                reason="it is empty or missing, but the store beside it holds snapshots",
                hint=f"put the database back; to start from scratch instead, move {self.home} away",
            )
        return database_at(self.database_path)

    def close(self) -> None:
        """Give the database back, if it was opened."""
        if "database" in self.__dict__:
            self.database.close()

    @property
    def default_resource(self) -> Resource:
        """The resource of a plan without `resources:`: the project folder."""
        return Resource(
            name="workspace",
            type=type_of_folder(lambda name: (self.project / name).exists()),
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

        def linked() -> None:
            self.store.distrust_watches()  # which is not made before a tool runs

        obey = self._asked.obey if self._asked is not None else None
        return build_toolbox(self._scratch, self.home, self.around.environ, obey, linked)

    @cached_property
    def confinement(self) -> Confinement:
        """Confines what tools may write."""
        from mulligan.adapters.tools.process.confinement import LandlockConfinement

        named = filter(None, [self.around.environ.get("TMPDIR")])
        return LandlockConfinement(
            kept=(self.home, self.database_path),
            project=self.project,
            scratch=self._scratch,
            temporary=[Path(folder) for folder in (*named, *_TEMPORARY) if Path(folder).is_dir()],
            user=Path.home(),
        )

    @cached_property
    def neighbours(self) -> LocalNeighbours:
        """Other projects of the user."""
        from mulligan.adapters.other_projects import LocalNeighbours

        def read(project: Path) -> SqlConnection | None:
            database = Adapters(folder=project, around=self.around, stop=None).database_path
            return reader_of(database, mode="ro", patience=10.0) if database.is_file() else None

        return LocalNeighbours(project=self.project, read=read)

    @cached_property
    def trees(self) -> PackedTrees:
        """Stored trees, to be read only."""
        from mulligan.wiring.store_wiring import stored_trees

        return stored_trees(self)

    @cached_property
    def store(self) -> PackedSnapshotStore:
        """Snapshots."""
        from mulligan.wiring.store_wiring import snapshot_store

        return snapshot_store(self)

    @cached_property
    def sandbox_kinds(self) -> ProjectSandboxes:
        """The kinds of sandboxes, and the repositories that git checkouts share."""
        from mulligan.wiring.sandbox_kinds import ProjectSandboxes

        return ProjectSandboxes(store=self.store, project_home=self.home, around=self.around)

    @property
    def kinds(self) -> LocalSandboxKinds:
        """The kinds of sandboxes."""
        return self.sandbox_kinds.kinds

    @property
    def user_pins(self) -> Pins:
        """Pins in users' repositories."""
        return self.sandbox_kinds.repositories

    @cached_property
    def folders(self) -> LocalPlanFolders:
        """Folders of sandboxes."""
        from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders

        return LocalPlanFolders(home=self.sandbox_home)

    @cached_property
    def scratch(self) -> LocalPlanFolders:
        """Folders for what tool calls get and leave."""
        from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders

        return LocalPlanFolders(home=self._scratch)

    @cached_property
    def repositories(self) -> LocalRepositoryFolders:
        """Repositories of checkpoints; one that goes is first unpinned in the user's repository."""
        from mulligan.adapters.sandboxes.plan_folders import LocalRepositoryFolders

        def release(repository: Path) -> None:
            self.sandbox_kinds.repositories.unpin(repository)

        return LocalRepositoryFolders(home=self.home / "git", release=release)
