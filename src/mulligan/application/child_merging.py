"""Brings a child plan's result into its parent's sandboxes."""

from dataclasses import dataclass

from mulligan.application.checkpoint_manager import CheckpointManager
from mulligan.application.run import Run
from mulligan.domain.json_value import JsonObject
from mulligan.domain.resource import Sandbox
from mulligan.domain.snapshot import Snapshot
from mulligan.domain.step import MergeStrategy
from mulligan.domain.subplan import Child
from mulligan.errors import NotBuiltYet
from mulligan.ports import Database, SandboxKinds, SnapshotStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A path that two sides changed, and why they do not go together."""

    resource: str
    path: str
    reason: str

    def to_json(self) -> JsonObject:
        """The same as a document."""
        return {"resource": self.resource, "path": self.path, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedChild:
    """What a merge did to the parent's sandboxes."""

    paths: int  # that it touched
    conflicts: tuple[Conflict, ...]
    notes: tuple[str, ...]  # what of the child's result was not carried over


class ChildMerging:
    """Merges children into the sandboxes of a run."""

    def __init__(
        self, *, database: Database, store: SnapshotStore, kinds: SandboxKinds, manager: CheckpointManager
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._store = store
        self._kinds = kinds
        self._manager = manager

    def merge(self, run: Run, child: Child, strategy: MergeStrategy) -> MergedChild:
        """Merge all resources of the child into the parent's sandboxes."""
        with self._database.reading() as db:
            theirs = {s.resource: s for s in db.sandboxes.list(child.plan_id)}
            group = db.checkpoints.get(child.plan.current_group_id) if child.plan.current_group_id else None
        paths = 0
        with self._store.hold():
            captures = self._manager.capture(run)
            run.still = None
            for sandbox, ours in zip(run.sandboxes, captures, strict=True):
                forked = theirs[sandbox.resource]
                if group is None:
                    result = self._kinds.of(forked).capture(forked, run.observer).snapshot
                else:
                    result = group.checkpoint_of(sandbox.resource).snapshot
                paths += self._merge_one(run, sandbox, forked.base, ours.snapshot, result)
        return MergedChild(paths=paths, conflicts=(), notes=())

    def _merge_one(self, run: Run, sandbox: Sandbox, base: Snapshot, ours: Snapshot, theirs: Snapshot) -> int:
        if theirs.id == base.id:
            return 0
        if ours.id != base.id:
            raise NotBuiltYet(feature="merging child plans that changed the same resource")
        merged = Snapshot((theirs.roots[0], *ours.roots[1:]))
        return len(self._kinds.of(sandbox).restore(sandbox, merged, run.observer))
