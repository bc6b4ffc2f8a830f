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
from mulligan.errors import ResourceUnsuitable, SandboxMissing
from mulligan.ports import Observer, SandboxOrder, SnapshotStore, WorkingTree


class DirectorySandboxes(Private):
    """Makes working copies of folders. What a sandbox started from is the base of every later merge."""

    type = ResourceType.FS_DIRECTORY
    strategy = Strategy.FILESYSTEM_COPY

    def __init__(self, *, store: SnapshotStore, home: Path, project_home: Path, user_home: Path) -> None:
        """`home` is the folder for sandboxes; `project_home` and `user_home` cannot be resources."""
        self._store = store
        self._home = home
        self._project_home = project_home
        self._user_home = user_home

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse a location that is not a folder, or that no plan may work on."""
        reason = unsuitable_place(location, user_home=self._user_home, project_home=self._project_home)
        if reason:
            raise ResourceUnsuitable(resource=resource.name, path=str(location), reason=reason)

    def survey(self, order: SandboxOrder, observer: Observer) -> Survey:
        """Count what a sandbox would copy."""
        return self._store.survey(real_tree(order.location, order.excluded), observer)

    def create(self, order: SandboxOrder, observer: Observer) -> tuple[Sandbox, Capture]:
        """Make the plan's working copy of what the capture holds. Cut off anywhere, running it again completes it."""
        capture = self._store.capture(real_tree(order.location, order.excluded), observer)
        return self._make(order, capture.snapshot, observer), capture

    def fork(self, order: SandboxOrder, parent: Sandbox, snapshot: Snapshot, observer: Observer) -> Sandbox:
        """Make a working copy of one of the parent's snapshots."""
        return self._make(order, snapshot, observer)

    def exists(self, sandbox: Sandbox) -> bool:
        """Return whether the working copy exists, without a symlink in its place or in that of the plan's folder."""
        path = Path(sandbox.path)
        if not path.is_relative_to(self._home):
            return False  # a project that was copied: the sandbox is that of the original
        return path.is_dir() and not path.is_symlink() and not path.parent.is_symlink()

    def watch(self, sandbox: Sandbox, *, others_at_work: bool) -> AbstractContextManager[None]:
        """Have looking at the working copy cost what changed."""
        # Where a step is over when all its processes are, nothing keeps a file of the sandbox mapped from one
        # step to the next: the munmap that ends each map is an event, and the next map makes its own.
        return self._store.watch(self._tree(sandbox), others_at_work=others_at_work)

    def capture(self, sandbox: Sandbox, observer: Observer) -> Capture:
        """Store the working copy durably."""
        self._must_exist(sandbox)
        return self._store.capture(self._tree(sandbox), observer)

    def compare(
        self, sandbox: Sandbox, snapshot: Snapshot, leaving: frozenset[str] = frozenset()
    ) -> tuple[PathChange, ...]:
        """Return what a restore would do; touch nothing."""
        self._must_exist(sandbox)
        return self._store.compare(snapshot, replace(self._tree(sandbox), leaving=leaving))

    def restore(
        self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer, known: Snapshot | None = None
    ) -> tuple[PathChange, ...]:
        """Make the working copy exactly what the snapshot holds; idempotent."""
        self._must_exist(sandbox)
        return self._restore(sandbox, snapshot, observer)

    def same(self, sandbox: Sandbox, one: Snapshot, other: Snapshot) -> bool:
        """Files are what their bytes are."""
        return one.same_as(other)

    def trees(self, sandbox: Sandbox) -> tuple[WorkingTree, ...]:
        """The working copy's tree, and the real folder's."""
        return (self._tree(sandbox), real_tree(Path(sandbox.location), frozenset(sandbox.excluded)))

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the working copy; one that is gone already is fine."""
        remove_tree(Path(sandbox.path), self._home)
        self._store.forget_tree(self._tree(sandbox))

    def _restore(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> tuple[PathChange, ...]:
        return self._store.restore(snapshot, self._tree(sandbox), observer)

    def _tree(self, sandbox: Sandbox) -> WorkingTree:
        return _copy(sandbox)

    def _make(self, order: SandboxOrder, base: Snapshot, observer: Observer) -> Sandbox:
        sandbox = replace(
            self._sandbox(order, base), strategy=Strategy.FILESYSTEM_COPY
        )  # of one in place too
        self._store.restore(base, _copy(sandbox), observer)
        return sandbox

    def _must_exist(self, sandbox: Sandbox) -> None:
        if not self.exists(sandbox):
            raise SandboxMissing(resource=sandbox.resource, path=sandbox.path)


def _copy(sandbox: Sandbox) -> WorkingTree:
    return WorkingTree(
        path=Path(sandbox.path),
        cache_key=f"sandbox {sandbox.plan_id} {sandbox.resource}",
        excluded=frozenset(sandbox.excluded),
        real=False,
    )


def real_tree(location: Path, excluded: frozenset[str]) -> WorkingTree:
    """A user's own folder."""
    real = location.resolve()  # the user may name a folder by a symlink; below it none is followed
    return WorkingTree(path=real, cache_key=f"real {real}", excluded=excluded, real=True)
