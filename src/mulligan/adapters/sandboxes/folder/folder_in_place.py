"""Folders that are worked on in place: the sandbox is the real folder itself, with the same checkpoints."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.folder.folder_copy import DirectorySandboxes, real_tree, with_ignore_file
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.trees.tree_difference import changed_by_others
from mulligan.errors import ChangedMeanwhile, TreeChanged
from mulligan.ports import Observer, SandboxOrder, WorkingTree


class InPlaceFolders(DirectorySandboxes):
    """Keeps and restores real folders: nothing is copied or removed. A fork of one is a copy like any other."""

    strategy = Strategy.IN_PLACE

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        order = with_ignore_file(order)
        capture = self._store.capture(real_tree(order.location, order.excluded, order.patterns), observer)
        return self._sandbox(order, capture.snapshot), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        return DirectorySandboxes(self._place).fork(order, parent, snapshot, observer)

    def exists(self, sandbox: Sandbox) -> bool:
        path = Path(sandbox.path)
        inside = path.is_relative_to(self._place.project.resolve())
        return inside and path.is_dir() and path.resolve() == path  # not the target of a later symlink

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        """Have looking at the folder cost what changed; anyone may be working in it."""
        return self._store.watch(self._tree(sandbox), others_at_work=True)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        return (self._tree(sandbox),)

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
        try:
            return self._store.restore(snapshot, self._tree(sandbox), observer, known, spare=spare)
        except TreeChanged as exc:
            raise ChangedMeanwhile(plan_id=sandbox.plan_id, paths=exc.facts["paths"]) from exc

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
        files = None if known is None else Snapshot(known.roots[:1])
        try:
            return self._store.restore(Snapshot(snapshot.roots[:1]), tree, observer, files)
        except TreeChanged as exc:
            raise ChangedMeanwhile(plan_id=sandbox.plan_id, paths=exc.facts["paths"]) from exc

    def recover(self, sandbox: Sandbox) -> tuple[str, ...]:
        return self._store.recover(self._tree(sandbox))

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        present = self.capture(sandbox, observer).snapshot
        found = (self._store.difference(present.roots[0], state.roots[0]) for state in (target, before))
        return tuple(f"{sandbox.path}/{path}" for path in changed_by_others(*found))

    def changed_where(
        self,
        real: Sandbox,
        before: Snapshot,
        written: Snapshot,
        observer: Observer,
    ) -> tuple[str, ...]:
        tree = self._tree(real)
        files = (Snapshot(each.roots[:1]) for each in (before, written))
        return tuple(f"{real.path}/{path}" for path in self._store.changed_where(tree, *files))

    def park(self, sandbox: Sandbox, *, room: int = 0) -> None:
        self.remove(sandbox)

    def remove(self, sandbox: Sandbox) -> None:
        """Leave the folder alone: it is the user's."""

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return real_tree(Path(sandbox.path), frozenset(sandbox.excluded), sandbox.patterns)
