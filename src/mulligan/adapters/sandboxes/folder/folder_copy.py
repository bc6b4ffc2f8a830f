"""Sandboxes of folders: the folder is captured, and the snapshot restored into a folder of the plan's own."""

from contextlib import AbstractContextManager
from pathlib import Path

from msgspec.structs import replace

from mulligan.adapters.sandboxes.private_sandbox import Private
from mulligan.adapters.sandboxes.removal import remove_tree
from mulligan.adapters.sandboxes.suitability import unsuitable_place
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture, PathChange, Survey
from mulligan.domain.resources.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.errors import ResourceUnsuitable
from mulligan.ports import Observer, SandboxOrder, WorkingTree


class DirectorySandboxes(Private):
    """Makes working copies of folders. What a sandbox started from is the base of every later merge."""

    type = ResourceType.FS_DIRECTORY
    strategy = Strategy.FILESYSTEM_COPY

    def check(self, resource: Resource, location: Path) -> None:
        place = self._place
        if reason := unsuitable_place(location, user_home=place.user_home, project_home=place.project_home):
            raise ResourceUnsuitable(resource=resource.name, path=str(location), reason=reason)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        return self._store.survey(real_tree(order.location, order.excluded), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        capture = self._store.capture(real_tree(order.location, order.excluded), observer)
        return self._make(order, capture.snapshot, observer), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        return self._make(order, snapshot, observer)

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        # Where a step is over when all its processes are, nothing keeps a file of the sandbox mapped from one
        # step to the next: the munmap that ends each map is an event, and the next map makes its own.
        return self._store.watch(self._tree(sandbox), others_at_work=others_at_work)

    def capture(self, sandbox: Sandbox, observer: Observer) -> Capture:
        self._must_exist(sandbox)
        return self._store.capture(self._tree(sandbox), observer)

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        return self._store.compare(snapshot, replace(self._tree(sandbox), leaving=leaving))

    def restore(
        self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer, known: Snapshot | None = None
    ) -> tuple[PathChange, ...]:
        self._must_exist(sandbox)
        return self._store.restore(snapshot, self._tree(sandbox), observer)

    def same(self, sandbox: Sandbox, one: Snapshot, other: Snapshot) -> bool:
        return one.same_as(other)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        return (self._tree(sandbox), real_tree(Path(sandbox.location), frozenset(sandbox.excluded)))

    def remove(self, sandbox: Sandbox) -> None:
        remove_tree(Path(sandbox.path), self._home)
        self._store.forget_tree(self._tree(sandbox))

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return WorkingTree(
            path=Path(sandbox.path),
            cache_key=f"sandbox {sandbox.plan_id} {sandbox.resource}",
            excluded=frozenset(sandbox.excluded),
            real=False,
        )

    def _make(self, order: SandboxOrder, base: Snapshot, observer: Observer) -> Sandbox:
        sandbox = self._sandbox(order, base)
        self._store.restore(base, self._tree(sandbox), observer)
        return sandbox


def real_tree(location: Path, excluded: frozenset[str]) -> WorkingTree:
    """A user's own folder."""
    real = location.resolve()  # the user may name a folder by a symlink; below it none is followed
    return WorkingTree(path=real, cache_key=f"real {real}", excluded=excluded, real=True)
