"""The entrance for programs and front doors: read the environment, open a project, or make one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mulligan import errors
from mulligan.adapters.homes.home_search import Standing
from mulligan.ports import StopRequest, Unobserved
from mulligan.wiring.surroundings import locate, look_around

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.api.agents.agent_install import AgentChanges
    from mulligan.api.agents.agent_overview import AgentList, HookTests
    from mulligan.api.operations.home_operations import ProjectList, PrunedProjects
    from mulligan.api.project import Project
    from mulligan.ports import Observer
    from mulligan.wiring.surroundings import Surroundings

__all__ = [
    "Unobserved",
    "configured_word",
    "init",
    "look_around",
    "make_project",
    "open",
    "open_project",
    "project_in",
]


def open(path: str | Path = ".") -> Project:
    """Open the project in that folder, or in the nearest one above it."""
    return open_project(look_around({}), None if str(path) == "." else str(path), Unobserved())


def init(
    path: str | Path = ".",
    *,
    home: str | Path | None = None,
    fresh: bool = False,
    database: str | None = None,
    store: str | None = None,
) -> Project:
    """Make a project in that folder, or open the one that is there.

    `home` is the folder for what mulligan keeps of it, which is otherwise one in the user's state folder. With `fresh`
    the folder gets a new home, without plans; a home that it had stays as it is. `database` is the address of a
    PostgreSQL database that holds its plans and checkpoints, `postgresql://HOST/DATABASE`, without a password; `store`
    that of a bucket that holds the bytes of its checkpoints, `s3://BUCKET/PREFIX`.
    """
    place = None if home is None else str(home)
    project, _ = make_project(
        look_around({}), str(path), Unobserved(), home=place, fresh=fresh, database=database, store=store
    )
    project.prepare()
    return project


def projects() -> ProjectList:
    """List the homes of all projects of this user, with their sizes, and those whose folder is gone."""
    from mulligan.api.operations.home_operations import list_projects

    return list_projects(look_around({}))


def agents() -> AgentList:
    """List the coding agents that mulligan knows, where its hooks are installed, and the newest event of each."""
    from mulligan.api.agents.agent_overview import list_agents

    return list_agents(look_around({}))


def install_hooks(
    *agents: str, scope: str = "user", strict: bool = False, everywhere: bool = False, dry_run: bool = False
) -> AgentChanges:
    """Write hooks for these agents into their own configuration, for the user or for the project of this folder."""
    from mulligan.api.agents.agent_install import install

    return install(
        look_around({}),
        agents,
        every=False,
        scope=scope,
        strict=strict,
        everywhere=everywhere,
        dry_run=dry_run,
    )


def uninstall_hooks(*agents: str, scope: str = "user", dry_run: bool = False) -> AgentChanges:
    """Take the hooks of these agents out of their configuration, byte for byte where nobody changed it since."""
    from mulligan.api.agents.agent_install import uninstall

    return uninstall(look_around({}), agents, every=False, scope=scope, dry_run=dry_run)


def try_hooks(*agents: str) -> HookTests:
    """Send a test event through the hooks of these agents, or of all that have some."""
    from mulligan.api.agents.agent_overview import try_hooks as tried

    return tried(look_around({}), agents)


def pause_hooks(path: str | Path | None = None, *, paused: bool = True) -> None:
    """Switch the hooks of all agents off in the project of a folder, or on again."""
    from mulligan.adapters.agents.hook_pause import set_paused

    set_paused(locate(look_around({}), None if path is None else str(path)).home, paused=paused)


def prune_projects(*, dry_run: bool = False) -> PrunedProjects:
    """Remove the project homes whose folder is gone, or has another home, with their plans and checkpoints."""
    from mulligan.api.operations.home_operations import prune_projects as prune

    return prune(look_around({}), dry_run=dry_run)


def import_project(
    file: str | Path,
    path: str | Path = ".",
    *,
    home: str | Path | None = None,
    database: str | None = None,
    store: str | None = None,
) -> Project:
    """Make the project of a folder from a file that `project.export` wrote.

    With the address of a PostgreSQL `database` it becomes a shared project, whose packs can be in a `store`.
    """
    own = None if home is None else str(home)
    return imported(look_around({}), Path(file), str(path), own, Unobserved(), database=database, store=store)


def imported(
    around: Surroundings,
    file: Path,
    folder: str,
    home: str | None,
    observer: Observer,
    *,
    database: str | None = None,
    store: str | None = None,
) -> Project:
    """As `import_project`, followed by this observer."""
    from mulligan.api.operations.home_operations import import_home

    return _project(import_home(around, file, folder, home, database, store), around, observer)


def open_project(around: Surroundings, named: str | None, observer: Observer) -> Project:
    """Open the named project, or the one that the surroundings lead to; this observer follows what goes on."""
    place = locate(around, named)
    if place.standing is not Standing.SETTLED:
        from mulligan.wiring.home_wiring import home_keeper  # here: most projects are where they were

        place = home_keeper(around).settle(place)
    return _project(place, around, observer)


def project_in(
    around: Surroundings, folder: str, observer: Observer, made: Callable[[Path], None]
) -> Project:
    """Open the project of a folder. Where it has none, one is made once something is to be recorded in it.

    `made` is called with its home then: a command that fails before makes no project.
    """
    from mulligan.wiring.home_wiring import place_in

    place, prepare = place_in(around, folder, made)
    return _project(place, around, observer, prepare)


def make_project(
    around: Surroundings,
    folder: str,
    observer: Observer,
    *,
    home: str | None = None,
    fresh: bool = False,
    database: str | None = None,
    store: str | None = None,
) -> tuple[Project, bool]:
    """Open the project of a folder, and return whether it had to be made.

    `home` names the place of its home, and with `fresh` it gets a new one whatever home it has. `database` is the
    address of the PostgreSQL server that is to hold its rows, and `store` that of the bucket for its packs.
    """
    from mulligan.wiring.home_wiring import make

    if database is None:
        if store is not None:
            raise errors.StoreNotShared(store=store, database="a file in the project home")
        place, new = make(around, folder, home, fresh=fresh)
    else:
        from mulligan.api.operations.shared_project import make_shared_project

        place, new = make_shared_project(around, folder, home, fresh=fresh, database=database, store=store)
        if store is not None:
            from mulligan.api.operations.shared_project import use_store

            use_store(around, place, store)
    return _project(place, around, observer), new


def configured_word(around: Surroundings, named: str | None, name: Literal["format", "pager"]) -> str | None:
    """Return the setting `core.format` or `core.pager` of the project that would be opened."""
    from mulligan.wiring.layered_settings import LayeredSettings

    place = locate(around, named)
    # What is in the project folder itself may have come with a checkout: it decides nothing before it is adopted.
    file = place.home / "config.toml" if place.standing is not Standing.INSIDE else None
    settings = LayeredSettings(around=around, project_file=file).of_project()
    return settings.format if name == "format" else settings.pager


def _project(
    place: ProjectPlace, around: Surroundings, observer: Observer, prepare: Callable[[], None] | None = None
) -> Project:
    from mulligan.api.project import Project
    from mulligan.wiring.services import Services

    services = Services(place=place, around=around, stop=StopRequest(), prepare=prepare)
    return Project(services=services, observer=observer)
