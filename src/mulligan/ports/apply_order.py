"""Applying: what is to be brought into a real thing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.snapshot import Root, Snapshot
    from mulligan.domain.resources.resource import Sandbox
    from mulligan.domain.trees.tree_difference import TreeDifference


class ApplyOrder(Struct, frozen=True, kw_only=True):
    """The result of a plan for a real resource: merged already, and not written yet."""

    sandbox: Sandbox  # the plan's
    real: Sandbox  # the same resource as an in-place sandbox: what is to change
    base: Snapshot  # of both sides
    theirs: Snapshot  # what the plan made of it
    ours: Snapshot  # the real thing now
    files: Root  # merge(base, theirs, ours), stored
    changed: tuple[TreeDifference, ...]  # base -> theirs, of the files
    message: str | None  # of the commit; None: no commit
    withdraws: str | None  # the commit of the apply that this takes back; None: it takes back none
    included: frozenset[str]  # paths in git directories that are taken over all the same
    at: datetime


class Composed(Struct, frozen=True, kw_only=True):
    """The new content of the real resource."""

    snapshot: Snapshot  # all roots of it; restoring it is all that is left to do
    commit: str | None  # that it will have checked out; None: no new one
    uncommitted: tuple[str, ...]  # changes that reach the working tree only, each with why
    notes: tuple[str, ...]  # what was made in the sandbox and is not carried over
    branch: str | None = None  # that gets the commit, or moves back; None: neither
    moved_back: str | None = None  # the commit that the branch moves back to; None: it does not
    committed: tuple[str, ...] = ()  # paths that the commit changes
    combined: tuple[
        str, ...
    ] = ()  # the commits of the sandbox that are not carried over one by one, newest first
