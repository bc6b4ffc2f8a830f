"""Projects whose rows are in a PostgreSQL server: made from an address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan import errors
from mulligan.adapters.homes.home_search import place_of
from mulligan.adapters.postgres.server_address import ServerAddress
from mulligan.adapters.settings_files import read_settings, set_setting
from mulligan.config import Source, parse_value
from mulligan.config.database_address import POSTGRESQL, parts_of
from mulligan.wiring.adapters import Adapters
from mulligan.wiring.database_place import database_in, make_shared, refuse_second_home, shared_project_in
from mulligan.wiring.home_wiring import make
from mulligan.wiring.layered_settings import LayeredSettings
from mulligan.wiring.store_wiring import object_store_of, refuse_foreign_store
from mulligan.wiring.surroundings import host_of, index_of
from mulligan.wiring.system_clock import UlidSource

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.wiring.surroundings import Surroundings

_KEY = "core.database.url"
_STORE = "core.store.url"


def make_shared_project(
    around: Surroundings, folder: str, home: str | None, *, fresh: bool, database: str, store: str | None
) -> tuple[ProjectPlace, bool]:
    """Make the home of a folder, and the tables that hold its rows; return where it is and whether it is new.

    The home names the tables before they are made: the same command completes what a killed process began. Tables that
    are there already are joined, if their packs are in the bucket that `store` names.
    """
    if not database.startswith(POSTGRESQL):
        raise errors.SettingInvalid(
            key=_KEY,
            reason="--database wants a server",
            allowed="postgresql://HOST/DATABASE",
            origin="command line",
        )
    parse_value(_KEY, database, Source.COMMAND_LINE)
    wanted = parts_of(database)
    there = shared_project_in(database)  # first: without a server nothing is made
    found = None if fresh else place_of((around.folder / folder).resolve(), index_of(around))
    project = _own_project(found.home, wanted.place) if found is not None else None
    joins = there is not None and there != project
    if there is not None and there != project:
        if project is not None:  # other tables than those it had are there now
            raise errors.DatabaseOfAnotherProject(database=wanted.place)
        project = there
        _refuse_unjoinable(around, found, wanted.holding(project), store)
    place, new = make(around, folder, home, fresh=fresh)
    project = project or UlidSource().new()
    if joins and store is not None:  # before its rows can be reached: without it packs would go into the home
        value = str(parse_value(_STORE, store, Source.COMMAND_LINE))
        set_setting(place.home / "config.toml", Source.PROJECT_FILE, _STORE, value)
    address = wanted.holding(project)
    set_setting(place.home / "config.toml", Source.PROJECT_FILE, _KEY, address)
    settings = LayeredSettings(
        around=around, project_file=place.home / "config.toml", folder=place.folder
    ).of_project()
    made = database_in(place.folder, place.home, settings)
    if isinstance(made, Path) or made.project != project:
        raise errors.SettingInvalid(
            key=_KEY, reason="another place sets another database", allowed="unset it there"
        )
    make_shared(made, project)
    return place, new


def _refuse_unjoinable(
    around: Surroundings, found: ProjectPlace | None, address: str, store: str | None
) -> None:
    """Refuse to join a project whose packs this machine cannot reach, or that has a home here already."""
    home = found.home if found is not None else None
    settings = LayeredSettings(
        around=around, project_file=home / "config.toml" if home else None
    ).of_project()
    database = ServerAddress.of(address)
    if store is None:
        raise errors.StoreNotJoinable(database=database.shown)
    host, name = host_of(around, settings.host, UlidSource().new)
    refuse_second_home(database, host, name, home)
    refuse_foreign_store(str(parse_value(_STORE, store, Source.COMMAND_LINE)), settings, around, database)


def _own_project(home: Path, wanted: str) -> str | None:
    """Return the id of the project that a home has in that database; refuse a home with another database."""
    value = read_settings(home / "config.toml", Source.PROJECT_FILE).values.get(_KEY)
    if isinstance(value, str) and value.startswith(POSTGRESQL):
        parts = parts_of(value)
        if parts.place != wanted:
            raise errors.ProjectUnusable(
                path=str(home),
                reason=f"its plans are in {parts.place}",
                hint="leave out --database to use them; with --fresh too the folder gets a new home, without plans",
            )
        return parts.project
    if value is not None or (home / "mulligan.db").exists():
        raise errors.NotBuiltYet(
            feature="moving the plans of a project from a file into PostgreSQL",
            hint="with --fresh the folder gets a new home, without plans; the other one stays as it is",
        )
    return None


def use_store(around: Surroundings, place: ProjectPlace, store: str) -> None:
    """Let a project keep its packs in a bucket, which must be empty or its own, and keep what it promises."""
    address = str(parse_value(_STORE, store, Source.COMMAND_LINE))
    file = place.home / "config.toml"
    known = read_settings(file, Source.PROJECT_FILE).values.get(_STORE)
    if known is not None and known != address:
        raise errors.ProjectUnusable(
            path=str(place.home),
            reason=f"its packs are in {known}",
            hint="leave out --store to use them; with --fresh too the folder gets a new home, without plans",
        )
    bucket = object_store_of(Adapters(place=place, around=around, stop=None), address)
    try:
        bucket.packs.make_sure()
    finally:
        bucket.register.close()
    if known is None:
        set_setting(file, Source.PROJECT_FILE, _STORE, address)
