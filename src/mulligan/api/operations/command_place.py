"""The place of a command without a plan file: its project, resource and folder."""

from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.suitability import unsuitable_place
from mulligan.domain.resources.placement import PROJECT_HOME
from mulligan.domain.resources.resource import Resource, Strategy, type_of_folder
from mulligan.errors import Advice, NextStep, ProjectNotFound, ResourceUnsuitable
from mulligan.wiring.surroundings import Surroundings, locate

_NAME = "workspace"  # as of plan files without resources


class CommandPlace(Struct, frozen=True, kw_only=True):
    """The place of a command."""

    project: Path  # may have no project home yet
    resource: Resource
    folder: str  # that the command starts in, relative to the resource


def command_place(
    around: Surroundings, project: str | None, resource: str | None, *, in_place: bool
) -> CommandPlace:
    """The named resource, or the git checkout that the current folder is in, or else that folder; nothing is made."""
    here, user_home = around.folder.resolve(), Path.home().resolve()
    checkout = _checkout_around(here, user_home)
    where = _project(around, project, checkout or here)
    if resource is not None:
        folder = (here / resource).resolve()
    else:
        folder = checkout if checkout is not None and checkout.is_relative_to(where) else here
    reason = unsuitable_place(folder, user_home=user_home, project_home=where / PROJECT_HOME)
    if not reason and any("\ud800" <= character <= "\udfff" for character in str(folder)):  # surrogates
        reason = "its name is not UTF-8 text"
    if reason:
        raise ResourceUnsuitable(resource=_NAME, path=str(folder), reason=reason, hint=_another_place(where))
    return CommandPlace(
        project=where,
        resource=Resource(
            name=_NAME,
            type=type_of_folder(lambda name: (folder / name).exists()),
            location=str(folder.relative_to(where)),
            strategy=Strategy.IN_PLACE if in_place else None,
            from_revision=None,
            create=False,
        ),
        folder=str(here.relative_to(folder)) if here.is_relative_to(folder) else ".",
    )


def _another_place(project: Path) -> str:
    elsewhere = "change to the folder that the command should work on"
    if not (project / PROJECT_HOME).exists():
        return elsewhere
    return Advice(
        f"{elsewhere}, or name one inside the project {project} with ", NextStep("again", resource=...)
    )


def _project(around: Surroundings, named: str | None, otherwise: Path) -> Path:
    try:
        return locate(around, named).resolve()
    except ProjectNotFound:
        if named or around.environ.get("MULLIGAN_PROJECT"):
            raise
        return otherwise


def _checkout_around(folder: Path, user_home: Path) -> Path | None:
    """The top of the git checkout that a folder is in; one that holds the whole home folder is none of a project."""
    found = next((top for top in (folder, *folder.parents) if (top / ".git").exists()), None)
    return None if found is None or user_home.is_relative_to(found) else found
