"""Takes changes of sandboxes and real resources back, and keeps what others changed in the meantime.

A plan's own copy is simply restored. In a real resource, later changes by others are merged with the old contents;
paths that cannot be merged stay as they are and are reported.
"""

from collections.abc import Sequence

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager, Stored
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.snapshot import Root, Snapshot
from mulligan.domain.resources.resource import MergeUnit, Sandbox, Strategy
from mulligan.domain.trees.real_change import Snapshots, left_halfway
from mulligan.domain.trees.text_merge import Labels
from mulligan.errors import (
    Advice,
    ChangedMeanwhile,
    MulliganError,
    PlanTakenOver,
    RemoteMoved,
    RestoreFailed,
    RestoreIncomplete,
    SandboxMissing,
)
from mulligan.ports import Clock, SandboxKinds, SnapshotStore

_SIDES = Labels(ours="others", theirs="taking it back")
_TRIES = 5  # others may be saving repeatedly


class Way(Struct, frozen=True, kw_only=True):
    """The old and the new contents of one sandbox or real resource."""

    sandbox: Sandbox
    before: Snapshot
    written: Snapshot


def remedy_of(failure: MulliganError) -> str:
    """Return the advice for a failure that was taken back: its own, if that is about its cause."""
    usual = failure.next_step == Advice(type(failure).hint)
    return "fix the cause, then try again" if usual else failure.next_step


class WayBackService(Struct, kw_only=True, frozen=True, eq=False):
    """Brings sandboxes back to their contents before a change that failed or was interrupted."""

    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    clock: Clock

    def restore_or_undo(self, run: Run, group: Stored, before: Stored) -> Changes:
        """Restore the group; on any failure bring every sandbox back to `before`."""
        try:
            return self.manager.restore(run, group, before)
        except (SandboxMissing, PlanTakenOver):
            raise  # found before anything changed, or no longer ours to change
        except Exception as failure:
            self.undo(run, group, before, failure)
            if isinstance(failure, RestoreFailed):
                hint = Advice("everything is as it was before; ", remedy_of(failure))
                raise RestoreFailed(hint=hint, **failure.facts) from failure
            raise

    def undo(self, run: Run, group: Stored, before: Stored, failure: Exception) -> None:
        """Bring every sandbox back from the group to `before`."""
        ways = [
            Way(
                sandbox=sandbox,
                before=before.snapshot_of(sandbox.resource),
                written=group.snapshot_of(sandbox.resource),
            )
            for sandbox in run.sandboxes
        ]
        try:
            run.inform(*self.take(run, ways))
        except PlanTakenOver:
            raise
        except Exception as worse:  # noqa: BLE001 - raised again as what it means: partly restored
            paths = ", ".join(s.path for s in run.sandboxes)
            reason = worse.text if isinstance(worse, MulliganError) else str(worse)
            raise RestoreIncomplete(path=paths, plan_id=run.plan.plan_id, reason=reason) from failure

    def take(self, run: Run, ways: Sequence[Way]) -> list[str]:
        """Take all these changes back; return messages about changes of others that are kept.

        `run` is over the sandboxes of the ways. It starts again when someone saves in the meantime.
        """
        self.manager.require(run.sandboxes)
        for attempt in range(1, _TRIES + 1):
            try:
                return self._take_once(run, ways)
            except (ChangedMeanwhile, RemoteMoved):
                if attempt == _TRIES:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _take_once(self, run: Run, ways: Sequence[Way]) -> list[str]:
        targets: dict[str, Snapshot] = {}
        present: dict[str, Snapshot] = {}
        messages: list[str] = []
        with self.store.hold():
            for way in ways:
                resource = way.sandbox.resource
                if way.sandbox.strategy is not Strategy.IN_PLACE:
                    targets[resource] = present[resource] = way.before
                    continue
                found = self.kinds.of(way.sandbox).recover(way.sandbox)
                messages += [f"{path} was saved by others in the meantime and is kept" for path in found]
                present[resource] = self._present(run, way.sandbox)
                targets[resource], left = self._target(way, present[resource])
                messages += [
                    f"{path} was changed by others in the meantime and is left as it is" for path in left
                ]
            # Others may be writing other files all the time.
            self.manager.restore(run, Snapshots(targets), Snapshots(present), spare=True)
        return messages

    def target(self, run: Run, way: Way) -> tuple[Snapshot, tuple[str, ...]]:
        """Return a real resource as it will be without the change, and the paths that keep changes of others."""
        return self._target(way, self._present(run, way.sandbox))

    def _present(self, run: Run, sandbox: Sandbox) -> Snapshot:
        return self.kinds.of(sandbox).capture(sandbox, run.observer).snapshot

    def _target(self, way: Way, present: Snapshot) -> tuple[Snapshot, tuple[str, ...]]:
        sandbox = way.sandbox
        kind = self.kinds.of(sandbox)
        if sandbox.type.traits.merged_by is MergeUnit.WHOLE:
            known = (way.before, way.written)
            # Bytes first: comparing contents needs copies, for which a full disk has no room.
            if any(map(present.same_as, known)) or any(kind.same(sandbox, present, s) for s in known):
                return way.before, ()
            gone = self.store.difference(way.before.roots[0], present.roots[0])
            if all(each.new is None for each in gone):
                return way.before, ()  # interrupted between the removal of the old file and the new one
            return present, (sandbox.path,)
        files, left = self._files_back(way, present)
        if files.id == way.before.roots[0].id:
            files = way.before.roots[0]  # with all its times
        other_roots, moved = kind.taken_back(sandbox, present, way.written, way.before)
        return Snapshot((files, *other_roots)), (*(f"{sandbox.path}/{path}" for path in left), *moved)

    def _files_back(self, way: Way, present: Snapshot) -> tuple[Root, list[str]]:
        """Return the files without the change, merged with later changes by others, and the conflicting paths."""
        # Here, because it is seldom needed and large.
        from mulligan.application.apply.snapshot_merge import MergeRules, MergeService, OnOverlap

        before, written, here = (s.roots[0] for s in (way.before, way.written, present))
        edits = left_halfway(self.store.difference(before, here), self.store.difference(written, here))
        if edits:
            here = self.store.graft(here, edits, 0)
        rules = MergeRules(names=_SIDES, on_overlap=OnOverlap.STOP, included=None)
        merged = MergeService(store=self.store, clock=self.clock).merge(written, here, before, rules)
        return merged.files, [conflict.path for conflict in merged.conflicts]
