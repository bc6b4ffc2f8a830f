"""Brings stored snapshots into the real resources of a plan, all or none.

Everything is computed and stored first. An intent records the old and the new contents; then the resources are
restored to the new ones, as in a rollback in place. After a failure, a signal or the death of the process every
resource is put back, except for paths that someone else changed in the meantime: those are kept and reported.
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
        """Record that real resources are about to change; refuse where another plan works on them."""
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
        """Record the old and the new contents: from here on an interrupted change is put back, not dropped."""
        with run.commit("apply.ready") as commit:
            for change in changes:
                commit.db.real_changes.add(change)

    def carry_out(self, run: Run, intent: Intent, changes: Sequence[RealChange]) -> Changes:
        """Write the recorded contents. If someone changed a resource since its capture, drop the intent untouched."""
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
        """Put every real resource back to what it was when the intent was recorded, and close the intent.

        Raise RestoreIncomplete where that fails: the next claim of the plan tries again.
        """
        with self.database.reading() as db:
            if all(each.intent_id != intent.intent_id for each in db.intents.list(run.plan.plan_id)):
                return  # already settled: the signal came afterwards
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
        """Take back and report the interrupted work of a process that died."""
        with self.database.reading() as db:
            began = any(c.act is intent.kind for c in db.real_changes.list(run.plan.plan_id))
        self.take_back(run, intent)
        if began:
            run.inform(f"an interrupted {intent.kind.value} was taken back")

    def way_back(self, run: Run, change: RealChange) -> Snapshot:
        """Return a real resource as it will be without a change; later changes by others are kept."""
        return self.ways.target(run, _way(change))[0]

    def _changed(self, run: Run, change: RealChange) -> list[str]:
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
            # Read again: a signal during a commit is raised before the run knows the committed plan.
            plan = commit.db.plans.get(run.plan.plan_id)
            if isinstance(intent.work, ApplyWork) and plan.state is State.PROCESSING:
                plan = plan.moved_to(Phase.EXECUTE, State.COMPLETE, now)
            commit.plan = plan
            commit.db.real_changes.remove(plan.plan_id, intent.kind)
            commit.db.intents.close(intent.intent_id)
            commit.record(*(Entry(type=EventType.MESSAGE, data={"message": text}, at=now) for text in told))
            commit.afterwards(lambda: run.inform(*told))


def _as_it_was(failure: Exception) -> Exception:
    """Return the failure with a hint that everything was put back."""
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
