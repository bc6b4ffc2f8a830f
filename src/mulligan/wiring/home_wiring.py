"""The keeper of project homes, put together: imported only where a home is made, moved or tied to its folder again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.adapters.homes.home_creation import HomeKeeper
from mulligan.adapters.homes.home_search import place_of
from mulligan.errors import (
    Advice,
    ArchiveDamaged,
    DatabaseUnusable,
    NextStep,
    ProjectBusy,
    ProjectMadeMeanwhile,
    Refused,
)
from mulligan.wiring.surroundings import index_of, locate

if TYPE_CHECKING:
    from mulligan.adapters.homes.home_archive import Exported
    from mulligan.adapters.homes.home_census import FoundHome, HomeCensus
    from mulligan.adapters.homes.home_link import HomeRecord
    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
    from mulligan.wiring.adapters import Adapters
    from mulligan.wiring.surroundings import Surroundings


def home_keeper(around: Surroundings) -> HomeKeeper:
    """Return the keeper of the user's project homes."""
    return HomeKeeper(
        index=index_of(around),
        follow=_follow,
        recorded_folder=_recorded_folder,
        is_tracked=lambda folder: _is_tracked(around, folder),
        drop_settings=drop_settings,
        reserved=_reserved,
    )


def make(
    around: Surroundings, folder: str, home: str | None = None, *, fresh: bool = False
) -> tuple[ProjectPlace, bool]:
    """Make the project home of a folder; return where it is and whether it is new."""
    place = (around.folder / folder).resolve()
    own = None if home is None else (around.folder / home).resolve()
    return home_keeper(around).make(place, own, fresh=fresh)


def place_in(
    around: Surroundings, folder: str, made: Callable[[Path], None]
) -> tuple[ProjectPlace, Callable[[], None] | None]:
    """Return the place of the project of a folder, and what makes it where it has none; `made` is called then.

    It raises ProjectMadeMeanwhile, before anything is recorded, where another process was faster.
    """
    keeper, here = home_keeper(around), (around.folder / folder).resolve()
    found = place_of(here, keeper.index)
    if found is not None:
        return keeper.settle(found), None
    planned = keeper.plan_for(here, None)
    done: list[ProjectPlace] = []

    def prepare() -> None:
        if done:
            return
        done.append(keeper.settle(planned))
        if done[0].home != planned.home:
            raise ProjectMadeMeanwhile(path=str(here))
        made(planned.home)

    return planned, prepare


def home_census(around: Surroundings, place: ProjectPlace | None) -> HomeCensus:
    """Return the census of the user's project homes, for the project that asks."""
    from mulligan.adapters.homes.home_census import HomeCensus

    folder, home = (place.folder, place.home) if place is not None else (None, None)
    return HomeCensus(index=index_of(around), folder=folder, home=home)


def all_homes(around: Surroundings, place: ProjectPlace | None) -> list[FoundHome]:
    """Return every project home of the user, for the project that asks."""
    return home_census(around, place).all()


def place_here(around: Surroundings) -> ProjectPlace | None:
    """Return the project around the current folder; None where there is none that can be used."""
    try:
        return locate(around, None)
    except Refused:
        return None


def disk_limit(around: Surroundings) -> int:
    """Return how many bytes all homes may hold together, by the settings of the user; 0: there is no limit."""
    from mulligan.wiring.layered_settings import LayeredSettings

    nowhere = around.folder / ".mulligan" / "none.toml"  # the limit is for all projects, not for one
    return LayeredSettings(around=around, project_file=nowhere).of_project().disk_limit


def release_pins(around: Surroundings, home: Path) -> None:
    """Remove the pins that sandboxes of a home have in users' repositories."""
    for repositories, repository in _repositories(around, home):
        repositories.unpin(repository)


def set_pins(around: Surroundings, home: Path, folder: Path) -> None:
    """Pin what the sandboxes of a home from elsewhere borrow, in repositories inside the project folder alone.

    What plans in place need of a checkout is pinned as their checkpoints name it.
    """
    from mulligan.adapters.homes.home_search import ProjectPlace, Standing
    from mulligan.adapters.sandboxes.git.places.moved_places import confine_memories
    from mulligan.wiring.services import Services

    if not (home / "git").is_dir():
        return
    confine_memories(home, folder)
    place = ProjectPlace(folder=folder, home=home, standing=Standing.SETTLED)
    services = Services(place=place, around=around, stop=None)
    try:
        services.pins.set_in_place()
    finally:
        services.adapters.close()
    for repositories, repository in _repositories(around, home):
        repositories.pin_again(repository, home / "sandboxes")


