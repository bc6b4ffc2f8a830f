"""The entrance for programs and front doors: read the environment, open a project, or make one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.ports import StopRequest, Unobserved
from mulligan.wiring.surroundings import locate, look_around, make

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.ports import Observer
    from mulligan.wiring.surroundings import Surroundings

__all__ = ["Unobserved", "configured_format", "init", "look_around", "make_project", "open", "open_project"]


def open(path: str | Path = ".") -> Project:
    """Open the project in that folder, or in the nearest one above it."""
    return open_project(look_around({}), None if str(path) == "." else str(path), Unobserved())


def init(path: str | Path = ".") -> Project:
    """Make a project in that folder, or open the one that is there."""
    project, _ = make_project(look_around({}), str(path), Unobserved())
    project.prepare()
    return project


def open_project(around: Surroundings, named: str | None, observer: Observer) -> Project:
    """Open the named project, or the one that the surroundings lead to; this observer follows what goes on."""
    return _project(locate(around, named), around, observer)


def make_project(around: Surroundings, folder: str, observer: Observer) -> tuple[Project, bool]:
    """Open the project of a folder, and return whether it had to be made."""
    place, new = make(around, folder)
    return _project(place, around, observer), new


def configured_format(around: Surroundings, named: str | None) -> str | None:
    """Return the setting `core.format` of the project that would be opened."""
    from mulligan.adapters.project_home import NAME
    from mulligan.wiring.layered_settings import LayeredSettings

    file = locate(around, named) / NAME / "config.toml"
    return LayeredSettings(around=around, project_file=file).of_project().format


def _project(folder: Path, around: Surroundings, observer: Observer) -> Project:
    from mulligan.api.project import Project
    from mulligan.wiring.services import Services

    return Project(services=Services(folder=folder, around=around, stop=StopRequest()), observer=observer)
