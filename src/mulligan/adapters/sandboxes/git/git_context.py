"""The collaborators of git sandboxes, for copies and for checkouts in place."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field

from mulligan.adapters.sandboxes.git.creation.missing_filters import missing_filter
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.places.moved_places import Moves
from mulligan.adapters.sandboxes.git.position.index_lock import HeldLock
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
from mulligan.adapters.sandboxes.git.repository.user_repository import (
    KnownRepository,
    Repository,
    Unsuited,
    open_repository,
)
from mulligan.adapters.sandboxes.private_sandbox import Workplace
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import ResourceUnsuitable


class GitContext(Struct, frozen=True, eq=False):
    """The workplace of one project, git, and the repositories of checkpoints."""

    place: Workplace
    git: Git
    repositories: CheckpointRepositories
    moved: Moves = ()  # former and present places of the project and its home
    known: dict[Path, KnownRepository] = field(default_factory=dict[Path, KnownRepository])  # by their top
    in_vain: set[HeldLock] = field(default_factory=set[HeldLock])  # waited for, and not released
    arrived: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    @property
    def moves(self) -> Moves:
        """Former places, and those on other machines, each with the present one here."""
        return (*self.moved, *self.arrived)

    def come_from(self, places: Sequence[tuple[str, str]]) -> None:
        """Let what git keeps in sandboxes lead here where it leads to places on other machines."""
        self.arrived[:] = sorted(places, key=lambda pair: -len(pair[0]))

    def bare_of(self, sandbox: Sandbox) -> BareRepository:
        return self.repositories.of(sandbox.plan_id, sandbox.resource)

    def found(self, top: Path) -> Repository | Unsuited:
        """Return the user's repository, or why no plan can work on it."""
        return open_repository(self.git, top, self.known, self.in_vain)

    def opened(self, resource: str, location: Path) -> Repository:
        """Open the user's repository; refuse one that no plan can work on."""
        found = self.found(location.resolve())
        if isinstance(found, Unsuited):
            raise _unsuitable(resource, location, found)
        return found

    def checked(self, resource: str, location: Path) -> Repository:
        """Open the user's repository; refuse it also where files of it could not be committed here."""
        repository = self.opened(resource, location)
        if (unsuited := missing_filter(self.git, repository)) is not None:
            raise _unsuitable(resource, location, unsuited)
        return repository


def _unsuitable(resource: str, location: Path, why: Unsuited) -> ResourceUnsuitable:
    return ResourceUnsuitable(resource=resource, path=str(location), reason=why.reason, hint=why.hint)
