"""Brings stored snapshots into the real resources of a plan, all or none.

Everything is computed and stored before. What is to be done is recorded as an intent, with what was there and
what is to be there; then the real things are restored to it, as a rollback in place restores them. Whatever
stops that, a failure, a signal or the death of the process, every resource is put back, but for paths that
someone else changed in the meantime: those are left alone and named.
"""

import posixpath
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.plans.real_places import refuse_taken, refuse_under_way
from mulligan.application.rollback.way_back import Way, WayBackService
from mulligan.application.runs.recorder import Recorder
from mulligan.application.runs.run import Entry, Run
from mulligan.boundaries import act
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import Intent, IntentKind
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.resources.resource import Sandbox
from mulligan.domain.text.ids import IntentId
from mulligan.domain.trees.real_change import RealChange, Snapshots
from mulligan.errors import ChangedMeanwhile, MulliganError, PlanTakenOver, RestoreIncomplete
from mulligan.ports import Clock, Database, Ids, SandboxKinds, SnapshotStore, Transaction


class RealChangeService:
    """Changes real resources under an intent, and takes that back."""

    def __init__(
        self,
        *,
        database: Database,
        store: SnapshotStore,
        kinds: SandboxKinds,
        manager: CheckpointManager,
        ways: WayBackService,
        recorder: Recorder,
        ids: Ids,
        clock: Clock,
    ) -> None:
        """Use these collaborators."""
        self._database = database
        self._store = store
        self._kinds = kinds
        self._manager = manager
        self._ways = ways
        self._recorder = recorder
        self._ids = ids
        self._clock = clock

    def begin(self, run: Run, kind: IntentKind, reals: Sequence[Sandbox]) -> Intent:
        """Record that real resources are about to change, where nobody else is at work on them."""
        now = self._clock.now()
        locations = [real.path for real in reals]
        intent = Intent(
            intent_id=IntentId(self._ids.new()),
            plan_id=run.plan.plan_id,
            kind=kind,
            data={"locations": list(locations)},
            created_at=now,
        )
        plan = run.plan.moved_to(Phase.APPLY, State.PROCESSING, now) if kind is IntentKind.APPLY else run.plan
        with act("apply.intend"), self._database.writing_as(run.claim) as db:
            for location in locations:
                refuse_taken(db, run.plan.plan_id, location)
                refuse_under_way(db, run.plan.plan_id, location)
            db.plans.save(plan)
            db.intents.add(intent)
            events = self._recorder.write(db, plan, run.pending)
        run.plan, run.pending = plan, []
        self._recorder.show(run, events)
        return intent

    def ready(self, run: Run, changes: Sequence[RealChange]) -> None:
        """Record what was there and what is to be there: from here on what was begun is put back, not dropped."""
        with act("apply.ready"), self._database.writing_as(run.claim) as db:
            for change in changes:
                db.real_changes.add(change)

    def carry_out(self, run: Run, intent: Intent, changes: Sequence[RealChange]) -> Changes:
        """Make the real resources what was recorded.

        Where someone changed them since they were kept, the intent is dropped, and nothing was touched.
        """
        with self._store.hold():
            others = [path for change in changes for path in self._changed(run, change)]
        if others:
            self._drop(run, intent, ())
            hint = "nothing was touched; run the command again"
            raise ChangedMeanwhile(plan_id=run.plan.plan_id, paths=", ".join(others), hint=hint)
        written = Snapshots({change.real.resource: change.written for change in changes})
        before = Snapshots({change.real.resource: change.before for change in changes})
        return self._manager.restore(over(run, [change.real for change in changes]), written, before)

    def settle(
        self, run: Run, intent: Intent, plan: Plan, entry: Entry, also: Callable[[Transaction], None]
    ) -> None:
        """Record that it is done; `also` writes what else changes with it."""
        with act("apply.settle"), self._database.writing_as(run.claim) as db:
            also(db)
            db.intents.close(intent.intent_id)
            db.plans.save(plan)
            events = self._recorder.write(db, plan, [*run.pending, entry])
        run.plan, run.pending = plan, []
        self._recorder.show(run, events)

    def take_back(self, run: Run, intent: Intent) -> None:
        """Put every real resource back to what it was when the intent was recorded, and close that.

        RestoreIncomplete where that cannot be done now: whoever claims the plan next tries again.
        """
        with self._database.reading() as db:
            if all(each.intent_id != intent.intent_id for each in db.intents.list(run.plan.plan_id)):
                return  # it was settled: a signal came after that
            changes = [c for c in db.real_changes.list(run.plan.plan_id) if c.act is intent.kind]
        told: list[str] = []
        try:
            if changes:
                told = self._ways.take(over(run, [c.real for c in changes]), [_way(c) for c in changes])
        except PlanTakenOver:
            raise
        except Exception as exc:
            paths = ", ".join(change.real.path for change in changes)
            reason = exc.text if isinstance(exc, MulliganError) else str(exc)
            raise RestoreIncomplete(path=paths, plan_id=run.plan.plan_id, reason=reason) from exc
        self._drop(run, intent, told)

    def finish(self, run: Run, intent: Intent) -> None:
        """Take back what a process that died had begun, and tell so."""
        with self._database.reading() as db:
            began = any(c.act is intent.kind for c in db.real_changes.list(run.plan.plan_id))
        self.take_back(run, intent)
        if began:
            run.told.append(f"an {intent.kind.value} that was cut off was taken back")

    def way_back(self, run: Run, change: RealChange) -> Snapshot:
        """What a real resource is to become when a change is taken back; what others did since stays."""
        return self._ways.target(run, _way(change))[0]

    def _changed(self, run: Run, change: RealChange) -> list[str]:
        """Where a real resource is not what it was when it was kept."""
        kind = self._kinds.of(change.real)
        present = kind.capture(change.real, run.observer).snapshot
        path = change.real.path
        folder = posixpath.dirname(path) if change.real.type.traits.is_file else path
        files = self._store.difference(change.before.roots[0], present.roots[0])
        moved = kind.moved(change.real, change.before, present)
        return [*(posixpath.join(folder, d.path) for d in files), *moved]

    def _drop(self, run: Run, intent: Intent, told: Sequence[str]) -> None:
        now = self._clock.now()
        entries = [Entry(type=EventType.MESSAGE, data={"message": text}, at=now) for text in told]
        with act("apply.drop"), self._database.writing_as(run.claim) as db:
            plan = db.plans.get(run.plan.plan_id)
            if intent.kind is IntentKind.APPLY and plan.state is State.PROCESSING:
                plan = plan.moved_to(Phase.EXECUTE, State.COMPLETE, now)
                db.plans.save(plan)
            db.real_changes.remove(plan.plan_id, intent.kind)
            db.intents.close(intent.intent_id)
            events = self._recorder.write(db, plan, [*run.pending, *entries])
        run.plan, run.pending = plan, []
        run.told += told
        self._recorder.show(run, events)


def over(run: Run, reals: Sequence[Sandbox]) -> Run:
    """The same run over the real resources."""
    return replace(run, sandboxes=tuple(reals), pending=[], added_bytes={}, still=None)


def _way(change: RealChange) -> Way:
    return Way(sandbox=change.real, before=change.before, written=change.written)
