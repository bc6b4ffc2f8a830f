"""The collaborators of sandboxes of remote branches: those of checkouts, with the clone in the place of the user's."""

from pathlib import Path

from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.remote.branch_clones import BranchClones
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository, Unsuited


class RemoteContext(GitContext, frozen=True, eq=False, kw_only=True):
    """A context in which clones that are missing are made when they are asked for."""

    clones: BranchClones

    def found(self, top: Path) -> Repository | Unsuited:
        if self.clones.has(top):
            self.clones.ensure(top)
        return super().found(top)
