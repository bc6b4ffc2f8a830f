"""Rebuilds a repository of checkpoints from the store, which is the truth."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.git.checkpoints.checkpoint_commits import Commits
from mulligan.adapters.sandboxes.git.creation.checkpoint_start import commit_start, make_anew
from mulligan.adapters.sandboxes.git.creation.private_git_dir import git_dirs_under
from mulligan.adapters.sandboxes.git.git_command import Git
from mulligan.adapters.sandboxes.git.position.index_contents import IndexContents
from mulligan.adapters.sandboxes.git.repository.bare_repository import BareRepository
from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import pins_of
from mulligan.adapters.sandboxes.git.repository.pins import pinned_trees
from mulligan.adapters.sandboxes.git.repository.user_repository import Repository
from mulligan.boundaries import act
from mulligan.domain.checkpoints.checkpoint import Checkpoint
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import CheckpointId
from mulligan.ports import Publication, SnapshotStore, Unobserved, WorkingTree


class Rebuilding:
    """A repository that is being rebuilt, with a folder into which each snapshot is restored in turn."""

    def __init__(
        self, git: Git, store: SnapshotStore, bare: BareRepository, sandbox: Sandbox, room: Path
    ) -> None:
        """`room` is an empty folder of our own."""
        self._git = git
        self._store = store
        self._bare = bare
        self._sandbox = sandbox
        self._files, self._own = (
            WorkingTree(path=room / name, cache_key=f"{name} {room}", excluded=frozenset(), real=False)
            for name in ("files", "git")
        )

    def begin(self, repository: Repository) -> None:
        """Make the repository with the commit that the sandbox started from."""
        pins = pins_of(self._sandbox.plan_id, self._sandbox.resource)
        lenders = (repository.git_dir, *git_dirs_under(repository.git_dir / "modules"))
        with act("git.remake"):
            make_anew(self._bare, repository, pins, lenders)
        self._stand(self._sandbox.base)
        borrowed = pinned_trees(self._git, repository.git_dir, pins)
        commit_start(self._bare, repository, self._files.path, self._own.path / "index", borrowed)

    def publish_all(self, publications: Sequence[Publication], rules: Path | None) -> dict[CheckpointId, str]:
        """Commit checkpoints in their order; return the commits. `rules` None: those of each snapshot."""
        made: dict[CheckpointId, Checkpoint] = {}
        indexes = IndexContents(self._store)
        for each in publications:
            checkpoint = each.checkpoint
            self._stand(checkpoint.snapshot)
            commits = Commits(
                self._bare,
                replace(self._sandbox, path=str(self._files.path)),
                self._store,
                indexes,
                index=self._own.path / "index",
                rules=rules or self._own.path / "info",
            )
            try:
                after = made.get(each.after.checkpoint_id) if each.after is not None else None
                ref = commits.publish(replace(each, after=after))
            finally:
                commits.close()
            made[checkpoint.checkpoint_id] = replace(checkpoint, sandbox_ref=ref)
        return {checkpoint_id: checkpoint.sandbox_ref for checkpoint_id, checkpoint in made.items()}

    def forget(self) -> None:
        """Drop what the store remembers of the folder."""
        self._store.forget_tree(self._files)
        self._store.forget_tree(self._own)

    def _stand(self, snapshot: Snapshot) -> None:
        self._store.restore(Snapshot(snapshot.roots[:1]), self._files, Unobserved())
        if len(snapshot.roots) > 1:
            self._store.restore(Snapshot(snapshot.roots[1:]), self._own, Unobserved())
        else:
            shutil.rmtree(self._own.path, ignore_errors=True)
