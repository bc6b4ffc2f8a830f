"""Projects in which something goes wrong at a chosen moment."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from mulligan.adapters.db.database_file import open_sqlite
from mulligan.api.project import Project
from mulligan.domain.plans.event import Event
from mulligan.ports import Claim, StopRequest
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction
from mulligan.wiring.adapters import Adapters
from mulligan.wiring.home_wiring import make
from mulligan.wiring.services import Services
from mulligan.wiring.surroundings import Surroundings, locate
from tests.support.homes import homes_for


class Watching:
    """An observer that does something when an event is told: press Ctrl-C, for one."""

    def __init__(self, act: Callable[[Event], None]) -> None:
        """Do this at every event."""
        self._act = act

    def event(self, event: Event) -> None:
        """Something was recorded."""
        self._act(event)

    def output(self, plan_id: str, data: bytes) -> None:
        """A tool printed something."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on."""


def nothing(_: Event) -> None:
    """Let everything go its way."""


def file_of(adapters: Adapters) -> Path:
    """Return the file of the project's database: these projects have one."""
    place = adapters.database_place
    assert isinstance(place, Path)
    return place


class InterruptedAtCommit(Database):
    """A database whose claimant is interrupted while a commit goes on: a signal is raised once it is done."""

    def __init__(self, adapters: Adapters, wanted: Callable[[Transaction], bool]) -> None:
        """Interrupt the first commit of which `wanted` says yes, looking at its rows."""
        super().__init__(partial(open_sqlite, file_of(adapters)), adapters.places)
        self._wanted = wanted
        self.interrupted = False

    @contextmanager
    def writing_as(self, claim: Claim) -> Generator[Transaction]:
        """As ever, and then Ctrl-C."""
        with super().writing_as(claim) as db:
            yield db
            now = not self.interrupted and self._wanted(db)
        if now:
            self.interrupted = True
            raise KeyboardInterrupt


def services_in(folder: Path) -> Services:
    """The services of a project in that folder, with no settings but the defaults."""
    make(_around(folder), ".")
    return services_of(folder)


def services_of(folder: Path) -> Services:
    """The services of the project that is in that folder."""
    around = _around(folder)
    return Services(place=locate(around, str(folder)), around=around, stop=StopRequest())


def _around(folder: Path) -> Surroundings:
    environ = {"PATH": os.environ["PATH"], "MULLIGAN_HOME": homes_for(folder)}
    return Surroundings(environ=environ, folder=folder, user_settings=folder / "none.toml", options={})


def project_in(folder: Path, act: Callable[[Event], None] = nothing) -> Project:
    """A project in that folder, as a new process opens it."""
    return Project(services=services_in(folder), observer=Watching(act))


def go_of(folder: Path) -> Path:
    """Return the file that steps of a project wait for: outside of it, where every step sees it."""
    return folder.with_name(f"{folder.name}-go")


def waiting(plan: str, folder: Path) -> str:
    """Return a plan file whose steps find the file to wait for in `$MULLIGAN_VAR_GO`."""
    return f"{plan}variables: {{go: {go_of(folder)}}}\n"
