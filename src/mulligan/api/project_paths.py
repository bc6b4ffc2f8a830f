"""Single paths of a project in the hands of a caller, by their names in the project folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.domain.resources.placement import location_within
from mulligan.errors import PathOutside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mulligan.application.paths.path_restore import RestoreWish
    from mulligan.application.timeline.timeline_queries import Outcome
    from mulligan.domain.text.ids import PlanId


def path_in_project(project: Path, path: str | Path) -> str:
    """Return a path relative to the project folder, as checkpoints name it; refuse one that leads outside.

    Links above the last name are followed, as every program does; the last name may be a link itself.
    """
    whole = project / path
    name = whole.name
    real = Path(os.path.realpath(project))
    # A path that ends in `..` has no last name of its own.
    place = (
        Path(os.path.realpath(whole)) if name in ("", "..") else Path(os.path.realpath(whole.parent)) / name
    )
    inside = location_within(str(real), str(place))
    if inside is None:
        raise PathOutside(path=str(path), project=str(project))
    return inside


def paths_in_project(project: Path, paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Return several of them, each once, in the order in which they were named."""
    return tuple(dict.fromkeys(path_in_project(project, path) for path in paths))


def restore_wish(
    project: Path,
    paths: Iterable[str | Path],
    source: str | Outcome | None,
    *,
    delete: bool,
    sandbox: PlanId | None,
) -> RestoreWish:
    """Return the wish to bring paths back, from a checkpoint or from right after an entry of the timeline."""
    from mulligan.application.paths.path_restore import RestoreWish

    wanted = paths_in_project(project, paths)
    if source is None or isinstance(source, str):
        return RestoreWish(paths=wanted, checkpoint=source, delete=delete, sandbox=sandbox)
    return RestoreWish(
        paths=wanted or source.paths,
        checkpoint=source.group_id,
        delete=delete,
        sandbox=sandbox,
        of_entry=not wanted,
    )
