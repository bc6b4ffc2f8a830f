"""Resources: the types of real things a plan works on, with their traits, and the private copies it gets of them."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.text.ids import PlanId


class Strategy(StrEnum):
    """A way to make a sandbox."""

    AUTO = "auto"
    GIT_WORKTREE = "git_worktree"
    FILESYSTEM_COPY = "filesystem_copy"
    IN_PLACE = "in_place"


class Shape(StrEnum):
    """The form in which a resource lies in the project folder."""

    FOLDER = "folder"
    FILE = "file"  # may lie inside the folder of another resource, which leaves it out
    REMOTE = "remote"  # it is not there: a folder's worth of files on a server


class MergeUnit(StrEnum):
    """The smallest part of a resource that two sides can change without a conflict."""

    LINE = "line"
    WHOLE = "whole"


class ResourceTraits(Struct, frozen=True, kw_only=True):
    """The differences between types of resources, as far as code outside their adapters depends on them."""

    noun: str  # for messages
    shape: Shape
    merged_by: MergeUnit
    strategies: tuple[Strategy, ...]  # the first copies: what `auto` means, and what a child plan's fork is
    unforkable: tuple[Strategy, ...] = ()  # strategies whose sandboxes child plans cannot be forked from
    has_commits: bool = False  # a checkpoint is a commit, and apply can make one
    may_be_missing: bool = False  # `create: true` is allowed
    sidecars: tuple[str, ...] = ()  # endings of further files that belong to it, beside its own
    marked_by: str | None = None  # a name inside a folder that makes it a resource of this type

    @property
    def is_folder(self) -> bool:
        """Return whether the resource is a folder, or the files of one on a server."""
        return self.shape is not Shape.FILE

    @property
    def is_remote(self) -> bool:
        """Return whether the resource is on a server: no machine has it, and any machine can change it."""
        return self.shape is Shape.REMOTE

    @property
    def is_file(self) -> bool:
        """Return whether the resource is one file: made after the folder around it, and removed before it."""
        return self.shape is Shape.FILE

    @property
    def copying(self) -> Strategy:
        """Return the strategy that copies the resource."""
        return self.strategies[0]

    @property
    def selectable(self) -> tuple[Strategy, ...]:
        """Return the strategies that a plan file can ask for; a file is in place where the folder around it is."""
        return self.strategies if self.shape is Shape.FOLDER else (self.copying,)

    def files_of(self, path: str) -> tuple[str, ...]:
        """Return the paths that belong to a resource that is a file: its own, then its sidecars."""
        return (path, *(path + ending for ending in self.sidecars))


class ResourceType(StrEnum):
    """A kind of real thing that a plan can work on."""

    GIT_CHECKOUT = "git-checkout"
    GIT_REMOTE = "git-remote"
    FS_DIRECTORY = "fs-directory"
    SQLITE = "sqlite"

    @property
    def traits(self) -> ResourceTraits:
        """Return what sets this type apart."""
        return _TRAITS[self]


_TRAITS = {
    ResourceType.GIT_CHECKOUT: ResourceTraits(
        noun="git checkout",
        shape=Shape.FOLDER,
        merged_by=MergeUnit.LINE,
        strategies=(Strategy.GIT_WORKTREE, Strategy.IN_PLACE),
        unforkable=(Strategy.IN_PLACE,),  # it has no git directory of its own
        has_commits=True,
        marked_by=".git",
    ),
    ResourceType.GIT_REMOTE: ResourceTraits(
        noun="remote branch",
        shape=Shape.REMOTE,
        merged_by=MergeUnit.LINE,
        strategies=(Strategy.GIT_WORKTREE,),
        has_commits=True,
    ),
    ResourceType.FS_DIRECTORY: ResourceTraits(
        noun="folder",
        shape=Shape.FOLDER,
        merged_by=MergeUnit.LINE,
        strategies=(Strategy.FILESYSTEM_COPY, Strategy.IN_PLACE),
    ),
    ResourceType.SQLITE: ResourceTraits(
        noun="database",
        shape=Shape.FILE,
        merged_by=MergeUnit.WHOLE,
        strategies=(Strategy.FILESYSTEM_COPY, Strategy.IN_PLACE),
        may_be_missing=True,
        sidecars=("-wal", "-shm", "-journal"),
    ),
}


def type_of_folder(contains: Callable[[str], bool]) -> ResourceType:
    """Return the type of a folder for which the user named none; `contains` looks for a name in it."""
    marked = (t for t in ResourceType if t.traits.marked_by and contains(t.traits.marked_by))
    return next(marked, ResourceType.FS_DIRECTORY)


class Resource(Struct, frozen=True, kw_only=True):
    """A real thing a plan works on, as the plan file names it."""

    name: str
    type: ResourceType
    location: (
        str  # relative to the project folder; of a remote branch what `remote_branch.py` makes of its address
    )
    strategy: Strategy | None  # None: the setting sandbox.strategy decides
    from_revision: str | None  # with commits only: start from this clean revision
    create: bool  # the real thing may be missing, where its type allows that


class Sandbox(Struct, frozen=True, kw_only=True):
    """The plan's private working copy of one resource."""

    plan_id: PlanId
    resource: str
    type: ResourceType
    strategy: Strategy
    location: str  # absolute path of the real thing
    path: str  # absolute path of the working copy
    base: Snapshot  # what the real thing was when the sandbox was made
    excluded: tuple[str, ...]  # paths inside it, relative, that belong to other resources of the plan
    branch: str | None  # git-checkout only: what was checked out when the sandbox was made
    git_dir: str | None  # git-checkout only: the bare repository in which each checkpoint is a commit
    patterns: tuple[str, ...] = ()  # of paths inside it, as in .gitignore, that belong to no checkpoint
    host: str | None = None  # the id of the machine that has it, in a project of several
    real_host: str | None = None  # of the one that has the real thing


def is_in_place(resources: Sequence[Resource], sandboxes: Sequence[Sandbox]) -> bool:
    """Return whether each of a plan's resources has a sandbox, and each sandbox is the real thing itself.

    A plan whose copies went when it was applied has sandboxes for the others alone.
    """
    complete = bool(sandboxes) and len(sandboxes) >= len(resources)
    return complete and all(sandbox.strategy is Strategy.IN_PLACE for sandbox in sandboxes)
