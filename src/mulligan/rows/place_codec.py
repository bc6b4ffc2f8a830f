"""Paths in rows: relative to the project home or to the project folder, so that either may move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from mulligan import errors
from mulligan.domain.resources.placement import CLONES
from mulligan.domain.resources.resource import Strategy
from mulligan.errors import Advice, NextStep

if TYPE_CHECKING:
    from collections.abc import Callable

    from mulligan.domain.resources.resource import Sandbox

HOME, PROJECT = "home:", "project:"
_NOWHERE = "/dev/null"  # nothing can be below it


class Places(Struct, frozen=True, kw_only=True):
    """The two folders that paths in rows are relative to, as absolute paths; an empty one holds nothing.

    `host` is the id of the machine that they are on, in a project that many machines share.
    """

    home: str
    project: str
    host: str | None = None

    def kept(self, path: str) -> str:
        """Return a path as a row holds it; one outside of both folders stays absolute."""
        for prefix, folder in ((HOME, self.home), (PROJECT, self.project)):
            if folder and (path == folder or path.startswith(f"{folder}/")):
                return prefix + path[len(folder) + 1 :]
        return path

    def whole(self, text: str) -> str:
        """Return the absolute path of what a row holds."""
        for prefix, folder in ((HOME, self.home), (PROJECT, self.project)):
            if text.startswith(prefix):
                inside = text[len(prefix) :]
                if leads_out(text):
                    raise errors.DatabaseUnusable(
                        database=f"{self.home}/mulligan.db",
                        reason=f"a row names {text!r}, which leads out of the project",
                        hint=Advice("see all that is wrong with it: ", NextStep("doctor")),
                    )
                return f"{folder}/{inside}" if inside else folder
        return text

    def is_clone(self, path: str) -> bool:
        """Return whether a path is that of the clone for a remote branch, which each machine has one of."""
        return path.startswith(f"{self.home}/{CLONES}/")

    def kept_sandbox(self, sandbox: Sandbox) -> Sandbox:
        """Return a sandbox as its row holds it: it is on this machine."""
        return self.claimed(_with_paths(sandbox, self.kept))

    def claimed(self, sandbox: Sandbox) -> Sandbox:
        """Return a sandbox as one that is on this machine; the real thing may be on another one."""
        if not sandbox.type.traits.is_remote:
            return replace(sandbox, host=self.host, real_host=sandbox.real_host or self.host)
        here = None if sandbox.strategy is Strategy.IN_PLACE else self.host
        return replace(sandbox, host=here, real_host=None)

    def is_elsewhere(self, host: str | None) -> bool:
        """Return whether something of that machine is not on this one."""
        return host is not None and self.host not in (None, host)

    def whole_at(self, host: str | None, text: str) -> str:
        """Return the path of what is on a machine; one of another machine is not a path here, and near none."""
        return f"{_NOWHERE}/{host}/{text}" if self.is_elsewhere(host) else self.whole(text)

    def whole_sandbox(self, sandbox: Sandbox) -> Sandbox:
        """Return the sandbox of a row, with absolute paths.

        A copy on another machine has the paths that it will have here.
        """
        host = sandbox.host if sandbox.strategy is Strategy.IN_PLACE else None
        return _with_paths(sandbox, lambda text: self.whole_at(host, text))


def leads_out(text: str) -> bool:
    """Return whether the path of a row leads out of the folder that it is relative to."""
    return ".." in text.partition(":")[2].split("/")


ABSOLUTE = Places(home="", project="")  # of a database that belongs to no project: paths stay as they are


def _with_paths(sandbox: Sandbox, change: Callable[[str], str]) -> Sandbox:
    return replace(
        sandbox,
        location=change(sandbox.location),
        path=change(sandbox.path),
        git_dir=None if sandbox.git_dir is None else change(sandbox.git_dir),
    )
