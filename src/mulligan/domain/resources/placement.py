"""Where resources may lie: rules over locations as they are written, before any file is looked at."""

import posixpath
import re
from collections.abc import Iterable

from mulligan.domain.resources.resource import Resource, ResourceType

PROJECT_HOME = ".mulligan"

_SIDECARS = ("-wal", "-shm", "-journal")  # files that belong to a SQLite database
_LONGEST_PART = 48  # of a name that gets an ending: with four bytes a letter both fit into what systems allow
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def location_within(project: str, location: str) -> str | None:
    """The location relative to the project folder (absolute), shortest form; None: it leads outside."""
    folder = posixpath.normpath(project).rstrip("/") + "/"
    whole = posixpath.normpath(posixpath.join(folder, location)).rstrip("/") + "/"
    return (whole[len(folder) : -1] or ".") if whole.startswith(folder) else None


def stays_inside(path: str) -> bool:
    """Whether a path, as it is written, stays inside the folder it is relative to."""
    shortest = posixpath.normpath(path)
    return not posixpath.isabs(path) and shortest.split("/", 1)[0] != ".."


def location_problem(resource: Resource) -> str | None:
    """Say why no resource may lie there, whatever the others are; None: it may."""
    if resource.location == PROJECT_HOME or resource.location.startswith(PROJECT_HOME + "/"):
        return "is the project home, where mulligan keeps its own files"
    if resource.type is ResourceType.SQLITE and resource.location == ".":
        return "is the project folder; a database is a file"
    return None


def overlap(first: Resource, second: Resource) -> str | None:
    """Say how two resources get in each other's way; None: they do not.

    A database inside a folder is a resource of its own, which the folder leaves out. All else would have two
    sandboxes for one file.
    """
    if first.location == second.location:
        return f"has the same location as {second.name!r}"
    for outer, inner in ((first, second), (second, first)):
        if outer.type is ResourceType.SQLITE and inner.location in sidecars(outer.location):
            return f"takes a file that belongs to a database: {outer.name!r} and {inner.name!r} overlap"
        database_in_folder = inner.type is ResourceType.SQLITE and outer.type is not ResourceType.SQLITE
        if _holds(outer.location, inner.location) and not database_in_folder:
            return f"overlaps with {second.name!r}: {inner.location} lies inside {outer.location}"
    return None


def sidecars(database: str) -> tuple[str, ...]:
    """The files that SQLite keeps beside a database file while it is in use."""
    return tuple(database + suffix for suffix in _SIDECARS)


def outer_of(database: Resource, resources: Iterable[Resource]) -> Resource | None:
    """The resource in whose folder a database lies; None: it lies by itself."""
    if database.type is not ResourceType.SQLITE:
        return None
    return next((r for r in resources if r != database and _holds(r.location, database.location)), None)


def lie_together(one: str, other: str) -> bool:
    """Whether one of two absolute paths is the other, or lies inside it."""
    return posixpath.commonpath([one, other]) in (one, other)


def path_inside(outer: Resource, inner: Resource) -> str:
    """Where the inner resource lies, relative to the outer one."""
    return posixpath.relpath(inner.location, outer.location)


def left_out(outer: Resource, resources: Iterable[Resource]) -> frozenset[str]:
    """What a resource leaves to the databases inside it: their files, relative to it."""
    databases = [path_inside(outer, r) for r in resources if outer_of(r, [outer]) is outer]
    return frozenset(path for database in databases for path in (database, *sidecars(database)))


def folder_name(resource: str) -> str:
    """A name for a resource's folder that is safe in any filesystem; resources may be called anything."""
    if _PLAIN_NAME.fullmatch(resource):
        return resource
    import hashlib  # here: it loads OpenSSL, which only the making of a sandbox needs

    digest = hashlib.sha256(resource.encode("utf-8", "surrogatepass")).hexdigest()
    readable = re.sub(r"[^a-z0-9_-]+", "-", resource.lower()).strip("-")[:32]
    return f"{readable or 'resource'}-{digest[:16]}"


def _holds(outer: str, inner: str) -> bool:
    return outer == "." or inner.startswith(outer + "/")


def spare_name(random: bytes) -> str:
    """A name that a restore gives for a moment, beside the one that a file is to have."""
    return f"{PROJECT_HOME}-{random.hex()}"


def is_spare_name(name: str) -> bool:
    """Whether a restore that was cut off may have given this name."""
    return re.fullmatch(rf"{re.escape(PROJECT_HOME)}-[0-9a-f]{{16}}", name) is not None


def kept_name(name: str, random: bytes) -> str:
    """A name for something of others whose own name is taken; it is never removed."""
    return f"{name[:_LONGEST_PART]}{PROJECT_HOME}-kept-{random.hex()}"
