"""The collaborators of git sandboxes, for copies and for checkouts in place."""

from collections.abc import Mapping
from pathlib import Path

from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository, Unsuited, open_repository
from mulligan.domain.resources.resource import Sandbox
from mulligan.errors import ResourceUnsuitable
from mulligan.ports import SnapshotStore


class GitContext:
    """Git, the store and the folders of one project."""

    def __init__(
        self,
        *,
        store: SnapshotStore,
        home: Path,
        git_home: Path,
        project_home: Path,
        user_home: Path,
        environment: Mapping[str, str],
    ) -> None:
        """`home` is the folder for sandboxes, `git_home` that for the repositories of their checkpoints."""
        self.store = store
        self.home = home
        self.project_home = project_home
        self.user_home = user_home
        self.git = Git.within(environment, project_home)
        self.repositories = CheckpointRepositories(git=self.git, home=git_home)

    def bare_of(self, sandbox: Sandbox) -> BareRepository:
        """Return the repository with the commits of a sandbox's checkpoints."""
        return self.repositories.of(sandbox.plan_id, sandbox.resource)

    def opened(self, resource: str, location: Path) -> Repository:
        """Open the user's repository; refuse one that no plan can work on."""
        found = open_repository(self.git, location.resolve())
        if isinstance(found, Unsuited):
            raise unsuitable(resource, location, found)
        return found


def unsuitable(resource: str, location: Path, why: Unsuited) -> ResourceUnsuitable:
    """Return the refusal of a checkout."""
    return ResourceUnsuitable(resource=resource, path=str(location), reason=why.reason, hint=why.hint)
