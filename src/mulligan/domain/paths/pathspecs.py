"""Paths that a user names to see only a part of a difference, read as git reads them.

A path means itself and all below it; `*`, `?` and `[…]` match any characters, also `/`. `:!PATH` leaves out, `:/PATH`
begins at the top of a resource. A relative path begins in the folder that the user is in, where that is inside of a
resource, else at the top of each resource.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from fnmatch import translate

from msgspec import Struct

from mulligan.errors import UsageWrong

_TOP, _OMITTED = ":/", (":!", ":^")
_PATTERN = re.compile(r"[*?\[]")


class Pathspecs(Struct, frozen=True):
    """The paths of one resource that are wanted, relative to it, and those of them that are not."""

    wanted: tuple[str, ...]
    omitted: tuple[str, ...]

    def match(self, path: str) -> bool:
        """Return whether a path is wanted."""
        return _any(self.wanted, path) and not _any(self.omitted, path)


def read_pathspecs(
    words: Sequence[str], folder: str | None, roots: Mapping[str, Sequence[str]]
) -> Mapping[str, Pathspecs]:
    """Return what is wanted of each resource; `roots` are the folders in which each is, all paths being absolute.

    Refuse a path that is empty or outside of all resources.
    """
    tops = [top for of in roots.values() for top in of]
    inside = folder is not None and any(_below(top, folder) is not None for top in tops)
    found = {name: (list[str](), list[str]()) for name in roots}
    for word in words:
        omits = word.startswith(_OMITTED)
        path = word[2:] if omits else word
        if not path:
            raise UsageWrong(reason="a path is empty", hint="name the folder itself with `.`")
        known = False
        for name, of in roots.items():
            place = _in_resource(path, folder if inside else None, of)
            if place is not None:
                found[name][omits].append(place)
                known = True
        if not known:
            raise UsageWrong(
                reason=f"{word} is outside of what was compared",
                hint=f"name a path below {', '.join(of[0] for of in roots.values())}",
            )
    if all(word.startswith(_OMITTED) for word in words):
        found = {name: ([""], omitted) for name, (_, omitted) in found.items()}
    return {name: Pathspecs(tuple(wanted), tuple(omitted)) for name, (wanted, omitted) in found.items()}


def _in_resource(path: str, folder: str | None, roots: Sequence[str]) -> str | None:
    """Return a user's path relative to a resource; None: it is not in there."""
    if path.startswith(_TOP):
        return _normal(path[len(_TOP) :])
    if folder is None and not path.startswith("/"):
        place = _normal(path)
        return None if place == ".." or place.startswith("../") else place
    whole = posixpath.normpath(posixpath.join(folder or "/", path))
    return next((place for root in roots if (place := _below(root, whole)) is not None), None)


def _normal(path: str) -> str:
    place = posixpath.normpath(path)
    return "" if place == "." else place


def _below(root: str, path: str) -> str | None:
    if path == root:
        return ""
    return path[len(root) :].lstrip("/") if path.startswith(root.rstrip("/") + "/") else None


def _any(specs: Sequence[str], path: str) -> bool:
    return any(_matches(spec, path) for spec in specs)


def _matches(spec: str, path: str) -> bool:
    if not spec or path == spec or path.startswith(f"{spec}/"):
        return True
    return _PATTERN.search(spec) is not None and re.match(translate(spec), path) is not None
