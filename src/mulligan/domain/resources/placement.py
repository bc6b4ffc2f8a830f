"""Rules for the locations of resources, as they are written, before any file is looked at."""

import posixpath
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from mulligan.domain.resources.resource import Resource

PROJECT_HOME = ".mulligan"
CLONES = "remotes"  # the folder in a project home with a clone for each remote branch

_LONGEST_PART = 48  # of a name that gets an ending: with four bytes a letter both fit into what systems allow
_PLAIN_NAME = r"[a-z0-9][a-z0-9._-]{0,63}"


def location_within(project: str, location: str) -> str | None:
    """The location relative to the project folder (absolute), shortest form; None: it leads outside."""
    folder = posixpath.normpath(project).rstrip("/") + "/"
    whole = posixpath.normpath(posixpath.join(folder, location)).rstrip("/") + "/"
    return (whole[len(folder) : -1] or ".") if whole.startswith(folder) else None


def stays_inside(path: str) -> bool:
    """Return whether a path, as it is written, stays inside the folder it is relative to."""
    shortest = posixpath.normpath(path)
    return not posixpath.isabs(path) and shortest.split("/", 1)[0] != ".."


def location_problem(resource: Resource) -> str | None:
    """Say why no resource may lie there, whatever the others are; None: it may."""
    if resource.type.traits.is_remote:
        return None
    if resource.location == PROJECT_HOME or resource.location.startswith(PROJECT_HOME + "/"):
        return "is the project home, where mulligan keeps its own files"
    if resource.type.traits.is_file and resource.location == ".":
        return f"is the project folder; a {resource.type.traits.noun} is a file"
    return None


def overlap(first: Resource, second: Resource) -> str | None:
    """Say how two resources get in each other's way; None: they do not.

    A file inside a folder can be a resource of its own, which the folder leaves out. All else would have two
    sandboxes for one file.
    """
    if first.location == second.location:
        same = "address and branch" if first.type.traits.is_remote else "location"
        return f"has the same {same} as {second.name!r}"
    if first.type.traits.is_remote or second.type.traits.is_remote:
        return None
    for outer, inner in ((first, second), (second, first)):
        outside, inside = outer.type.traits, inner.type.traits
        if inner.location in outside.files_of(outer.location):
            return f"takes a file that belongs to a {outside.noun}: {outer.name!r} and {inner.name!r} overlap"
        if _holds(outer.location, inner.location) and not (inside.is_file and outside.is_folder):
            return f"overlaps with {second.name!r}: {inner.location} lies inside {outer.location}"
    return None


def outer_of(inner: Resource, resources: Iterable[Resource]) -> Resource | None:
    """Return the resource in whose folder a file of another lies; None: it lies alone."""
    if not inner.type.traits.is_file:
        return None
    return next((r for r in resources if r != inner and _holds(r.location, inner.location)), None)


def lie_together(one: str, other: str) -> bool:
    """Return whether one of two absolute paths is the other, or inside it."""
    return posixpath.commonpath([one, other]) in (one, other)


def lies_in(path: str, folder: str) -> bool:
    """Return whether an absolute path is a folder, or inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def path_inside(outer: Resource, inner: Resource) -> str:
    """Return the path of the inner resource, relative to the outer one."""
    return posixpath.relpath(inner.location, outer.location)


def clone_of(home: str, location: str) -> str:
    """Return the path of the clone for a resource that is a remote branch."""
    return posixpath.join(home, CLONES, posixpath.basename(location))


def left_out(outer: Resource, resources: Iterable[Resource]) -> frozenset[str]:
    """Return the files that a resource leaves to others inside it, relative to it."""
    inside = [r for r in resources if outer_of(r, [outer]) is outer]
    return frozenset(path for r in inside for path in r.type.traits.files_of(path_inside(outer, r)))


class Part(Struct, frozen=True):
    """The part of a path of the project folder that is in one resource."""

    resource: Resource
    path: str  # in the resource's tree; "." for all of it
    shown: str  # the same, relative to the project folder


def parts_of(path: str, resources: Sequence[Resource]) -> list[Part]:
    """Return the part of each resource that a path leads into or holds; the path is relative to the project folder."""
    found: list[Part] = []
    for resource in resources:
        location = resource.location
        if resource.type.traits.is_file:
            if path == location or _holds(path, location):
                found.append(Part(resource, posixpath.basename(location), location))
        elif path == location or (_holds(path, location) and not resource.type.traits.is_remote):
            found.append(Part(resource, ".", location))
        elif _holds(location, path):
            inside = posixpath.relpath(path, location)
            if inside not in left_out(resource, resources):
                found.append(Part(resource, inside, path))
    return found


def path_shown(part: Part, inside: str) -> str:
    """Return a path of a resource's tree relative to the project folder."""
    location = part.resource.location
    if part.resource.type.traits.is_file:
        location = posixpath.dirname(location)
    return posixpath.normpath(posixpath.join(location, inside))


def folder_name(resource: str) -> str:
    """A name for a resource's folder that is safe in any filesystem; resources may be called anything."""
    if re.fullmatch(_PLAIN_NAME, resource):
        return resource
    import hashlib  # here: it loads OpenSSL, which only the making of a sandbox needs

    digest = hashlib.sha256(resource.encode("utf-8", "surrogatepass")).hexdigest()
    readable = re.sub(r"[^a-z0-9_-]+", "-", resource.lower()).strip("-")[:32]
    return f"{readable or 'resource'}-{digest[:16]}"


def _holds(outer: str, inner: str) -> bool:
    return outer == "." or inner.startswith(outer + "/")


def spare_name(random: bytes) -> str:
    """Return a temporary name for a restore, beside the final one."""
    return f"{PROJECT_HOME}-{random.hex()}"


def is_spare_name(name: str) -> bool:
    """Return whether this may be a temporary name of an interrupted restore."""
    return re.fullmatch(rf"{re.escape(PROJECT_HOME)}-[0-9a-f]{{16}}", name) is not None


def kept_name(name: str, random: bytes) -> str:
    """A name for something of others whose own name is taken; it is never removed."""
    return f"{name[:_LONGEST_PART]}{PROJECT_HOME}-kept-{random.hex()}"
