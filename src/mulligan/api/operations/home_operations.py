"""Operations on the homes of all projects of a user: list, prune, export, import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan.errors import StoreNotShared
from mulligan.wiring.home_wiring import (
    all_homes,
    disk_limit,
    drop_settings,
    home_census,
    home_keeper,
    place_here,
    release_pins,
    set_pins,
    unpacked_home,
)

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_census import FoundHome
    from mulligan.adapters.homes.home_link import HomeRecord
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.wiring.surroundings import Surroundings


class ProjectList(Struct, frozen=True, kw_only=True):
    """The homes of all projects."""

    folder: str  # that holds them
    projects: Sequence[FoundHome]
    size_bytes: int
    limit_bytes: int  # 0: there is none


class PrunedProjects(Struct, frozen=True, kw_only=True):
    """The homes that no folder needs, which were removed or would be."""

    removed: Sequence[FoundHome]
    busy: Sequence[str]  # homes that stay, because processes work in them
    bytes_freed: int
    dry_run: bool


def list_projects(around: Surroundings) -> ProjectList:
    """Return the homes of all projects, the one that was used last first."""
    found = all_homes(around, place_here(around))
    return ProjectList(
        folder=str(home_keeper(around).index.root),
        projects=found,
        size_bytes=sum(each.size_bytes for each in found),
        limit_bytes=disk_limit(around),
    )


def prune_projects(around: Surroundings, *, dry_run: bool) -> PrunedProjects:
    """Remove the homes whose folder is gone or has another home, with their plans and checkpoints."""
    place, keeper = place_here(around), home_keeper(around)
    if place is not None and not dry_run:
        place = keeper.settle(
            place
        )  # a project that was moved: its home names the folder before others are judged
    unneeded = [each for each in all_homes(around, place) if not each.state.is_needed]
    busy: Sequence[Path] = ()
    if not dry_run:
        with keeper.alone():
            removed, busy = home_census(around, place).prune(lambda home: release_pins(around, home))
        unneeded = [each for each in unneeded if Path(each.home) in removed]
    return PrunedProjects(
        removed=unneeded,
        busy=[str(home) for home in busy],
        bytes_freed=sum(each.size_bytes for each in unneeded),
        dry_run=dry_run,
    )


def import_home(
    around: Surroundings,
    file: Path,
    folder: str,
    home: str | None,
    database: str | None = None,
    store: str | None = None,
) -> ProjectPlace:
    """Make the home of a folder from a file that `export` wrote; with `database` its rows go to a server."""
    if database is None and store is not None:
        raise StoreNotShared(store=store, database="a file in the project home")
    place = (around.folder / folder).resolve()
    own = None if home is None else (around.folder / home).resolve()
    notes: list[str] = []
    from mulligan.wiring.shared.shared_copies import (  # here: a list of homes needs no rows
        forget_server,
        move_to_server,
    )

    def unpack(part: Path) -> HomeRecord:
        record = unpacked_home(around.folder / file, part)
        forget_server(part)
        notes.extend(drop_settings(part, place))
        if database is not None:
            move_to_server(around, part, place, database, store)
        return record

    taken = home_keeper(around).take_in(place, own, unpack, lambda part: set_pins(around, part, place))
    return replace(taken, notes=tuple(notes))
