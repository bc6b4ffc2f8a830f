"""Merges a child plan's result into its parent's sandboxes."""

from collections.abc import Mapping

from msgspec import Struct

from mulligan.application.apply.snapshot_merge import (
    MergeRules,
    MergeService,
    OnOverlap,
    Sides,
    Whole,
    side_to_take,
)
from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.plan import Conflict
from mulligan.domain.plans.step import MergeStrategy
from mulligan.domain.plans.subplan import Child
from mulligan.domain.resources.resource import MergeUnit, Sandbox
from mulligan.domain.trees.real_change import Snapshots
from mulligan.domain.trees.text_merge import Labels
from mulligan.errors import ChangedMeanwhile
from mulligan.ports import SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_ON_OVERLAP = {
    MergeStrategy.THREE_WAY: OnOverlap.MARK,
    MergeStrategy.SEQUENTIAL_APPLY: OnOverlap.MARK,
    MergeStrategy.FAIL_ON_CONFLICT: OnOverlap.STOP,
    MergeStrategy.LAST_WINS: OnOverlap.TAKE_THEIRS,
    MergeStrategy.PICK: OnOverlap.MARK,
}
_TRIES = 5  # a merge is repeated when others changed the folder in the meantime
_GIT_REFS = ("HEAD", "packed-refs", "refs/")  # paths of a git directory that refer to commits


class MergedChild(Struct, frozen=True, kw_only=True):
    """The effect of a merge on the parent's sandboxes."""

    paths: int  # number of changed paths
    conflicts: tuple[Conflict, ...]
    notes: tuple[str, ...]  # parts of the child's result that are not merged


class _Result(Struct, frozen=True, kw_only=True):
    """The merged contents of a sandbox, and the conflicts."""

    snapshot: Snapshot
    conflicts: tuple[Conflict, ...]


class _Sides(Sides, frozen=True, kw_only=True):
    """The versions of one resource in both plans."""

    sandbox: Sandbox  # the parent's
    untouched: bool  # the parent has what its children were forked from


