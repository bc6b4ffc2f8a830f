"""Takes back what was done to sandboxes and real resources, so that what others did meanwhile stays.

A plan's own copy simply goes back. A real thing may have been changed by others since: what they did is merged with
the way back, and where that cannot be, it stays as it is and is named.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

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
    RestoreFailed,
    RestoreIncomplete,
    SandboxMissing,
)
from mulligan.ports import SandboxKinds, SnapshotStore

if TYPE_CHECKING:
    from mulligan.application.apply.snapshot_merge import MergeService

_SIDES = Labels(ours="others", theirs="taking it back")
_TRIES = 5  # someone may be saving again and again


class Way(Struct, frozen=True, kw_only=True):
    """What one sandbox or real resource was, and what it was to become."""

    sandbox: Sandbox
    before: Snapshot
    written: Snapshot


def remedy_of(failure: MulliganError) -> str:
    """Say what to do about a failure that was taken back: what it says itself, if that is about its cause."""
    usual = failure.next_step == Advice(type(failure).hint)
    return "fix the cause, then try again" if usual else failure.next_step


class WayBackService(Struct, kw_only=True, frozen=True, eq=False):
    """Brings sandboxes back to what they were before something failed, was interrupted or was cut off."""

    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    find_merges: Callable[[], "MergeService"]

    def restore_or_undo(self, run: Run, group: Stored, before: Stored) -> Changes:
        """Restore the group; on any failure bring every sandbox back to `before`, so that it is all or none."""
        try:
            return self.manager.restore(run, group, before)
        except (SandboxMissing, PlanTakenOver):
            raise  # seen before anything is touched, or no longer ours to touch
        except Exception as failure:
            self.undo(run, group, before, failure)
            if isinstance(failure, RestoreFailed):
                hint = Advice("everything is as it was before; ", remedy_of(failure))
                raise RestoreFailed(hint=hint, **failure.facts) from failure
            raise

    def undo(self, run: Run, group: Stored, before: Stored, failure: Exception) -> None:
        """Bring every sandbox back from the group to what it was before something failed."""
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
        except Exception as worse:  # noqa: BLE001 - raised again as what it means: neither before nor after
            paths = ", ".join(s.path for s in run.sandboxes)
            reason = worse.text if isinstance(worse, MulliganError) else str(worse)
            raise RestoreIncomplete(path=paths, plan_id=run.plan.plan_id, reason=reason) from failure

    def take(self, run: Run, ways: Sequence[Way]) -> list[str]:
        """Go back all these ways; return, in words, what of others is left as it is.

        `run` is over the sandboxes of the ways. Someone who saves meanwhile makes it start again.
        """
        self.manager.require(run.sandboxes)
        for attempt in range(1, _TRIES + 1):
            try:
                return self._take_once(run, ways)
            except ChangedMeanwhile:
                if attempt == _TRIES:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _take_once(self, run: Run, ways: Sequence[Way]) -> list[str]:
        targets: dict[str, Snapshot] = {}
        present: dict[str, Snapshot] = {}
        told: list[str] = []
        with self.store.hold():
            for way in ways:
                resource = way.sandbox.resource
                if way.sandbox.strategy is not Strategy.IN_PLACE:
                    targets[resource] = present[resource] = way.before
                    continue
                found = self.kinds.of(way.sandbox).recover(way.sandbox)
                told += [f"{path} was saved by others meanwhile and is kept" for path in found]
                present[resource] = self._present(run, way.sandbox)
                targets[resource], left = self._target(way, present[resource])
                told += [f"{path} was changed by others meanwhile and is left as it is" for path in left]
            self.manager.restore(run, Snapshots(targets), Snapshots(present))
        return told

    def target(self, run: Run, way: Way) -> tuple[Snapshot, tuple[str, ...]]:
        """What a real resource is to become when a change is taken back, and what of others stays as it is."""
        return self._target(way, self._present(run, way.sandbox))

    def _present(self, run: Run, sandbox: Sandbox) -> Snapshot:
        return self.kinds.of(sandbox).capture(sandbox, run.observer).snapshot

    def _target(self, way: Way, present: Snapshot) -> tuple[Snapshot, tuple[str, ...]]:
        sandbox = way.sandbox
        kind = self.kinds.of(sandbox)
        if sandbox.type.traits.merged_by is MergeUnit.WHOLE:
            known = (way.before, way.written)
            # Bytes first: to compare contents copies are needed, for which a full disk has no room.
            if any(map(present.same_as, known)) or any(kind.same(sandbox, present, s) for s in known):
                return way.before, ()
            gone = self.store.difference(way.before.roots[0], present.roots[0])
            if all(each.new is None for each in gone):
                return way.before, ()  # it was cut off between the old file and the new one
            return present, (sandbox.path,)
        files, left = self._files_back(way, present)
        if files.id == way.before.roots[0].id:
            files = way.before.roots[0]  # with all its times
        besides, moved = kind.taken_back(sandbox, present, way.written, way.before)
        return Snapshot((files, *besides)), (*(f"{sandbox.path}/{path}" for path in left), *moved)

    def _files_back(self, way: Way, present: Snapshot) -> tuple[Root, list[str]]:
        """The files without the change: what others did since stays, and where that cannot be, so does all of it."""
        from mulligan.application.apply.snapshot_merge import (  # here: seldom needed, and large
            MergeRules,
            OnOverlap,
        )

        before, written, here = (s.roots[0] for s in (way.before, way.written, present))
        edits = left_halfway(self.store.difference(before, here), self.store.difference(written, here))
        if edits:
            here = self.store.graft(here, edits, 0)
        rules = MergeRules(names=_SIDES, on_overlap=OnOverlap.STOP, included=None)
        merged = self.find_merges().merge(written, here, before, rules)
        return merged.files, [conflict.path for conflict in merged.conflicts]
