"""The resources of an agent's session: the git checkout around its working directory, or the project folder."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mulligan.adapters.sandboxes.suitability import has_marker
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy, type_of_folder

_MOST_DATABASES = 50
_SIDECARS = ResourceType.SQLITE.traits.sidecars


def resources_in(project: Path, folder: Path, databases: Sequence[str]) -> tuple[Resource, ...]:
    """Return the folder that a session works on in place, and the databases in it that these patterns name."""
    place = checkout_around(project, folder) or project
    type = type_of_folder(lambda name: has_marker(place, name))
    first = _resource("workspace", type, str(place.relative_to(project)), Strategy.IN_PLACE)
    found = sorted({file for pattern in databases for file in _databases(place, pattern)})[:_MOST_DATABASES]
    inner = [
        _resource(f"database-{number}", ResourceType.SQLITE, str(file.relative_to(project)), None)
        for number, file in enumerate(found, 1)
    ]
    return (first, *inner)


def checkout_around(project: Path, folder: Path) -> Path | None:
    """Return the nearest git checkout upwards that is the project folder, or in it."""
    inside = folder.resolve()
    for each in (inside, *inside.parents):
        if not each.is_relative_to(project):
            return None
        if type_of_folder(lambda name, each=each: has_marker(each, name)) is ResourceType.GIT_CHECKOUT:
            return each
    return None


def _databases(place: Path, pattern: str) -> Iterator[Path]:
    inside = place.resolve()
    for file in place.glob(pattern):
        # One that a symlink leads to is not in the folder, or is found by its own path.
        own = file.resolve() == inside / file.relative_to(place)
        plain = own and file.is_file() and not file.name.endswith(_SIDECARS)
        if plain and ".git" not in file.relative_to(place).parts:
            yield file


def _resource(name: str, type: ResourceType, location: str, strategy: Strategy | None) -> Resource:
    return Resource(
        name=name, type=type, location=location, strategy=strategy, from_revision=None, create=False
    )