class ChildMerging(Struct, kw_only=True, frozen=True, eq=False):
    """Merges children into the sandboxes of a run."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    merges: MergeService

    def merge(self, run: Run, child: Child, strategy: MergeStrategy) -> MergedChild:
        """Merge all resources of the child. If conflicts are to fail, nothing changes where there are any.

        A resume discards what a crash leaves half merged, like everything a step did.
        """
        rules = MergeRules(
            names=Labels(run.plan.name, child.name),
            on_overlap=_ON_OVERLAP[strategy],
            included=None,  # a repository inside a sandbox belongs to the plan
            hidden=run.plan.hidden,  # the child's caches are of its own files
        )
        picks = strategy is MergeStrategy.PICK
        with self.store.hold():
            theirs, began = self.result_of(run, child), self._beginning(run)
            for _ in range(_TRIES):
                captures = self.manager.capture(run)
                sides = [
                    _Sides(
                        sandbox=sandbox,
                        base=theirs[sandbox.resource][0],
                        ours=capture.snapshot,
                        theirs=theirs[sandbox.resource][1],
                        untouched=began is not None
                        and began.snapshot_of(sandbox.resource) == capture.snapshot,
                    )
                    for sandbox, capture in zip(run.sandboxes, captures, strict=True)
                ]
                merge = self._picked if picks else self._merged
                results = {each.sandbox.resource: merge(each, rules) for each in sides}
                if not run.in_place or self.manager.capture(run) == captures:
                    break
            else:
                raise ChangedMeanwhile(
                    plan_id=run.plan.plan_id, paths=", ".join(s.path for s in run.sandboxes)
                )
            conflicts = tuple(c for result in results.values() for c in result.conflicts)
            if conflicts and rules.on_overlap is OnOverlap.STOP:
                return MergedChild(paths=0, conflicts=conflicts, notes=())
            ours = Snapshots({each.sandbox.resource: each.ours for each in sides})
            merged = Snapshots({name: result.snapshot for name, result in results.items()})
            changes = self.manager.restore(run, merged, ours)
            merged_only = [each for each in sides if not (picks and each.untouched)]
            notes = tuple(note for each in merged_only for note in self._not_carried_over(each))
        return MergedChild(paths=sum(map(len, changes.values())), conflicts=conflicts, notes=notes)

    def _beginning(self, run: Run) -> CheckpointGroup | None:
        """Return the group with what the parent started with."""
        with self.database.reading() as db:
            return db.checkpoints.first(run.plan.plan_id)

    def result_of(self, run: Run, child: Child) -> Mapping[str, tuple[Snapshot, Snapshot]]:
        """Return the contents of each of the child's sandboxes when it was forked, and now."""
        with self.database.reading() as db:
            sandboxes = db.sandboxes.list(child.plan_id)
            group = db.checkpoints.get(child.plan.current_group_id) if child.plan.current_group_id else None
            first = db.checkpoints.first(child.plan_id)
        if (
            group is not None and first is not None and not sandboxes
        ):  # a variant, whose sandboxes are given back
            names = [checkpoint.resource for checkpoint in group.checkpoints]
            return {name: (first.snapshot_of(name), group.snapshot_of(name)) for name in names}
        if group is not None:
            return {s.resource: (s.base, group.checkpoint_of(s.resource).snapshot) for s in sandboxes}
        self.manager.require(sandboxes)  # no checkpoints: its result is only in its sandboxes
        return {s.resource: (s.base, self.kinds.of(s).capture(s, run.observer).snapshot) for s in sandboxes}

    def _picked(self, sides: _Sides, rules: MergeRules) -> _Result:
        """Return the child's own result, whole; merged with what was edited in the parent since, if anything was."""
        if sides.untouched:
            return _Result(snapshot=sides.theirs, conflicts=())
        return self._merged(sides, rules)

    def _merged(self, sides: _Sides, rules: MergeRules) -> _Result:
        if sides.sandbox.type.traits.merged_by is MergeUnit.WHOLE:
            return self._merged_whole(sides, rules)
        merged = self.merges.merge(sides.base.roots[0], sides.ours.roots[0], sides.theirs.roots[0], rules)
        return _Result(
            snapshot=Snapshot((merged.files, *sides.ours.roots[1:])),
            conflicts=tuple(
                Conflict(resource=sides.sandbox.resource, path=c.path, reason=c.reason)
                for c in merged.conflicts
            ),
        )

    def _merged_whole(self, sides: _Sides, rules: MergeRules) -> _Result:
        sandbox = sides.sandbox
        side = side_to_take(self.kinds.of(sandbox), sandbox, sides)
        if side is Whole.NEITHER and rules.on_overlap is OnOverlap.TAKE_THEIRS:
            side = Whole.THEIRS
        if side is not Whole.NEITHER:
            return _Result(snapshot=sides.ours if side is Whole.OURS else sides.theirs, conflicts=())
        names, noun = rules.names, sandbox.type.traits.noun
        conflict = Conflict(
            resource=sandbox.resource,
            path=sandbox.path.rpartition("/")[2],
            reason=f"a {noun} that {names.ours} and {names.theirs} changed differently",
        )
        return _Result(snapshot=sides.ours, conflicts=(conflict,))

    def _not_carried_over(self, sides: _Sides) -> list[str]:
        """Report git operations of a child that its files do not show."""
        if len(sides.base.roots) < 2 or len(sides.theirs.roots) < 2:
            return []
        moved = [
            difference.path
            for difference in self.store.difference(sides.base.roots[1], sides.theirs.roots[1])
            if difference.of_files and difference.path.startswith(_GIT_REFS)
        ]
        note = f"{sides.sandbox.resource}: only files are merged; its git refs stay in its own sandbox"
        return [f"{note}: {', '.join(moved)}"] if moved else []
