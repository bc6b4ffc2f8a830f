"""Git checkouts that are worked on in place: the real working tree, and of its git directory what says where it stands.

A snapshot has two roots: the files, and three small files for HEAD, the commit of the branch it names, and the
index. The rest of the git directory is the user's: commits, other branches, stashes, hooks and settings that a
plan makes stay when it goes back.
"""

import os
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.directory import real_tree, sandbox_of
from mulligan.adapters.sandboxes.exporting import export_files
from mulligan.adapters.sandboxes.git.bare import BareRepository, Memory
from mulligan.adapters.sandboxes.git.beginning import begin, copy_objects
from mulligan.adapters.sandboxes.git.command import Git
from mulligan.adapters.sandboxes.git.commits import Commits, start_from
from mulligan.adapters.sandboxes.git.making import Making
from mulligan.adapters.sandboxes.git.pins import pin_head, unpin
from mulligan.adapters.sandboxes.git.position import BRANCHES, Position
from mulligan.adapters.sandboxes.git.repository import Repository, Unsuited, open_repository
from mulligan.adapters.sandboxes.in_place import InPlaceFolders
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.domain.checkpoint import Checkpoint
from mulligan.domain.ids import CheckpointId, PlanId
from mulligan.domain.placement import folder_name
from mulligan.domain.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.snapshot import Snapshot
from mulligan.domain.store_report import Capture, PathChange, Survey
from mulligan.errors import NotBuiltYet, ResourceUnsuitable
from mulligan.ports import Observer, SandboxOrder, SnapshotStore, WorkingTree

_GIT = ".git"


