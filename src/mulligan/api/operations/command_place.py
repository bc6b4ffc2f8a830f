"""The place of a command without a plan file: its project, resource and folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.adapters.homes.home_search import ProjectPlace
from mulligan.adapters.sandboxes.suitability import has_marker, is_system_folder, unsuitable_place
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.domain.resources.resource import Resource, Strategy, type_of_folder
from mulligan.errors import Advice, NextStep, ProjectNotFound, ResourceUnsuitable
from mulligan.wiring.surroundings import Surroundings, locate

if TYPE_CHECKING:
    from mulligan.api.project import Project

_NAME = "workspace"  # as of plan files without resources


class CommandPlace(Struct, frozen=True, kw_only=True):
    """The place of a command."""

    project: Path  # may have no project home yet
    resource: Resource
    folder: str  # that the command starts in, relative to the resource
    is_new: bool = False  # there is no project there yet


def command_place(
    around: Surroundings, project: str | None, resource: str | None, *, in_place: bool
) -> CommandPlace:
    """The named resource, or the git checkout that the current folder is in, or else that folder; nothing is made."""
    here, user_home = around.folder.resolve(), Path.home().resolve()
    checkout = _checkout_around(here, user_home)
    found = _project(around, project)
    where = found.folder.resolve() if found is not None else checkout or here
    home = found.home if found is not None else where / PROJECT_HOME
    if resource is not None:
        folder = (here / resource).resolve()
    else:
        folder = checkout if checkout is not None and checkout.is_relative_to(where) else here
    reason = unsuitable_place(folder, user_home=user_home, project=where, project_home=home)
    if not reason and any("\ud800" <= character <= "\udfff" for character in str(folder)):  # surrogates
        reason = "its name is not UTF-8 text"
    if reason:
        raise ResourceUnsuitable(resource=_NAME, path=str(folder), reason=reason, hint=_another_place(found))
    return CommandPlace(
        project=where,
        resource=Resource(
            name=_NAME,
            type=type_of_folder(lambda name: has_marker(folder, name)),
            location=str(folder.relative_to(where)),
            strategy=Strategy.IN_PLACE if in_place else None,
            from_revision=None,
            create=False,
        ),
        folder=str(here.relative_to(folder)) if here.is_relative_to(folder) else ".",
        is_new=found is None,
    )


def place_on(around: Surroundings, project: Project, plan: str) -> CommandPlace:
    """Return the place of a command that continues a plan: the current folder, as far as the plan has it."""
    resource, sandbox = project.first_place(plan)
    here = around.folder.resolve()
    roots = [*([sandbox] if sandbox else []), (project.folder / resource.location).resolve()]
    inside = [here.relative_to(root) for root in roots if here.is_relative_to(root)]
    return CommandPlace(project=project.folder, resource=resource, folder=str(inside[0]) if inside else ".")


def _another_place(project: ProjectPlace | None) -> str:
    elsewhere = "change to the folder that the command should work on"
    if project is None or is_system_folder(project.folder.resolve()):
        return elsewhere
    return Advice(
        f"{elsewhere}, or name one inside the project {project.folder} with ", NextStep("again", resource=...)
    )


def _project(around: Surroundings, named: str | None) -> ProjectPlace | None:
    try:
        return locate(around, named)
    except ProjectNotFound:
        if named or around.environ.get("MULLIGAN_PROJECT"):
            raise
        return None


def _checkout_around(folder: Path, user_home: Path) -> Path | None:
    """The top of the git checkout that a folder is in; one that holds the whole home folder is none of a project."""
    found = next((top for top in (folder, *folder.parents) if has_marker(top, ".git")), None)
    return None if found is None or user_home.is_relative_to(found) else found
