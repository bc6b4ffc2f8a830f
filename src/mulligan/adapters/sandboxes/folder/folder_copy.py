"""Sandboxes of folders: the folder is captured, and the snapshot restored into a folder of the plan's own."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.excluded_copies import copy_excluded, patterns_in
from mulligan.adapters.sandboxes.private_sandbox import Private
from mulligan.adapters.sandboxes.removal import remove_new_tree, remove_tree
from mulligan.adapters.sandboxes.suitability import unsuitable_place
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange, Survey, Unheld
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.errors import MulliganError, ResourceUnsuitable, SystemFailed
from mulligan.ports import Observer, SandboxOrder, WorkingTree


class DirectorySandboxes(Private):
    """Makes working copies of folders. What a sandbox started from is the base of every later merge."""

    type = ResourceType.FS_DIRECTORY
    strategy = Strategy.FILESYSTEM_COPY

    def check(self, resource: Resource, location: Path) -> None:
        place = self._place
        reason = unsuitable_place(
            location, user_home=place.user_home, project=place.project, project_home=place.project_home
        )
        if reason:
            raise ResourceUnsuitable(resource=resource.name, path=str(location), reason=reason)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        order = with_ignore_file(order)
        return self._store.survey(real_tree(order.location, order.excluded, order.patterns), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        order = with_ignore_file(order)
        real = real_tree(order.location, order.excluded, order.patterns)
        capture = self._store.capture(real, observer)
        sandbox = self._make(order, capture.snapshot, real, observer)
        unread = self._copy_excluded(real.path, sandbox)
        return sandbox, replace(capture, unheld=(*capture.unheld, *unread))

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        sandbox = self._make(replace(order, patterns=parent.patterns), snapshot, self._tree(parent), observer)
        self._copy_excluded(Path(parent.path), sandbox)
        return sandbox

    def fill(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> None:
        self._fill(sandbox, snapshot, real_tree_of(sandbox), observer)

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        # Where a step is over when all its processes are, nothing keeps a file of the sandbox mapped from one
        # step to the next: the munmap that ends each map is an event, and the next map makes its own.
        return self._store.watch(self._tree(sandbox), others_at_work=others_at_work)

    def capture(self, sandbox: Sandbox, observer: Observer, *, at_work: bool = False) -> Capture:
        self._must_exist(sandbox)
        return self._store.capture(self._tree(sandbox), observer, at_work=at_work)

    def unseen(self, sandbox: Sandbox) -> str:
        return self._store.unseen(self._tree(sandbox))

    def stirred(self, sandbox: Sandbox) -> bool:
        return self._store.stirred(self._tree(sandbox))

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        return self._store.compare(snapshot, replace(self._tree(sandbox), leaving=leaving))

    def restore(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        observer: Observer,
        known: Snapshot | None = None,
        *,
        spare: bool = False,
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        return self._store.restore(snapshot, self._tree(sandbox), observer)

    def restore_paths(
        self,
        sandbox: Sandbox,
        snapshot: Snapshot,
        paths: Sequence[str],
        observer: Observer,
        known: Snapshot | None = None,
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        tree = replace(self._tree(sandbox), only=tuple(paths))
        return self._store.restore(Snapshot(snapshot.roots[:1]), tree, observer)

    def same(self, sandbox: Sandbox, one: Snapshot, other: Snapshot) -> bool:
        return one.same_as(other)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        return (self._tree(sandbox), real_tree_of(sandbox))

    def carry_over(self, source: Path, sandbox: Sandbox) -> None:
        self._copy_excluded(source, sandbox)

    def _copy_excluded(self, source: Path, sandbox: Sandbox) -> tuple[Unheld, ...]:
        """Copy what patterns leave out of snapshots into a working copy; return what could not be read."""
        if not sandbox.patterns or not source.is_dir():
            return ()
        tree = replace(self._tree(sandbox), path=source, cache_key=f"excluded {source}")
        return copy_excluded(self._store, tree, Path(sandbox.path), self._home)

    def park(self, sandbox: Sandbox, *, room: int = 0) -> None:
        self._place.parked.park(sandbox, self._tree(sandbox), room)

    def remove(self, sandbox: Sandbox) -> None:
        remove_tree(Path(sandbox.path), self._home)
        self._store.forget_tree(self._tree(sandbox))

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return WorkingTree(
            path=Path(sandbox.path),
            cache_key=f"sandbox {sandbox.plan_id} {sandbox.resource}",
            excluded=frozenset(sandbox.excluded),
            patterns=sandbox.patterns,
            real=False,
        )

    def _make(self, order: SandboxOrder, base: Snapshot, like: WorkingTree, observer: Observer) -> Sandbox:
        sandbox = self._sandbox(order, base)
        self._fill(sandbox, base, like, observer)
        return sandbox

    def _fill(self, sandbox: Sandbox, base: Snapshot, like: WorkingTree, observer: Observer) -> None:
        """Make the working copy of a new sandbox: of a parked tree, or of files of a tree that holds much the same."""
        tree = self._tree(sandbox)
        if not self._place.parked.adopt(sandbox, base, tree, observer):
            self._create(base, tree, like, observer)
        self._store.mark_new(tree)

    def _create(self, base: Snapshot, tree: WorkingTree, like: WorkingTree, observer: Observer) -> None:
        is_new = not os.path.lexists(tree.path)
        try:
            self._store.create(base, tree, observer, like)
        except MulliganError:
            if is_new:  # on a disk that is full, what is next needs the room: to record that this failed
                with suppress(SystemFailed):
                    remove_new_tree(tree.path)
            raise


def real_tree(location: Path, excluded: frozenset[str], patterns: tuple[str, ...]) -> WorkingTree:
    """A user's own folder."""
    real = location.resolve()  # the user may name a folder by a symlink; below it none is followed
    # What is known of a tree holds for the same patterns only.
    key = f"real {real}\0{chr(0).join(patterns)}" if patterns else f"real {real}"
    return WorkingTree(path=real, cache_key=key, excluded=excluded, patterns=patterns, real=True)


def real_tree_of(sandbox: Sandbox, *excluded: str) -> WorkingTree:
    """Return the real folder that a sandbox is a copy of; what the sandbox leaves out is left out there too."""
    return real_tree(Path(sandbox.location), frozenset({*excluded, *sandbox.excluded}), sandbox.patterns)


def with_ignore_file(order: SandboxOrder) -> SandboxOrder:
    """Return an order with the patterns in the folder's own file too: they come last, so that they decide."""
    return replace(order, patterns=(*order.patterns, *patterns_in(order.location)))
