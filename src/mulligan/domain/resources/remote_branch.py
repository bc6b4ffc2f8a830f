"""Branches of remote git repositories, as resources: where one is, as a plan names it and as rows keep it."""

import posixpath
import re
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct

from mulligan.domain.resources.placement import CLONES, PROJECT_HOME

_KEPT_AT = f"{PROJECT_HOME}/{CLONES}"
_LONGEST = 230  # bytes of the name of a folder, with room for an ending
_HEADS = "refs/heads/"
_SCHEMES = ("https", "http", "ssh", "git", "file")
_BY_SSH = re.compile(r"(?:[A-Za-z0-9._~-]+@)?[A-Za-z0-9._-]+:(?!/?/)[^\s]+")  # host:path, as scp has it
# What git refuses in the name of a branch.
_NOT_IN_BRANCHES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)|^[./-]|[/.]$|^@$")


class RemoteBranch(Struct, frozen=True):
    """A branch of a repository on a server."""

    url: str
    branch: str  # without refs/heads/

    @property
    def ref(self) -> str:
        """Return the whole name of the branch."""
        return f"{_HEADS}{self.branch}"

    @property
    def key(self) -> str:
        """Return the name of the folder that the clone is in."""
        return f"{quote(self.url, safe='')}@{quote(self.branch, safe='')}"

    @property
    def location(self) -> str:
        """Return the location of the resource: it says both, and is nobody's path in the project folder."""
        return f"{_KEPT_AT}/{self.key}"

    @property
    def shown(self) -> str:
        """Return the words for people."""
        return f"{self.branch} of {self.url}"


def remote_branch(url: str, ref: str) -> RemoteBranch:
    """Return the branch that a user names by its short or whole name."""
    return RemoteBranch(url, ref.removeprefix(_HEADS))


def branch_at(location: str) -> RemoteBranch:
    """Return the branch of a location, or of the path of its clone."""
    url, _, branch = posixpath.basename(location).partition("@")
    return RemoteBranch(unquote(url), unquote(branch))


def url_problem(url: str) -> str | None:
    """Say why this cannot be the address of a repository; None: it can."""
    if not url or not url.isprintable() or url.startswith("-"):
        return "is not the address of a repository"
    if posixpath.isabs(url):
        return None
    parts = urlsplit(url)
    if parts.scheme in _SCHEMES and "://" in url:
        if parts.password is not None:
            return "has a password in it: give it to git's credential helper, or use a key"
        return None if parts.scheme == "file" or parts.hostname else "names no host"
    if "://" not in url and _BY_SSH.fullmatch(url):
        return None
    return (
        f"is neither an absolute path nor one of {', '.join(f'{each}://' for each in _SCHEMES)} or host:path"
    )


def ref_problem(ref: str) -> str | None:
    """Say why this cannot be the branch that a plan works on; None: it can."""
    if ref.startswith("refs/") and not ref.startswith(_HEADS):
        return "is not a branch: only branches can be pushed"
    if not ref.removeprefix(_HEADS) or _NOT_IN_BRANCHES.search(ref.removeprefix(_HEADS)):
        return "is not the name of a branch"
    return None


def length_problem(remote: RemoteBranch) -> str | None:
    """Say that address and branch together are too long for the name of a folder; None: they are not."""
    return "is too long, together with the branch" if len(remote.key) > _LONGEST else None
