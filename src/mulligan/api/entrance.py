"""How a program enters: open a project, or make one."""

from pathlib import Path

from mulligan.api.project import Project
from mulligan.ports import Unobserved
from mulligan.wiring.services import Services
from mulligan.wiring.surroundings import locate, make, surroundings


def open(path: str | Path = ".") -> Project:
    """Open the project in that folder, or in the nearest one above it."""
    around = surroundings({})
    found = locate(around, None) if str(path) == "." else locate(around, str(path))
    return Project(services=Services(folder=found, around=around), observer=Unobserved())


def init(path: str | Path = ".") -> Project:
    """Make a project in that folder, or open the one that is there."""
    around = surroundings({})
    folder, _ = make(around, str(path))
    project = Project(services=Services(folder=folder, around=around), observer=Unobserved())
    project.prepare()
    return project
