"""Resources as a program names them, for sessions: `mulligan.git()`, `git_remote()`, `directory()` and `sqlite()`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from mulligan.domain.resources.placement import location_problem, location_within, overlap
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from mulligan.domain.text.names import resource_name_problem
from mulligan.errors import UsageWrong


def git(location: str | Path = ".", *, in_place: bool = False, from_revision: str | None = None) -> Resource:
    """A git working tree; locations are relative to the project folder.

    `in_place` works on the real one itself; `from_revision` starts from a clean revision instead of the current state.
    """
    if from_revision is not None and (
        in_place or not from_revision or from_revision.startswith("-") or not from_revision.isprintable()
    ):
        raise UsageWrong(
            reason=f"from_revision={from_revision!r} is not a revision to start from",
            hint="name a commit, branch or tag of a git checkout that is not worked on in place",
        )
    return _resource(ResourceType.GIT_CHECKOUT, location, in_place=in_place, from_revision=from_revision)


def git_remote(url: str, ref: str) -> Resource:
    """A branch of a git repository on a server; an apply is a push to it."""
    from mulligan.domain.resources.remote_branch import (  # here: few sessions have one
        length_problem,
        ref_problem,
        remote_branch,
        url_problem,
    )

    if problem := ref_problem(ref):
        raise UsageWrong(reason=f"ref={ref!r} {problem}", hint="name a branch, such as main")
    remote = remote_branch(url, ref)
    if problem := url_problem(url) or length_problem(remote):
        raise UsageWrong(
            reason=f"the address of a repository {problem}", hint="name one that git could clone"
        )
    return _resource(ResourceType.GIT_REMOTE, remote.location)


def directory(location: str | Path = ".", *, in_place: bool = False) -> Resource:
    """A folder; `in_place` works on the real one itself."""
    return _resource(ResourceType.FS_DIRECTORY, location, in_place=in_place)


def sqlite(location: str | Path, *, create: bool = False) -> Resource:
    """A SQLite database; with `create` the file may be missing."""
    return _resource(ResourceType.SQLITE, location, create=create)


def named(resources: Mapping[str, Resource], project: Path) -> tuple[Resource, ...]:
    """The resources of a session, in their order, each at its place in the project; none in another's way."""
    found: list[Resource] = []
    for name, resource in resources.items():
        if problem := resource_name_problem(name):
            raise UsageWrong(reason=f"the resource name {name!r} {problem}", hint="choose another name")
        location = location_within(str(project), resource.location) if resource.location else None
        if location is None:
            raise UsageWrong(
                reason=f"resource {name!r}: {resource.location!r} is not inside the project folder",
                hint=f"name a path in {project}",
            )
        placed = replace(resource, name=name, location=location)
        problems = (location_problem(placed), *(overlap(placed, other) for other in found))
        if problem := next(filter(None, problems), None):
            raise UsageWrong(reason=f"the location of {name!r} {problem}", hint="choose another location")
        found.append(placed)
    if not found:
        raise UsageWrong(
            reason="a session needs a resource", hint="leave `resources` out to work on the project folder"
        )
    return tuple(found)


def _resource(
    type: ResourceType,
    location: str | Path,
    *,
    in_place: bool = False,
    from_revision: str | None = None,
    create: bool = False,
) -> Resource:
    text = os.fspath(location)
    return Resource(
        name="",  # that under which a session lists it
        type=type,
        location="" if "\0" in text else text,
        strategy=Strategy.IN_PLACE if in_place else None,
        from_revision=from_revision,
        create=create,
    )
