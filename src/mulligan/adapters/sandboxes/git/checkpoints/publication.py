"""Publication of checkpoints of git checkouts as commits, in a repository that is made again if it was lost."""

import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import Commits
from mulligan.adapters.sandboxes.git.creation.first_commit import commit_start
from mulligan.adapters.sandboxes.git.creation.private_git_dir import git_dirs_under
from mulligan.adapters.sandboxes.git.git_command import GitFailed
from mulligan.adapters.sandboxes.git.git_context import GitContext
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import pins_of
from mulligan.adapters.sandboxes.git.repository.git_trees import ObjectMissing
from mulligan.adapters.sandboxes.git.repository.pins import pinned_trees
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.adapters.sandboxes.private_sandbox import own_tree
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.ports import Publication, Unobserved, WorkingTree


class Publishing(Struct, frozen=True, eq=False):
    """Publishes the checkpoints of one sandbox."""

    context: GitContext
    sandbox: Sandbox
    repository: Callable[[], Repository]  # the user's

    def publish(self, commit: Callable[[], str]) -> str:
        """Return the name that `commit` returns, if need be in a repository that was made again.

        The new one has the commit that the sandbox started from, and later ones; `republish` adds the rest.
        """
        try:
            return commit()
        except ObjectMissing:
            pass  # something that it depends on is gone
        except GitFailed:
            if self.context.bare_of(self.sandbox).is_usable:
                raise
        with self._rebuilt(self.repository()):
            pass
        return commit()

    def republish(
        self, publications: Sequence[Publication], rules: Callable[[Repository], Path | None]
    ) -> dict[CheckpointId, str]:
        bare = self.context.bare_of(self.sandbox)
        if self.sandbox.git_dir != str(bare.path):
            return {}  # in a copy of the project: the commits, and the pins they lean on, are the original's
        if bare.holds({p.checkpoint.checkpoint_id: p.checkpoint.sandbox_ref for p in publications}):
            return {}
        repository = self.repository()
        with self._rebuilt(repository) as rebuilding:
            return rebuilding.publish_all(publications, rules(repository))

    @contextmanager
    def _rebuilt(self, repository: Repository) -> Generator["_Rebuilding"]:
        place = self.context.place
        with place.workshop(self.sandbox.plan_id, self.sandbox.resource) as shop:
            rebuilding = _Rebuilding(
                self.context, self.sandbox, own_tree(shop / "files"), own_tree(shop / "git")
            )
            try:
                rebuilding.begin(repository)
                yield rebuilding
            finally:
                place.store.forget_tree(rebuilding.files)
                place.store.forget_tree(rebuilding.own)


class _Rebuilding(Struct, frozen=True, eq=False):
    """A repository that is rebuilt from the store, which is the truth: each snapshot is restored in turn."""

    context: GitContext
    sandbox: Sandbox
    files: WorkingTree
    own: WorkingTree  # the git directory

    def begin(self, repository: Repository) -> None:
        bare = self.context.bare_of(self.sandbox)
        pins = pins_of(self.sandbox.plan_id, self.sandbox.resource)
        modules = git_dirs_under(repository.git_dir / "modules")
        lenders = (repository.git_dir, *modules, *map(Path, bare.known_lenders()))
        with act("git.remake"):
            bare.make(repository, filters=self.sandbox.strategy is not Strategy.IN_PLACE)
            bare.note_pins(repository, pins, lenders)
        self._restore(self.sandbox.base)
        borrowed = pinned_trees(self.context.git, repository.git_dir, pins)
        index, patterns = self.own.path / "index", self.sandbox.patterns
        commit_start(bare, repository, self.files.path, index, borrowed, patterns)

    def publish_all(self, publications: Sequence[Publication], rules: Path | None) -> dict[CheckpointId, str]:
        """Commit checkpoints in their order; return the commits. `rules` None: those of each snapshot."""
        made: dict[CheckpointId, Checkpoint] = {}
        store = self.context.place.store
        indexes = IndexContents(store)
        for each in publications:
            checkpoint = each.checkpoint
            self._restore(checkpoint.snapshot)
            commits = Commits(
                self.context.bare_of(self.sandbox),
                replace(self.sandbox, path=str(self.files.path)),
                store,
                indexes,
                index=self.own.path / "index",
                rules=rules or self.own.path / "info",
            )
            with closing(commits):
                after = made.get(each.after.checkpoint_id) if each.after is not None else None
                ref = commits.publish(replace(each, after=after))
            made[checkpoint.checkpoint_id] = replace(checkpoint, sandbox_ref=ref)
        return {checkpoint_id: checkpoint.sandbox_ref for checkpoint_id, checkpoint in made.items()}

    def _restore(self, snapshot: Snapshot) -> None:
        store = self.context.place.store
        store.restore(Snapshot(snapshot.roots[:1]), self.files, Unobserved())
        if len(snapshot.roots) > 1:
            store.restore(Snapshot(snapshot.roots[1:]), self.own, Unobserved())
        else:
            shutil.rmtree(self.own.path, ignore_errors=True)
