"""Checkpoints used by hand: take one, verify them, export their files."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import (
    not_ready,
    refuse_ended,
    refuse_newer,
    refuse_without_checkpoints,
)
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, FoundCheckpoint
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Damage
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.tool import CallStatus
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import CheckpointId, PlanId
from mulligan.domain.text.names import label_problem
from mulligan.errors import Advice, NextStep, RestoreFailed, TargetExists, UsageWrong
from mulligan.ports import Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class DamagedCheckpoint(Struct, frozen=True, kw_only=True):
    """A checkpoint that cannot be restored, and the reasons."""

    checkpoint_id: CheckpointId
    plan_id: PlanId
    resource: str
    problems: tuple[str, ...]


class Verification(Struct, frozen=True, kw_only=True):
    """The result of a verification."""

    checked: int
    quick: bool
    damaged: tuple[DamagedCheckpoint, ...]


class ExportedFolder(Struct, frozen=True, kw_only=True):
    """A checkpoint's files in a new folder."""

    checkpoint_id: CheckpointId
    resource: str
    path: str


class Taken(Struct, frozen=True, kw_only=True):
    """A group that was taken by hand, with messages for the user."""

    group: CheckpointGroup
    messages: tuple[str, ...]


class CheckpointLibrary(Struct, kw_only=True, frozen=True, eq=False):
    """The operations of a user on checkpoints."""

    database: Database
    claims: PlanClaims
    checkpoints: CheckpointService
    store: SnapshotStore
    kinds: SandboxKinds
    discard: Callable[[Path], None]

    def create(self, plan_id: PlanId, label: str, observer: Observer) -> Taken:
        """Take a labelled group of a plan that no process works on."""
        problem = label_problem(label)
        if problem:
            raise UsageWrong(reason=f"the label {label!r} {problem}", hint="choose another label")
        with self.claims.open(plan_id, observer) as run:
            refuse_ended(run.plan, run.sandboxes)
            with self.database.reading() as db:
                refuse_newer(db, run.plan, run.sandboxes)
            refuse_without_checkpoints(run.plan)
            if not run.sandboxes:
                hint = Advice("execute it first: ", NextStep("execute", plan=plan_id))
                raise not_ready(run.plan, "it has no sandboxes", hint)
            reason = reason_for(CheckpointType.MANUAL, {}, between_steps=not self._interrupted(run))
            group = self.checkpoints.create_checkpoint(run, replace(reason, label=label))
            with self.database.reading() as db:
                alone = db.checkpoints.count_labelled(plan_id, label) == 1
            if not alone:
                run.inform(f"{label!r} is the label of another checkpoint too: name each by its number")
            return Taken(group=group, messages=tuple(run.messages))

    def verify(self, found: FoundCheckpoint | None, *, quick: bool, observer: Observer) -> Verification:
        """Read and hash the stored bytes of one checkpoint or of all; `quick` checks presence and structure only."""
        with self.store.hold():  # what is pruned meanwhile is not swept before it is verified
            groups = [self._still_there(found)] if found else self._all_groups()
            wanted = [
                (group, checkpoint)
                for group in groups
                for checkpoint in group.checkpoints
                if found is None or found.checkpoint in (None, checkpoint)
            ]
            snapshots = [checkpoint.snapshot for _, checkpoint in wanted]
            hurt = {**self.store.verify(snapshots, quick=quick, observer=observer)}
            whole = [(group, checkpoint) for group, checkpoint in wanted if checkpoint.snapshot not in hurt]
            hurt |= self._lacking(whole)
        damaged = tuple(
            DamagedCheckpoint(
                checkpoint_id=checkpoint.checkpoint_id,
                plan_id=group.plan_id,
                resource=checkpoint.resource,
                problems=tuple(f"{d.object}: {d.reason}" for d in hurt[checkpoint.snapshot]),
            )
            for group, checkpoint in wanted
            if checkpoint.snapshot in hurt
        )
        return Verification(checked=len(wanted), quick=quick, damaged=damaged)

    def export(self, found: FoundCheckpoint, target: Path, observer: Observer) -> Sequence[ExportedFolder]:
        """Write a checkpoint's files into a new folder, for a group one folder per resource, all or none."""
        if target.exists() or target.is_symlink():
            raise TargetExists(path=str(target))
        with self.database.reading() as db:
            plan = db.plans.get(found.group.plan_id)
        if found.checkpoint is not None:
            places: Mapping[Path, Checkpoint] = {target: found.checkpoint}
        else:
            places = {target / c.resource: c for c in found.group.checkpoints}
        with self._none_if_cut_off(target), self.store.hold():
            self._still_there(found)
            for place, checkpoint in places.items():
                kind = self.kinds.choose(plan.definition.resource(checkpoint.resource), Strategy.AUTO)
                kind.export(checkpoint.snapshot, place, observer)
        return [
            ExportedFolder(checkpoint_id=c.checkpoint_id, resource=c.resource, path=str(place))
            for place, c in places.items()
        ]

    @contextmanager
    def _none_if_cut_off(self, target: Path) -> Generator[None]:
        """Remove an incomplete new folder, so that the same command can be run again."""
        try:
            yield
        except TargetExists:
            raise  # another process created it just now
        except BaseException as exc:
            self.discard(target)
            if isinstance(exc, RestoreFailed):
                hint = f"nothing was left at {target}; fix the cause, then try again"
                raise RestoreFailed(hint=hint, **exc.facts) from exc
            raise

    def _interrupted(self, run: Run) -> bool:
        """Return whether the sandboxes may contain the remains of an interrupted step."""
        plan_id = run.plan.plan_id
        with self.database.reading() as db:
            resting_place = db.checkpoints.newest_between_steps(plan_id)
            calls = db.tool_calls.list(plan_id)
        since = resting_place.seq if resting_place else 0
        return run.plan.state is State.PROCESSING or any(
            c.status is CallStatus.INTERRUPTED and not c.superseded and c.seq > since for c in calls
        )

    def _lacking(
        self, wanted: Sequence[tuple[CheckpointGroup, Checkpoint]]
    ) -> dict[Snapshot, tuple[Damage, ...]]:
        """Find what snapshots need outside the store, for plans that still have sandboxes on this machine."""
        found: dict[Snapshot, tuple[Damage, ...]] = {}
        with self.database.reading() as db:
            sandboxes = [s for p in {group.plan_id for group, _ in wanted} for s in db.sandboxes.here_of(p)]
        for sandbox in sandboxes:
            snapshots = dict.fromkeys(
                checkpoint.snapshot
                for group, checkpoint in wanted
                if (group.plan_id, checkpoint.resource) == (sandbox.plan_id, sandbox.resource)
            )
            found |= self.kinds.of(sandbox).lacking(sandbox, snapshots)
        return found

    def _still_there(self, found: FoundCheckpoint) -> CheckpointGroup:
        """Read the group again: it may have been pruned since it was found."""
        with self.database.reading() as db:
            return db.checkpoints.get(found.group.group_id)

    def _all_groups(self) -> list[CheckpointGroup]:
        with self.database.reading() as db:
            return [g for p in db.plans.list(None) for g in db.checkpoints.list(p.plan_id, superseded=True)]
