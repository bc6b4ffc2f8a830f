"""Publication of checkpoints of git checkouts as commits, in a repository that is made again if it was lost."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mulligan.adapters.sandboxes.git.checkpoints.rebuild import Rebuilding
from mulligan.adapters.sandboxes.git.git_command import GitFailed
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.repository.git_trees import ObjectMissing
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.domain.resources.placement import folder_name
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import CheckpointId
from mulligan.ports import Publication


class Publishing:
    """Publishes the checkpoints of one sandbox."""

    def __init__(self, context: GitContext, sandbox: Sandbox) -> None:
        self._context = context
        self._bare = context.bare_of(sandbox)
        self._sandbox = sandbox

    def mended(self, publish: Callable[[], str], repository: Callable[[], Repository]) -> str:
        """Return the name that `publish` returns, if need be in a repository that was made again.

        The new one has the commit that the sandbox started from, and later ones; `republish` adds the rest.
        """
        try:
            return publish()
        except ObjectMissing:
            pass  # something that it depends on is gone
        except GitFailed:
            if self._bare.is_usable:
                raise
        with self._rebuilding() as rebuilding:
            rebuilding.begin(repository())
        return publish()

    def republish(
        self,
        publications: Sequence[Publication],
        repository: Callable[[], Repository],
        rules: Callable[[Repository], Path | None],
    ) -> dict[CheckpointId, str]:
        """Make all commits again if one of them is not as it should be."""
        if self._sandbox.git_dir != str(self._bare.path):
            return {}  # in a copy of the project: the commits, and the pins they lean on, are the original's
        if self._bare.holds({p.checkpoint.checkpoint_id: p.checkpoint.sandbox_ref for p in publications}):
            return {}
        lender = repository()
        with self._rebuilding() as rebuilding:
            rebuilding.begin(lender)
            return rebuilding.publish_all(publications, rules(lender))

    @contextmanager
    def _rebuilding(self) -> Generator[Rebuilding]:
        home = self._context.home
        room = home / self._sandbox.plan_id / f".work-{folder_name(self._sandbox.resource)}"
        remove_tree(room, home)
        room.mkdir(mode=0o700, parents=True)
        rebuilding = Rebuilding(self._context.git, self._context.store, self._bare, self._sandbox, room)
        try:
            yield rebuilding
        finally:
            rebuilding.forget()
            remove_tree(room, home)
