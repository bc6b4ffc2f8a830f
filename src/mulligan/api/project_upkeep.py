"""The upkeep of a project: its place on disk, its database, what can be freed or repaired, its copy in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.wiring.thread_services import ThreadServices

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_archive import Exported
    from mulligan.api.graphs.project_graphs import ProjectGraphs
    from mulligan.application.checkpoints.project_sweep import SweepReport
    from mulligan.application.sandboxes.doctor import Diagnosis
    from mulligan.domain.server.words import ServerStatus
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services


class ProjectUpkeep:
    """A project folder and its home, by several threads at once; `Project` adds all that concerns plans."""

    def __init__(self, *, services: Services, observer: Observer) -> None:
        self._threads, self._observer = ThreadServices(services), observer
        self.notes = services.adapters.place.notes  # for the user, such as settings that were not taken over

    @property
    def _services(self) -> Services:
        return self._threads.here

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self._services.adapters.project

    @property
    def home(self) -> Path:
        """The project home: what mulligan keeps of the project, outside of its folder."""
        return self._services.adapters.home

    @property
    def database(self) -> Path | str:
        """The file that plans and checkpoints are recorded in, or the address of the server that has them."""
        place = self._services.adapters.database_place
        return place if isinstance(place, Path) else place.shown

    @property
    def is_shared(self) -> bool:
        """True where plans and checkpoints are recorded in a PostgreSQL server."""
        return isinstance(self.database, str)

    def graphs(self) -> ProjectGraphs:
        """Return the states of graphs that LangGraph runs, which `mulligan.langgraph.MulliganSaver` keeps here."""
        from mulligan.api.graphs.project_graphs import ProjectGraphs

        return ProjectGraphs(self._services.apart(None))

    def upgrade_database(self) -> tuple[int, int]:
        """Bring the tables to this version; return the version they had and the one they have.

        Those in a file are brought up to date whenever it is opened, those of a shared project only here.
        """
        from mulligan.wiring.database_place import upgrade_database

        self._threads.close()
        adapters = self._services.adapters
        return upgrade_database(adapters.database_place, adapters.find_host)

    def close(self) -> None:
        """Close the database, which is opened again when needed; no other thread may be using the project."""
        self._threads.close()

    def interrupt(self) -> None:
        """Ask plans that run through this object to stop, as Ctrl-C does: they can be resumed, through another one."""
        self._threads.interrupt()

    def prepare(self) -> None:
        """Open the database, which makes it or brings it up to date."""
        with self._services.adapters.database.reading():
            pass

    def start_server(self) -> ServerStatus:
        """Start the local server of the project in the background, if none runs, and wait until it answers."""
        from mulligan.api.local_server.server_operations import start_server

        return start_server(self.folder, self.home, self._services.adapters.around)

    def stop_server(self) -> bool:
        """End the local server of the project; return False where none runs."""
        from mulligan.api.local_server.server_operations import stop_server

        return stop_server(self.home, self._services.adapters.around)

    def server_status(self) -> ServerStatus | None:
        """Return the local server of the project as it describes itself; None where none runs."""
        from mulligan.api.local_server.server_operations import server_status

        return server_status(self.home, self._services.adapters.around)

    def problems(self) -> Sequence[str]:
        """Return what is wrong with the rows of the project."""
        return self._services.adapters.database.problems()

    def doctor(self) -> Diagnosis:
        """Look the project over, repair what is safe, and say what is left."""
        found = self._services.doctor.look_over(self._observer)
        server = self.server_status()
        if server is None or not server.unwatched:
            return found
        scans = f"the local server cannot watch {server.unwatched}; commands and hooks scan it"
        return replace(found, system=(*found.system, scans))

    def gc(self, *, dry_run: bool = False) -> SweepReport:
        """Free everything that no plan refers to, while others run."""
        if not dry_run:
            self._services.adapters.homes.clear_small_folder()
        return self._services.sweeps.sweep(dry_run=dry_run, observer=self._observer)

    def full_homes(self) -> list[str]:
        """Say that all project homes together hold more than the setting core.disk-limit; empty where they do not."""
        adapters = self._services.adapters
        return [*filter(None, [adapters.homes.fullness(adapters.settings.of_project().disk_limit)])]

    def export(self, file: Path, *, force: bool = False) -> Exported:
        """Write the project home, with plans, checkpoints and sandboxes, into one file for `mulligan.import_project`.

        Only with `force` does it replace another file. It is refused while a plan runs.
        """
        from mulligan.wiring.home_wiring import export_home

        return export_home(self._services.adapters, file, force=force)