class InPlaceCheckouts(InPlaceFolders):
    """Keeps and restores real checkouts."""

    type = ResourceType.GIT_CHECKOUT
    strategy = Strategy.IN_PLACE

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
        """`git_home` is the folder for the repositories of checkpoints."""
        super().__init__(store=store, home=home, project_home=project_home, user_home=user_home)
        self._git_home = git_home
        self._git = Git.within(environment, project_home)

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse what is no git checkout, or one that no plan may work on."""
        super().check(resource, location)
        found = open_repository(self._git, location.resolve())
        if isinstance(found, Unsuited):
            raise ResourceUnsuitable(
                resource=resource.name, path=str(location), reason=found.reason, hint=found.hint
            )

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        """Count what a checkpoint would hold."""
        return self._store.survey(real_tree(order.location, order.excluded | {_GIT}), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        """Keep what the checkout is now, and make the repository of its checkpoints; nothing is copied."""
        repository = self._repository(order.path)
        bare = BareRepository(
            self._git, self._git_home / order.plan_id / f"{folder_name(order.resource.name)}.git"
        )
        making = Making(self._git, bare, "", repository, order)
        sandbox = replace(
            sandbox_of(order, Snapshot(()), Strategy.IN_PLACE),
            type=ResourceType.GIT_CHECKOUT,
            excluded=tuple(sorted(making.left_out())),
            branch=repository.branch,
            git_dir=str(bare.path),
        )
        capture = self.capture(sandbox, observer)
        self._begin(bare, repository, f"{order.plan_id}/{folder_name(order.resource.name)}")
        return replace(sandbox, base=capture.snapshot), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        """Refuse: there is no git directory of the plan's own to fork."""
        raise NotBuiltYet(
            feature="child plans of a plan that works in place on a git checkout",
            hint="use `strategy: git_worktree`",
        )

    def capture(self, sandbox: Sandbox, observer: Observer) -> Capture:
        """Store the working tree and where it stands, durably."""
        files = super().capture(sandbox, observer)
        prefix = f"{sandbox.plan_id}/{folder_name(sandbox.resource)}"
        pin_head(self._git, self._repository(Path(sandbox.path)), prefix)  # no prune takes what is named here
        with self._position(sandbox) as staged:
            position = self._store.capture(staged, observer)
        return replace(
            files,
            snapshot=Snapshot((*files.snapshot.roots, *position.snapshot.roots)),
            size_bytes=files.size_bytes + position.size_bytes,
        )

    def publish(
        self,
        sandbox: Sandbox,
        checkpoint_id: CheckpointId,
        snapshot: Snapshot,
        after: Checkpoint | None,
        at: datetime,
    ) -> str:
        """Commit the checkpoint's files in a repository of the plan's own; the commit is its name."""
        repository = self._repository(Path(sandbox.path))
        commits = Commits(
            self._bare(sandbox),
            sandbox,
            self._store,
            index=repository.git_dir / "index",
            rules=repository.common_dir / "info",
        )
        try:
            return commits.publish(checkpoint_id, snapshot, after, at)
        finally:
            commits.close()

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Drop the commits of all checkpoints but those kept."""
        bare = self._bare(sandbox)
        if bare.is_there:
            bare.retire(kept)

    def compare(self, sandbox: Sandbox, snapshot: Snapshot) -> tuple[PathChange, ...]:
        """What a restore would do; touches nothing."""
        changes = super().compare(sandbox, Snapshot(snapshot.roots[:1]))
        with self._position(sandbox) as staged:
            moved = self._store.compare(Snapshot(snapshot.roots[1:]), staged)
        return (*_inside(moved), *changes)

    def restore(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> tuple[PathChange, ...]:
        """Make the working tree, HEAD, its branch and the index exactly what the snapshot holds; idempotent."""
        changes = super().restore(sandbox, Snapshot(snapshot.roots[:1]), observer)
        with self._position(sandbox) as staged:
            moved = self._store.restore(Snapshot(snapshot.roots[1:]), staged, observer)
            if moved:
                self._position_of(sandbox).put_back(staged.path)
        return (*_inside(moved), *changes)

    def export(self, snapshot: Snapshot, target: Path, observer: Observer) -> None:
        """Write the snapshot's files into a new folder, without the git directory."""
        export_files(self._store, Snapshot(snapshot.roots[:1]), target, observer)

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the repository of the checkpoints and its pins; the checkout is the user's."""
        bare = self._bare(sandbox)
        if bare.is_there:
            memory = bare.memory
            for lender in memory.lenders:
                unpin(self._git, Path(lender), memory.prefix)
        if bare.path.is_dir():
            remove_tree(bare.path, self._git_home)

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return real_tree(Path(sandbox.path), frozenset({_GIT, *sandbox.excluded}))

    def _begin(self, bare: BareRepository, repository: Repository, prefix: str) -> None:
        """Make the commit of what the plan starts from, and pin the one that it borrows from."""
        bare.make(repository)
        bare.remember(
            Memory(
                object_format=repository.object_format,
                prefix=prefix,
                lenders=(str(repository.git_dir),),
                links=(),
                collected=0,
            )
        )
        head = pin_head(self._git, repository, prefix)
        index = bare.path / "index"
        if (repository.git_dir / "index").exists():
            index.write_bytes((repository.git_dir / "index").read_bytes())
        started = begin(bare.git, repository, repository.top, index)
        index.unlink(missing_ok=True)
        had = (f"{head}^{{tree}}",) if head else ()
        copy_objects(bare.git, (started.tree,), had, bare.path / "objects")
        bare.remember(replace(bare.memory, links=tuple(map(os.fsdecode, started.links))))
        start_from(bare, bytes.fromhex(started.tree))

    @contextmanager
    def _position(self, sandbox: Sandbox) -> Generator[WorkingTree]:
        """Where the checkout stands now, as a folder that the store can take."""
        folder = self._workshop(sandbox.plan_id, sandbox.resource)
        tree = WorkingTree(path=folder, cache_key=f"position {folder}", excluded=frozenset(), real=False)
        remove_tree(folder, self._home)
        folder.mkdir(mode=0o700, parents=True)
        try:
            self._position_of(sandbox).write_down(folder)
            yield tree
        finally:
            self._store.forget_tree(tree)
            remove_tree(folder, self._home)

    def _position_of(self, sandbox: Sandbox) -> Position:
        return Position(self._git, self._repository(Path(sandbox.path)))

    def _workshop(self, plan_id: PlanId, resource: str) -> Path:
        return self._home / plan_id / f".work-{folder_name(resource)}"

    def _repository(self, top: Path) -> Repository:
        found = open_repository(self._git, top)
        if isinstance(found, Unsuited):
            raise ResourceUnsuitable(resource=str(top), path=str(top), reason=found.reason, hint=found.hint)
        return found

    def _bare(self, sandbox: Sandbox) -> BareRepository:
        assert sandbox.git_dir is not None
        return BareRepository(self._git, Path(sandbox.git_dir))


def _inside(changes: tuple[PathChange, ...]) -> tuple[PathChange, ...]:
    """What is put back of the git directory, in its own words; notes of other branches are not."""
    shown = (change for change in changes if change.path not in (".", BRANCHES))
    return tuple(replace(change, path=f"{_GIT}/{change.path}") for change in shown)
