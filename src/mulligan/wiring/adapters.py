"""The adapters of a project, each imported and built when it is first needed."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan import errors
from mulligan.domain.resources.resource import Resource, type_of_folder
from mulligan.ports import StopRequest
from mulligan.rows.place_codec import Places
from mulligan.wiring.database_place import SQLITE, database_at, database_in, reader_of, shared_claims
from mulligan.wiring.layered_settings import LayeredSettings
from mulligan.wiring.system_clock import SystemClock, UlidSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mulligan.adapters.engine.side_thread import SideThreads
    from mulligan.adapters.homes.home_census import HomeCensus
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.adapters.other_projects import LocalNeighbours
    from mulligan.adapters.plan_locks import FilePlanLocks
    from mulligan.adapters.postgres.server_address import ServerAddress
    from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
    from mulligan.adapters.sandboxes.parked_trees import ParkedTrees
    from mulligan.adapters.sandboxes.plan_folders import LocalPlanFolders, LocalRepositoryFolders
    from mulligan.adapters.snapshots.packed_trees import PackedTrees
    from mulligan.adapters.snapshots.store import PackedSnapshotStore
    from mulligan.adapters.tools.project_toolbox import ProjectToolbox
    from mulligan.config import Entry
    from mulligan.domain.agents.conversation import Lineage
    from mulligan.domain.agents.left_process import RunningProcess
    from mulligan.domain.resources.host import Host
    from mulligan.osfiles.tempdirs import Rooms
    from mulligan.ports import ChangeReports, Confinement, Locks, Pins, RealPlaces
    from mulligan.rows.database import Database
    from mulligan.rows.sql_connection import SqlConnection
    from mulligan.wiring.sandbox_kinds import ProjectSandboxes
    from mulligan.wiring.store_wiring import ObjectStore
    from mulligan.wiring.surroundings import Surroundings

_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - tools may write them, we do not


def _nothing() -> None:
    """Do nothing: the home is there."""


class Adapters:
    """Settings, database, store, sandboxes, tools and locks of one project."""

    def __init__(
        self,
        *,
        place: ProjectPlace,
        around: Surroundings,
        stop: StopRequest | None,
        prepare: Callable[[], None] = _nothing,
        worker: str | None = None,
    ) -> None:
        """Open nothing yet. Other threads ask work here to `stop`; None: nobody can.

        `prepare` is called before the database is opened: a home that is yet to be made is made then, and not before.
        `worker` is the id of the worker that this process is.
        """
        self.prepare = prepare
        self.worker = worker
        self._asked = stop
        self.stop = stop or StopRequest()
        self.place = place
        self.project = place.folder
        self.home = place.home
        self.places = Places(home=str(place.home), project=str(place.folder))
        self.sandbox_home = self.home / "sandboxes"
        self._scratch = self.home / "scratch"
        self.settings_file = self.home / "config.toml"
        self.around = around
        self.clock = SystemClock()
        self.ids = UlidSource()
        self.settings = LayeredSettings(around=around, project_file=self.settings_file, folder=place.folder)

    @cached_property
    def database_place(self) -> Path | ServerAddress:
        """The file of the database, or the address of the server that has it."""
        return database_in(self.project, self.home, self.settings.of_project())

    @cached_property
    def database(self) -> Database:
        """The database. An empty file beside a full store is a loss, not a new project."""
        place = self.database_place
        if not isinstance(place, Path):
            store = self.object_store
            guard = store.check if store is not None else None
            places = replace(self.places, host=self.host.host)
            return database_at(place, places, self.prepare, guard, self.host)
        from mulligan.wiring.store_wiring import pack_storage

        files = (place, Path(f"{place}-wal"))
        # A log without its database is a loss too: SQLite would begin a new one, and drop the log.
        empty = not files[0].exists() or not any(file.exists() and file.stat().st_size for file in files)
        if empty and pack_storage(self).list():
            raise errors.DatabaseUnusable(
                database=str(place),
                reason="it is empty or missing, but the store beside it holds snapshots",
                hint=f"put the database back; to start from scratch instead, move {self.home} away",
            )
        return database_at(place, self.places, self.prepare)

    @cached_property
    def host(self) -> Host:
        """This machine, as others that share the project know it; asked for in shared projects only."""
        from mulligan.domain.resources.host import Host
        from mulligan.wiring.surroundings import host_of

        host, name = host_of(self.around, self.settings.of_project().host, self.ids.new)
        return Host(host=host, name=name, home=str(self.home), folder=str(self.project))

    @property
    def here(self) -> str | None:
        """The id of this machine in a shared project; None in any other."""
        return None if isinstance(self.database_place, Path) else self.host.host

    def is_elsewhere(self, host: str | None) -> bool:
        """Return whether something of that machine is not on this one."""
        return host is not None and host != self.here

    def find_host(self) -> Host:
        """Return this machine; who seldom needs it asks here."""
        return self.host

    @cached_property
    def object_store(self) -> ObjectStore | None:
        """The bucket that holds the packs; None where they are in a folder of the home."""
        url = self.settings.of_project().store_url
        if url is None:
            return None
        from mulligan.wiring.store_wiring import object_store_of  # here: most projects have a folder

        return object_store_of(self, url)

    def close(self) -> None:
        """Give the database back, if it was opened."""
        if "database" in self.__dict__:
            self.database.close()
        if self.__dict__.get("object_store") is not None:
            self.__dict__["object_store"].register.close()
        if "locks" in self.__dict__:
            self.locks.close()

    @cached_property
    def reports(self) -> ChangeReports | None:
        """The reports of the local server on what changed in trees; None where none runs."""
        from mulligan.adapters.local_server.change_questions import ServedReports
        from mulligan.adapters.local_server.installation import installation
        from mulligan.adapters.local_server.server_place import ServerPlace

        place = ServerPlace(home=self.home, environ=self.around.environ)
        return ServedReports(place, installation()) if place.read() is not None else None

    @property
    def default_resource(self) -> Resource:
        """The resource of a plan without `resources:`: the project folder."""
        from mulligan.adapters.sandboxes.suitability import has_marker  # here: few commands make a plan

        return Resource(
            name="workspace",
            type=type_of_folder(lambda name: has_marker(self.project, name)),
            location=".",
            strategy=None,
            from_revision=None,
            create=False,
        )

    @cached_property
    def agent_locks(self) -> FilePlanLocks:
        """The lock that events of coding agents hold, one at a time."""
        from mulligan.adapters.plan_locks import FilePlanLocks

        return FilePlanLocks(folder=self.home / "agents", clock=self.clock, stop=None)

    def agent_resources(self, folder: str) -> tuple[Resource, ...]:
        """Return what a session of an agent in that folder works on in place."""
        from mulligan.adapters.sandboxes.agent_workplace import resources_in

        return resources_in(self.project, Path(folder), self.settings.of_project().agent_databases)

    def conversation_of(self, transcript: str, prompt: str) -> Lineage | None:
        """Return the prompts that a prompt of an agent continues from."""
        from mulligan.adapters.agents.transcripts import conversation_of

        return conversation_of(transcript, prompt)

    def processes_of(self, session: str, marks: Sequence[str], folder: str) -> Sequence[RunningProcess]:
        """Return the processes of an agent's session in a folder, or with marks those of all its sessions."""
        from mulligan.adapters.agents.agent_processes import processes_of

        return processes_of(session, marks, folder, self.clock.now)

    def end_process(self, process: RunningProcess) -> bool:
        """End a process of an agent; return whether it is gone."""
        from mulligan.adapters.agents.agent_processes import end_process

        return end_process(process)

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
    def side_works(self) -> SideThreads:
        """Lets work go on beside its caller."""
        from mulligan.adapters.engine.side_thread import SideThreads

        return SideThreads()

    @cached_property
    def confinement(self) -> Confinement:
        """Confines what tools may write."""
        from mulligan.adapters.tools.process.confinement import LandlockConfinement
        from mulligan.wiring.surroundings import state_folder

        homes = state_folder(self.around.environ)
        named = filter(None, [self.around.environ.get("TMPDIR")])
        return LandlockConfinement(
            kept=(self.home, homes, database)
            if isinstance(database := self.database_place, Path)
            else (self.home, homes),
            project=self.project,
            scratch=self._scratch,
            temporary=[Path(folder) for folder in (*named, *_TEMPORARY) if Path(folder).is_dir()],
            user=Path.home(),
        )

    @cached_property
    def real_places(self) -> RealPlaces:
        """Shows tools their sandboxes in the places of the real resources."""
        from mulligan.adapters.tools.process.real_places import MountedPlaces

        return MountedPlaces(
            find_launchers=lambda: self.toolbox.built_in.launchers,
            home=self.home,
            sandbox_home=self.sandbox_home,
            scratch=self._scratch,
        )

    @cached_property
    def neighbours(self) -> LocalNeighbours:
        """Other projects of the user."""
        from mulligan.adapters.homes.home_search import place_of
        from mulligan.adapters.other_projects import LocalNeighbours
        from mulligan.wiring.surroundings import index_of

        index = index_of(self.around)

        def home_of(project: Path) -> Path | None:
            place = place_of(project, index)
            return place.home if place is not None else None

        def read(project: Path) -> tuple[SqlConnection, Places] | None:
            place = place_of(project, index)
            other = Adapters(place=place, around=self.around, stop=None) if place is not None else None
            if other is None:
                return None
            there = other.database_place
            if isinstance(there, Path) and not there.is_file():
                return None
            return reader_of(there, mode="ro", patience=10.0), other.places

        return LocalNeighbours(project=self.project, home_of=home_of, read=read)

    @cached_property
    def homes(self) -> HomeCensus:
        """The homes of all projects of the user."""
        from mulligan.wiring.home_wiring import home_census

        return home_census(self.around, self.place)

    @cached_property
    def locks(self) -> Locks:
        """The locks of plans."""
        if not isinstance(place := self.database_place, Path):
            return shared_claims(place, self.clock, self._asked, self.host, self.worker)
        from mulligan.adapters.plan_locks import FilePlanLocks

        return FilePlanLocks(folder=self.home / "locks", clock=self.clock, stop=self._asked)

    def find_locks(self) -> Locks:
        """Return the locks of plans; who seldom needs them asks here."""
        return self.locks

    def find_trees(self) -> PackedTrees:
        """Return the stored trees; who seldom needs them asks here."""
        return self.trees

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

        return ProjectSandboxes(
            store=self.store,
            place=self.place,
            around=self.around,
            here=self.here,
            pool=lambda: self.settings.of_project().pool,
            prepare=self.prepare,
        )

    @property
    def kinds(self) -> LocalSandboxKinds:
        """The kinds of sandboxes."""
        return self.sandbox_kinds.kinds

    @property
    def parked(self) -> ParkedTrees:
        """Working copies of plans that are over."""
        return self.sandbox_kinds.parked

    @cached_property
    def trials(self) -> Rooms:
        """Rooms for copies that belong to no plan."""
        from mulligan.adapters.sandboxes.removal import remove_tree
        from mulligan.osfiles.tempdirs import Rooms

        def remove(room: Path) -> None:
            remove_tree(room, self.sandbox_home)
            remove_tree(self._scratch / room.relative_to(self.sandbox_home), self._scratch)

        return Rooms(self.sandbox_home / ".trials", remove)

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
