"""Resources: the real things a plan works on, and the private copies it gets of them."""

from enum import StrEnum

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.text.ids import PlanId


class ResourceType(StrEnum):
    """What kind of real thing a resource is."""

    GIT_CHECKOUT = "git-checkout"
    FS_DIRECTORY = "fs-directory"
    SQLITE = "sqlite"


class Strategy(StrEnum):
    """How a sandbox is made."""

    AUTO = "auto"
    GIT_WORKTREE = "git_worktree"
    FILESYSTEM_COPY = "filesystem_copy"
    IN_PLACE = "in_place"


class Resource(Struct, frozen=True, kw_only=True):
    """A real thing a plan works on, as the plan file names it."""

    name: str
    type: ResourceType
    location: str  # relative to the project folder
    strategy: Strategy | None  # None: the setting sandbox.strategy decides
    from_revision: str | None  # git-checkout only: start from this clean revision
    create: bool  # sqlite only: the file may be missing


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