def _repositories(around: Surroundings, home: Path) -> Iterator[tuple[CheckpointRepositories, Path]]:
    if not (home / "git").is_dir():
        return
    from mulligan.adapters.sandboxes.git.git_command import Git
    from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories

    repositories = CheckpointRepositories(git=Git.within(around.environ, home), home=home / "git")
    for repository in sorted((home / "git").glob("*/*.git")):
        yield repositories, repository


def export_home(project: Adapters, file: Path, *, force: bool) -> Exported:
    """Write a project home into a file; of a shared project also its rows, and the packs in its bucket."""
    from mulligan.adapters.homes.home_archive import write_archive
    from mulligan.adapters.homes.home_link import read_record

    home = project.home
    record = read_record(home)
    if record is None:
        raise ProjectBusy(home=str(home))  # a home of an earlier version, which plans keep in its place
    place = project.database_place
    if isinstance(place, Path):
        return write_archive(home, record, file, project.database.copy_to, {}, force=force)
    from mulligan.wiring.shared.shared_copies import PacksElsewhere, copy_from_server, refuse_running

    refuse_running(project)
    packs = PacksElsewhere(project.object_store.packs if project.object_store is not None else None)
    return write_archive(
        home, record, file, lambda to: copy_from_server(project, place, to), packs, force=force
    )


def unpacked_home(file: Path, part: Path) -> HomeRecord:
    """Unpack the home in a file into a new folder, and check its database; return its record."""
    from mulligan.adapters.db.relative_paths import recorded_paths
    from mulligan.adapters.homes.home_archive import read_archive
    from mulligan.rows.place_codec import HOME, PROJECT, leads_out
    from mulligan.wiring.database_place import reader_of

    manifest = read_archive(file, part)
    with closing(reader_of(part / "mulligan.db", mode="ro", patience=1.0)) as connection:
        if problems := connection.problems():
            raise ArchiveDamaged(file=str(file), reason=f"its database is damaged: {problems[0]}")
        for path in recorded_paths(connection):
            if not path.startswith((HOME, PROJECT)) or leads_out(path):
                raise ArchiveDamaged(
                    file=str(file), reason=f"a row names {path!r}, which is not in a project"
                )
    former = (*manifest.record.former_homes, manifest.home)
    return replace(manifest.record, former_homes=tuple(dict.fromkeys(former)))


def _reserved(folder: Path) -> str:
    from mulligan.adapters.sandboxes.suitability import reserved_place  # here: few commands make a project

    return reserved_place(folder, Path.home())


def drop_settings(home: Path, folder: Path) -> tuple[str, ...]:
    """Drop the settings of a home that only its user may decide, as it came from elsewhere; return a note for each."""
    from mulligan.adapters.settings_files import read_settings, unset_setting
    from mulligan.config import Source, setting_named
    from mulligan.wiring.layered_settings import is_shareable

    file = home / "config.toml"
    if file.is_symlink():
        target = file.readlink()
        file.unlink()
        return (f"settings were not taken over: {file.name} was a symlink to {target}",)
    found = read_settings(file, Source.PROJECT_FILE).values
    notes: list[str] = []
    for key, value in found.items():
        if not is_shareable(key, value):
            unset_setting(file, Source.PROJECT_FILE, key)
            separator = setting_named(key, str(file)).type.separator
            text = separator.join(map(str, value)) if isinstance(value, list) else str(value)
            again = NextStep("config.set", key=key, value=text, project=str(folder))
            notes.append(Advice(f"the setting {key} was not taken over; to set it again: ", again))
    return tuple(notes)


def _is_tracked(around: Surroundings, folder: Path) -> bool:
    """Return whether git tracks something in a folder; where this cannot be known, it counts as tracked."""
    from mulligan.adapters.sandboxes.git.git_command import Git

    if not any((each / ".git").exists() for each in folder.parents):
        return False
    listed = Git.within(around.environ, folder.parent).attempt("ls-files", "-z", "--", folder.name)
    return listed.returncode != 0 or bool(listed.stdout)


def _follow(home: Path, moves: tuple[tuple[str, str], ...]) -> None:
    from mulligan.adapters.sandboxes.git.places.moved_places import follow_moves  # here: few homes move

    follow_moves(home, moves)


def _recorded_folder(home: Path) -> str | None:
    """Return the project folder that a database of an earlier version names; None where it names none."""
    from mulligan.adapters.db.relative_paths import recorded_folder
    from mulligan.wiring.database_place import reader_of

    file = home / "mulligan.db"
    if not file.is_file():
        return None
    try:
        with closing(reader_of(file, mode="ro", patience=10.0)) as connection:
            return recorded_folder(connection)
    except DatabaseUnusable:  # one that cannot be read is moved as it is, and refused when it is opened
        return None
