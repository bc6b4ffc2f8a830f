"""The base of private sandboxes: only the plan works in them, and only the store knows their checkpoints."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.domain.resources.resource import ResourceType, Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId
from mulligan.errors import TargetExists
from mulligan.ports import (
    ApplyOrder,
    Composed,
    Observer,
    Publication,
    SandboxOrder,
    SnapshotStore,
    WorkingTree,
)


class Private:
    """A kind of sandbox that is the plan's alone, in which nothing is published."""

    type: ResourceType
    strategy: Strategy
    _store: SnapshotStore

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
        )

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
        tree = WorkingTree(path=target, cache_key=f"export {target}", excluded=frozenset(), real=False)
        try:
            self._store.restore(Snapshot(snapshot.roots[:1]), tree, observer)
        finally:
            self._store.forget_tree(tree)

    def publish(self, sandbox: Sandbox, publication: Publication) -> str:
        """Return the snapshot's own id: nobody else reads the store."""
        return publication.checkpoint.snapshot.id

    def republish(self, sandbox: Sandbox, publications: Sequence[Publication]) -> Mapping[CheckpointId, str]:
        """Nothing was published."""
        return {}

    def lacking(
        self, sandbox: Sandbox, snapshots: Iterable[Snapshot]
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Nothing: the store has all of it."""
        return {}

    def retire(self, sandbox: Sandbox, kept: Collection[CheckpointId]) -> None:
        """Nothing was published."""

    def recover(self, sandbox: Sandbox) -> tuple[str, ...]:
        """Nothing: there are no others."""
        return ()

    def why_not_taken(self, ours: Root, theirs: Root) -> str:
        """Return nothing: files can become any other files."""
        return ""

    def changed_by_others(
        self, sandbox: Sandbox, target: Snapshot, before: Snapshot, observer: Observer
    ) -> tuple[str, ...]:
        """Nothing: there are no others."""
        return ()

    def moved(self, real: Sandbox, one: Snapshot, other: Snapshot) -> tuple[str, ...]:
        """Nothing: there are files alone."""
        return ()

    def taken_back(
        self, real: Sandbox, present: Snapshot, written: Snapshot, before: Snapshot
    ) -> tuple[tuple[Root, ...], tuple[str, ...]]:
        """Nothing: there are files alone."""
        return (), ()
