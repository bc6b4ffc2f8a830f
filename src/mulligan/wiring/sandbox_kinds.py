"""The kinds of sandboxes, each with what it needs, imported and built when the first resource of it is met."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.adapters.sandboxes.kind_registry import LocalSandboxKinds
from mulligan.domain.resources.resource import ResourceType, Strategy
from mulligan.wiring.surroundings import Surroundings, boot_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mulligan.adapters.homes.home_search import ProjectPlace
    from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes
    from mulligan.adapters.sandboxes.folder.folder_in_place import InPlaceFolders
    from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes
    from mulligan.adapters.sandboxes.git.checkout_in_place import InPlaceCheckouts
    from mulligan.adapters.sandboxes.git.git_context import GitContext
    from mulligan.adapters.sandboxes.git.remote.remote_context import RemoteContext
    from mulligan.adapters.sandboxes.git.remote.remote_copy import RemoteSandboxes
    from mulligan.adapters.sandboxes.git.remote.remote_ref import RemoteBranches
    from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories
    from mulligan.adapters.sandboxes.parked_trees import ParkedTrees
    from mulligan.adapters.sandboxes.private_sandbox import Workplace
    from mulligan.adapters.sandboxes.sqlite.database_copy import DatabaseCopies
    from mulligan.adapters.sandboxes.sqlite.database_in_place import InPlaceDatabases
    from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes
    from mulligan.ports import SnapshotStore


class ProjectSandboxes:
    """The sandboxes of one project."""

    def __init__(
        self,
        *,
        store: SnapshotStore,
        place: ProjectPlace,
        around: Surroundings,
        here: str | None,
        pool: Callable[[], int],
        prepare: Callable[[], None],
    ) -> None:
        """Capture into this store; git is the user's own, with the caller's environment. Keep `pool` parked trees.

        `here` is the id of this machine in a shared project; `prepare` makes the home, if it is yet to be made.
        """
        self._prepare = prepare
        self._here = here
        self._store = store
        self._project = place
        self._around = around
        self._pool = pool

    @cached_property
    def kinds(self) -> LocalSandboxKinds:
        """All of them."""
        copied, in_place = Strategy.FILESYSTEM_COPY, Strategy.IN_PLACE
        return LocalSandboxKinds(
            here=self._here,
            come_from=self._come_from,
            kinds={
                (ResourceType.FS_DIRECTORY, copied): lambda: self._folders,
                (ResourceType.FS_DIRECTORY, in_place): lambda: self._folders_in_place,
                (ResourceType.GIT_CHECKOUT, Strategy.GIT_WORKTREE): lambda: self._checkouts,
                (ResourceType.GIT_CHECKOUT, in_place): lambda: self._checkouts_in_place,
                (ResourceType.GIT_REMOTE, Strategy.GIT_WORKTREE): lambda: self._remotes,
                (ResourceType.GIT_REMOTE, in_place): lambda: self._remote_branches,
                (ResourceType.SQLITE, copied): lambda: self._databases,
                (ResourceType.SQLITE, in_place): lambda: self._databases_in_place,
            },
        )

    def _come_from(self, places: Sequence[tuple[str, str]]) -> None:
        self._git.come_from(places)  # git is asked for when sandboxes come from elsewhere, not before

    @property
    def repositories(self) -> CheckpointRepositories:
        """The repositories in which checkpoints of git checkouts are commits."""
        return self._git.repositories

    @cached_property
    def _place(self) -> Workplace:
        from mulligan.adapters.sandboxes.private_sandbox import Workplace

        return Workplace(
            store=self._store,
            home=self._project.home / "sandboxes",
            project=self._project.folder,
            project_home=self._project.home,
            user_home=Path.home(),
            pool=self._pool,
        )

    @property
    def parked(self) -> ParkedTrees:
        """Working copies of plans that are over."""
        return self._place.parked

    @cached_property
    def _git(self) -> GitContext:
        from mulligan.adapters.homes.home_link import moves_of, read_record
        from mulligan.adapters.sandboxes.git.git_command import Git
        from mulligan.adapters.sandboxes.git.git_context import GitContext
        from mulligan.adapters.sandboxes.git.repository.checkpoint_repositories import CheckpointRepositories

        git = Git.within(self._around.environ, self._project.home)
        repositories = CheckpointRepositories(git=git, home=self._project.home / "git")
        record = read_record(self._project.home)
        moves = moves_of(record, self._project.folder, self._project.home) if record is not None else ()
        return GitContext(self._place, git, repositories, moves)

    @cached_property
    def _checkouts(self) -> GitSandboxes:
        from mulligan.adapters.sandboxes.git.checkout_copy import GitSandboxes

        return GitSandboxes(self._git)

    @cached_property
    def _checkouts_in_place(self) -> InPlaceCheckouts:
        from mulligan.adapters.sandboxes.git.checkout_in_place import InPlaceCheckouts

        return InPlaceCheckouts(self._git)

    @cached_property
    def _remote_git(self) -> RemoteContext:
        from mulligan.adapters.sandboxes.git.remote.branch_clones import BranchClones
        from mulligan.adapters.sandboxes.git.remote.remote_context import RemoteContext
        from mulligan.domain.resources.placement import CLONES

        git = self._git
        clones = BranchClones(
            git.git.to_servers(self._around.environ), self._project.home / CLONES, self._prepare
        )
        return RemoteContext(
            place=git.place,
            git=git.git,
            repositories=git.repositories,
            moved=git.moved,
            known=git.known,
            arrived=git.arrived,
            clones=clones,
        )

    @cached_property
    def _remotes(self) -> RemoteSandboxes:
        from mulligan.adapters.sandboxes.git.remote.remote_copy import RemoteSandboxes

        return RemoteSandboxes(self._remote_git)

    @cached_property
    def _remote_branches(self) -> RemoteBranches:
        from mulligan.adapters.sandboxes.git.remote.remote_ref import RemoteBranches

        return RemoteBranches(self._remote_git)

    @cached_property
    def _folders(self) -> DirectorySandboxes:
        from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes

        return DirectorySandboxes(self._place)

    @cached_property
    def _folders_in_place(self) -> InPlaceFolders:
        from mulligan.adapters.sandboxes.folder.folder_in_place import InPlaceFolders

        return InPlaceFolders(self._place)

    @cached_property
    def _databases(self) -> SqliteSandboxes:
        from mulligan.adapters.sandboxes.sqlite.database_sandbox import SqliteSandboxes

        return SqliteSandboxes(self._place, self._copies, boot_id())

    @cached_property
    def _databases_in_place(self) -> InPlaceDatabases:
        from mulligan.adapters.sandboxes.sqlite.database_in_place import InPlaceDatabases

        return InPlaceDatabases(self._place, self._copies, boot_id())

    @property
    def _copies(self) -> DatabaseCopies:
        from mulligan.adapters.sandboxes.sqlite.database_copy import BUSY_LIMIT, DatabaseCopies

        return DatabaseCopies(time.time_ns, BUSY_LIMIT)
