"""The base of private sandboxes: only the plan works in them, and only the store knows their checkpoints."""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from mulligan.adapters.sandboxes.parked_trees import ParkedTrees
from mulligan.adapters.sandboxes.removal import is_plainly_in, remove_tree
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.domain.resources.placement import folder_name
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.trees.tree_difference import StoredContent
from mulligan.errors import SandboxMissing, TargetExists
from mulligan.ports import (
    ApplyOrder,
    Composed,
    Observer,
    Publication,
    SandboxOrder,
    SnapshotStore,
    WorkingTree,
)


class Workplace(Struct, frozen=True, eq=False, kw_only=True):
    """The store and the folders that sandboxes of all kinds work with."""

    store: SnapshotStore
    home: Path  # the folder for sandboxes
    project: Path  # the project folder, which every resource lies in
    project_home: Path  # neither this nor the next is a resource of any plan
    user_home: Path
    pool: Callable[[], int]  # parked trees to keep for one resource

    @property
    def parked(self) -> ParkedTrees:
        """The working copies of plans that are over."""
        return ParkedTrees(home=self.home, store=self.store, limit=self.pool)

    @contextmanager
    def workshop(self, plan_id: PlanId, resource: str) -> Generator[Path]:
        """Yield an empty private folder beside a sandbox; one that a killed process left is removed first."""
        shop = self.home / plan_id / f".work-{folder_name(resource)}"
        make_private(shop.parent)
        remove_tree(shop, self.home)
        shop.mkdir(mode=0o700)
        try:
            yield shop
        finally:
            remove_tree(shop, self.home)


class Private:
    """A kind of sandbox that is the plan's alone, in which nothing is published and nobody else works."""

    type: ResourceType
    strategy: Strategy

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._store = place.store
        self._home = place.home

    def _sandbox(self, order: SandboxOrder, base: Snapshot) -> Sandbox:
        """Return the sandbox of an order, without what only some kinds have."""
        return Sandbox(
            plan_id=order.plan_id,
            resource=order.resource.name,
            type=self.type,
            strategy=self.strategy,
            location=str(order.location),
            path=str(order.path),
            base=base,
            excluded=tuple(sorted(order.excluded)),
            branch=None,
            git_dir=None,
            patterns=order.patterns,
        )

    def exists(self, sandbox: Sandbox) -> bool:
        """Return whether the sandbox's folder exists, without a symlink in its place or in that of the plan's."""
        path, folder = Path(sandbox.path), self._folder(sandbox)
        if not (path.is_relative_to(folder) and is_plainly_in(folder, self._home)):
            return False  # such as in a project that was copied: the sandbox is that of the original
        return (
            ".." not in path.parts
            and folder.is_dir()
            and not folder.is_symlink()
            and not folder.parent.is_symlink()
        )

    def _folder(self, sandbox: Sandbox) -> Path:
        return Path(sandbox.path)

    def _must_exist(self, sandbox: Sandbox) -> None:
        if not self.exists(sandbox):
            raise SandboxMissing(resource=sandbox.resource, path=sandbox.path)

    def branch_of(self, real: Sandbox) -> str | None:
        return None

    def branch_in(self, snapshot: Snapshot) -> str | None:
        return None

    def move_between(self, one: Snapshot, other: Snapshot) -> str:
        return ""

    def refuse_apply(self, real: Sandbox, *, commit: bool) -> None:
        """Refuse nothing: any files can take changes."""

    def compose(self, order: ApplyOrder) -> Composed:
        """Return the merged files; other roots stay what they are."""
        snapshot = Snapshot((order.files, *order.ours.roots[1:]))
        return Composed(snapshot=snapshot, commit=None, uncommitted=(), notes=())

    def export(self, snapshot: Snapshot, target: Path, observer: Observer) -> None:
        """Write the files; refuse a target that exists already, if only as a dangling symlink."""
        if target.exists() or target.is_symlink():
            raise TargetExists(path=str(target))
        tree = own_tree(target)
        try:
            self._store.restore(Snapshot(snapshot.roots[:1]), tree, observer)
        finally:
            self._store.forget_tree(tree)

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        return publication.checkpoint.snapshot.id

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        return {}

    def borrow_again(self, sandbox: Sandbox) -> None:
        """Do nothing: nothing is borrowed."""

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        return {}

    def holding(
        self, snapshots: Iterable[Snapshot], contents: Iterable[StoredContent]
    ) -> tuple[Snapshot, ...]:
        return ()

    def pin_again(self, sandbox: Sandbox, snapshots: Iterable[Snapshot]) -> None:
        """Do nothing: snapshots hold all that they need."""

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Do nothing: nothing was published."""

    def give_git_directory(self, sandbox: Sandbox) -> None:
        """Do nothing: it has none."""

    def carry_over(self, source: Path, sandbox: Sandbox) -> None:
        """Do nothing: all of it belongs to its snapshots."""

    def lenders(self, sandbox: Sandbox) -> Sequence[tuple[str, str]]:
        return ()

    def recover(self, sandbox: Sandbox) -> tuple[str, ...]:
        return ()

    def why_not_taken(self, ours: Root, theirs: Root) -> str:
        return ""

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        return ()

    def moved(self, real: Sandbox, one: Snapshot, other: Snapshot) -> tuple[str, ...]:
        return ()

    def changed_where(
        self, real: Sandbox, before: Snapshot, written: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        return ()

    def taken_back(
        self, real: Sandbox, present: Snapshot, written: Snapshot, before: Snapshot
    ) -> tuple[tuple[Root, ...], tuple[str, ...]]:
        return (), ()

    def committed(self, real: Sandbox, before: Snapshot, after: Snapshot) -> Collection[str] | None:
        return None


def work_folder(shop: Path, name: str) -> WorkingTree:
    """Make an empty folder for work in progress."""
    path = shop / name
    path.mkdir(mode=0o700)
    return own_tree(path)


def own_tree(path: Path) -> WorkingTree:
    """Return a folder of ours for work in progress, to be captured from or restored into."""
    return WorkingTree(path=path, cache_key=f"work {path}", excluded=frozenset(), real=False)


def make_private(folder: Path) -> None:
    """Make a folder, and what is missing above it, that only the user may enter."""
    if not folder.is_dir():
        make_private(folder.parent)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
