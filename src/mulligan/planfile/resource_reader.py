"""`resources:` of a plan file."""

from collections.abc import Mapping
from pathlib import Path

from mulligan.domain.resources.placement import location_problem, location_within, overlap
from mulligan.domain.resources.resource import Resource, ResourceType, Strategy
from mulligan.domain.text.names import resource_name_problem
from mulligan.planfile.document_value import Value
from mulligan.planfile.yaml_document import shorten

_MOST_RESOURCES = 100  # each is compared with each other one


def read_resources(value: Value, project: Path) -> tuple[Resource, ...]:
    """The plan's resources in the order of the file; none may be in another's way."""
    entries = value.entries()
    if not 0 < len(entries) <= _MOST_RESOURCES:
        raise value.wrong(f"expected 1 to {_MOST_RESOURCES} resources, found {len(entries)}")
    resources: list[Resource] = []
    for key, entry in entries:
        resource = _read_resource(key, entry, project)
        found = entry.keys(_KEYS)
        problem = location_problem(resource)
        for other in resources:
            problem = problem or overlap(resource, other)
        if problem and resource.type.traits.is_remote:
            raise found["url"].wrong(f"{resource.name!r} {problem}")
        if problem:
            raise found["location"].wrong(f"the location of {resource.name!r} {problem}")
        resources.append(resource)
    return tuple(resources)


_KEYS = ("type", "location", "strategy", "from", "create", "url", "ref")
_OF_REMOTES = ("url", "ref")


def _read_resource(key: Value, value: Value, project: Path) -> Resource:
    name = key.key_text
    if problem := resource_name_problem(name):
        raise key.wrong(f"the name {shorten(name)} {problem}")
    kind = value.keys(_KEYS, required=("type",))["type"].word(ResourceType)
    found = value.keys(_KEYS, required=_OF_REMOTES if kind.traits.is_remote else ("location",))
    strategy = found["strategy"].word(Strategy) if "strategy" in found else None
    traits = kind.traits
    if strategy is not None and strategy not in (Strategy.AUTO, *traits.selectable):
        raise found["strategy"].wrong(f"{strategy} does not work for a resource of type {kind}")
    if "create" in found and not traits.may_be_missing:
        raise found["create"].wrong(f"`create` is for databases; {name!r} is of type {kind}")
    for key_of_others in ("location", "from") if traits.is_remote else _OF_REMOTES:
        if key_of_others in found:
            raise found[key_of_others].wrong(f"`{key_of_others}` is not for a {kind}")
    return Resource(
        name=name,
        type=kind,
        location=_remote(found) if traits.is_remote else _location(found["location"], project),
        strategy=strategy,
        from_revision=_revision(found["from"], kind, strategy) if "from" in found else None,
        create=found["create"].flag() if "create" in found else False,
    )


def _location(value: Value, project: Path) -> str:
    text = value.text()
    location = None if not text or "\0" in text else location_within(str(project), text)
    if location is None:
        raise value.wrong(f"{shorten(text)} is not inside the project folder")
    return location


def _remote(found: Mapping[str, Value]) -> str:
    """Return the location under which rows name a branch on a server."""
    from mulligan.domain.resources.remote_branch import (  # here: few plans have one
        length_problem,
        ref_problem,
        remote_branch,
        url_problem,
    )

    url, ref = found["url"], found["ref"]
    if problem := ref_problem(ref.text()):
        raise ref.wrong(f"{shorten(ref.text())} {problem}")
    remote = remote_branch(url.text(), ref.text())
    if problem := url_problem(remote.url) or length_problem(remote):
        # A password must not be shown.
        raise url.wrong(f"the address {problem}")
    return remote.location


def _revision(value: Value, kind: ResourceType, strategy: Strategy | None) -> str:
    if not kind.traits.has_commits or strategy is Strategy.IN_PLACE:
        raise value.wrong("`from` is for a git-checkout that is not worked on in place")
    text = value.text()
    # git would take a leading dash for an option.
    if not text or text.startswith("-") or not text.isprintable():
        raise value.wrong(f"{shorten(text)} is not a revision")
    return text
