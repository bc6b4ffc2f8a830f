"""Brings stored snapshots into the real resources of a plan, all or none.

Everything is computed and stored before. What is to be done is recorded as an intent, with what was there and
what is to be there; then the real things are restored to it, as a rollback in place restores them. Whatever
stops that, a failure, a signal or the death of the process, every resource is put back, but for paths that
someone else changed in the meantime: those are left alone and named.
"""

import posixpath
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import Changes, CheckpointManager
from mulligan.application.plans.guards import refuse_taken, refuse_under_way
from mulligan.application.rollback.way_back import Way, WayBackService, remedy_of
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.intent import ApplyWork, Intent, UnapplyWork
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.ids import IntentId
from mulligan.domain.trees.real_change import RealChange, Snapshots
from mulligan.errors import (
    ChangedMeanwhile,
    Interrupted,
    MulliganError,
    PlanTakenOver,
    RestoreFailed,
    RestoreIncomplete,
    SystemFailed,
)
from mulligan.ports import Clock, Ids, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class RealChangeService(Struct, kw_only=True, frozen=True, eq=False):
    """Changes real resources under an intent, and takes that back."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    manager: CheckpointManager
    ways: WayBackService
    ids: Ids
    clock: Clock

    def begin(self, run: Run, work: ApplyWork | UnapplyWork) -> Intent:
        """Record that real resources are about to change, where nobody else is at work on them."""
        now, plan_id = self.clock.now(), run.plan.plan_id
        intent = Intent(intent_id=IntentId(self.ids.new()), plan_id=plan_id, work=work, created_at=now)
        with run.commit("apply.intend") as commit:
            for location in work.locations:
                refuse_taken(commit.db, plan_id, location)
                refuse_under_way(commit.db, plan_id, location)
            if isinstance(work, ApplyWork):
                commit.plan = run.plan.moved_to(Phase.APPLY, State.PROCESSING, now)
            commit.db.intents.add(intent)
        return intent

    @contextmanager
    def all_or_none(self, run: Run, intent: Intent, again: str) -> Generator[None]:
        """Put every real resource back if what follows `begin` fails or is interrupted.

        `again` is the next step after an interruption.
        """
        try:
            yield
        except (PlanTakenOver, RestoreIncomplete):
            raise
        except KeyboardInterrupt:
            self.take_back(run, intent)
            raise Interrupted(plan_id=run.plan.plan_id, hint=again) from None
        except Exception as exc:
            self.take_back(run, intent)
            raise _as_it_was(exc) from exc

    def ready(self, run: Run, changes: Sequence[RealChange]) -> None:
        """Record what was there and what is to be there: from here on what was begun is put back, not dropped."""
        with run.commit("apply.ready") as commit:
            for change in changes:
                commit.db.real_changes.add(change)

    def carry_out(self, run: Run, intent: Intent, changes: Sequence[RealChange]) -> Changes:
        """Make the real resources what was recorded.

        Where someone changed them since they were kept, the intent is dropped, and nothing was touched.
        """
        with self.store.hold():
            others = [path for change in changes for path in self._changed(run, change)]
        if others:
            self._drop(run, intent)
            hint = "nothing was touched; run the command again"
            raise ChangedMeanwhile(plan_id=run.plan.plan_id, paths=", ".join(others), hint=hint)
        written = Snapshots({change.real.resource: change.written for change in changes})
        before = Snapshots({change.real.resource: change.before for change in changes})
        return self.manager.restore(run.over(change.real for change in changes), written, before)

    def take_back(self, run: Run, intent: Intent) -> None:
        """Put every real resource back to what it was when the intent was recorded, and close that.

        RestoreIncomplete where that cannot be done now: whoever claims the plan next tries again.
        """
        with self.database.reading() as db:
            if all(each.intent_id != intent.intent_id for each in db.intents.list(run.plan.plan_id)):
                return  # it was settled: a signal came after that
            changes = [c for c in db.real_changes.list(run.plan.plan_id) if c.act is intent.kind]
        told: list[str] = []
        try:
            if changes:
                told = self.ways.take(run.over(c.real for c in changes), [_way(c) for c in changes])
        except PlanTakenOver:
            raise
        except Exception as exc:
            paths = ", ".join(change.real.path for change in changes)
            reason = exc.text if isinstance(exc, MulliganError) else str(exc)
            raise RestoreIncomplete(path=paths, plan_id=run.plan.plan_id, reason=reason) from exc
        self._drop(run, intent, *told)

    def finish(self, run: Run, intent: Intent) -> None:
        """Take back what a process that died had begun, and tell so."""
        with self.database.reading() as db:
            began = any(c.act is intent.kind for c in db.real_changes.list(run.plan.plan_id))
        self.take_back(run, intent)
        if began:
            run.inform(f"an {intent.kind.value} that was cut off was taken back")

    def way_back(self, run: Run, change: RealChange) -> Snapshot:
        """What a real resource is to become when a change is taken back; what others did since stays."""
        return self.ways.target(run, _way(change))[0]

    def _changed(self, run: Run, change: RealChange) -> list[str]:
        """Where a real resource is not what it was when it was kept."""
        kind = self.kinds.of(change.real)
        present = kind.capture(change.real, run.observer).snapshot
        path = change.real.path
        folder = posixpath.dirname(path) if change.real.type.traits.is_file else path
        files = self.store.difference(change.before.roots[0], present.roots[0])
        moved = kind.moved(change.real, change.before, present)
        return [*(posixpath.join(folder, d.path) for d in files), *moved]

    def _drop(self, run: Run, intent: Intent, *told: str) -> None:
        now = self.clock.now()
        with run.commit("apply.drop") as commit:
            # As it is recorded: a signal that comes during a commit is raised before the run has learned of it.
            plan = commit.db.plans.get(run.plan.plan_id)
            if isinstance(intent.work, ApplyWork) and plan.state is State.PROCESSING:
                plan = plan.moved_to(Phase.EXECUTE, State.COMPLETE, now)
            commit.plan = plan
            commit.db.real_changes.remove(plan.plan_id, intent.kind)
            commit.db.intents.close(intent.intent_id)
            commit.record(*(Entry(type=EventType.MESSAGE, data={"message": text}, at=now) for text in told))
            commit.afterwards(lambda: run.inform(*told))


def _as_it_was(failure: Exception) -> Exception:
    """Return a failure after which everything was put back, with that said."""
    if isinstance(failure, ChangedMeanwhile):
        hint = "what they wrote is kept, and every other path is as it was before; run the command again"
        return ChangedMeanwhile(hint=hint, **failure.facts)
    if isinstance(failure, (RestoreFailed, SystemFailed)):
        return type(failure)(
            hint=f"every real resource is as it was before; {remedy_of(failure)}", **failure.facts
        )
    return failure


def _way(change: RealChange) -> Way:
    return Way(sandbox=change.real, before=change.before, written=change.written)
