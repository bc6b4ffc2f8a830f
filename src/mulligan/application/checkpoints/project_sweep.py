"""Frees what nothing refers to: bytes of pruned groups, and leftovers of killed processes.

Pruning removes the rows. The bytes go later: after work on a plan if the store grew by a fifth since the last sweep,
during a run if it doubled, and on request. So no checkpoint waits for its own sweep, and disk use stays in
proportion to what is kept.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict, replace

from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.ended_sandboxes import EndedSandboxes
from mulligan.application.subplans.child_plans import lineage
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Swept
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.plural import counted
from mulligan.errors import (
    Advice,
    DatabaseForeign,
    DatabaseUnusable,
    MulliganError,
    NextStep,
    PlanBusy,
    PlanTakenOver,
)
from mulligan.ports import (
    Clock,
    Locks,
    Observer,
    ParkedCopies,
    PlanFolders,
    SandboxKinds,
    SnapshotStore,
    TrialRooms,
    WorkingTree,
)
from mulligan.rows.database import Database

_AFTER_WORK = (1.2, 256 << 10)  # growth since the last sweep, as a factor and in bytes at least
_WHILE_RUNNING = (2.0, 64 << 20)


class KeptSandbox(Struct, frozen=True, kw_only=True):
    """A sandbox that a sweep leaves, the reason, and what frees it."""

    plan_id: PlanId
    handle: str
    phase: Phase
    state: State
    path: str
    size_bytes: int
    reason: str
    remedy: str


class SweepReport(Struct, frozen=True, kw_only=True):
    """The result of a sweep, or of its dry run."""

    dry_run: bool
    objects_removed: int
    objects_kept: int
    packs_removed: int
    packs_rewritten: int
    packs_kept: int
    packs_unreadable: int
    bytes_freed: int  # by all of it
    bytes_kept: int  # in packs
    sandboxes_removed: tuple[str, ...]  # folders, also of checkpoint commits, that no plan uses
    sandboxes_kept: tuple[KeptSandbox, ...]  # of plans that are there
    work_folders_removed: int  # of processes that died
    stat_caches_removed: int  # of trees that no longer exist
    scratch_folders_removed: int  # of tool calls of processes that died


class SweepService(Struct, kw_only=True, frozen=True, eq=False):
    """Sweeps the store of a project."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    folders: PlanFolders
    repositories: PlanFolders
    scratch: PlanFolders
    locks: Locks
    ended: EndedSandboxes
    parked: ParkedCopies
    trials: TrialRooms
    clock: Clock

    def sweep(self, *, dry_run: bool, observer: Observer) -> SweepReport:
        """Free everything that nothing refers to, also while plans run; a dry run only counts."""
        self._refuse_foreign_database()
        over = self.ended.forget_unwanted(dry_run=dry_run)
        plans = {sandbox.plan_id for sandbox in over}
        orphans = self._remove_unnamed(plans, dry_run=dry_run)  # folder -> bytes
        orphans |= {folder: self.folders.size_of(folder) for folder in self.parked.all()}
        if not dry_run:
            self.parked.clear(wait=True)
        trials, of_trials = self.trials.abandoned(clear=not dry_run)
        scratch = self._remove(self.scratch, self.scratch.list, dry_run=dry_run)
        sandboxes = self._sandboxes_but(plans)
        if not dry_run:
            self._retire_idle(sandboxes)
        left = self.store.clear_leftovers(self._trees(sandboxes), dry_run=dry_run)
        if not dry_run:
            self.ended.remove(over)  # also what has no folder of its own: notes, lost pins
        live = (lambda: self._live(plans)) if dry_run else self._settled_live
        swept = self.store.sweep(live, dry_run=dry_run, observer=observer)
        freed = swept.bytes_freed + left.size_bytes + sum(orphans.values()) + sum(scratch.values())
        freed += of_trials
        return SweepReport(
            **asdict(replace(swept, bytes_freed=freed)),
            dry_run=dry_run,
            sandboxes_removed=tuple(map(str, orphans)),
            sandboxes_kept=tuple(self._kept(plans)),
            work_folders_removed=left.work_folders + trials,
            stat_caches_removed=left.stat_caches,
            scratch_folders_removed=len(scratch),
        )

    def _trees(self, sandboxes: Sequence[Sandbox]) -> list[WorkingTree]:
        """Return the trees that the store is to remember."""
        own = [tree for sandbox in sandboxes for tree in self.kinds.of(sandbox).trees(sandbox)]
        return [*own, *self.parked.trees()]

    def _kept(self, over: Collection[PlanId]) -> list[KeptSandbox]:
        """Return the copies that plans keep, the largest first; those of plans in `over` are removed."""
        with self.database.reading() as db:
            copies = [s for s in db.sandboxes.here() if s.strategy is not Strategy.IN_PLACE]
            plans = {s.plan_id: lineage(db, s.plan_id) for s in copies if s.plan_id not in over}
        found = [
            _kept_sandbox(tops[0], tops[-1], folder, self.folders.size_of(folder))
            for plan_id, tops in plans.items()
            for folder in self.folders.list(plan_id)
        ]
        return sorted(found, key=lambda kept: (-kept.size_bytes, kept.path))

    def clear_leftovers(self) -> list[str]:
        """Remove leftovers of killed processes, without a sweep of the store; return a description of each."""
        self._refuse_foreign_database()
        folders = self._remove_unnamed((), dry_run=False)
        found = [f"the folder {folder}, which belongs to no plan" for folder in folders]
        scratch = self._remove(self.scratch, self.scratch.list, dry_run=False)
        found += [f"the folder {folder}, which an interrupted tool call left behind" for folder in scratch]
        trials, _ = self.trials.abandoned(clear=True)
        found += [f"{counted(trials, 'scratch copy', 'scratch copies')} of a bisection"] if trials else []
        sandboxes = self._sandboxes_but(())
        left = self.store.clear_leftovers(self._trees(sandboxes), dry_run=False)
        if left.work_folders or left.stat_caches:
            pieces = counted(left.work_folders + left.stat_caches, "piece")
            found.append(f"{pieces} of unfinished work in the store")
        return found

    def after_work(self, run: Run) -> None:
        """Clear the plan's scratch folders; sweep if it pruned groups and the store has grown enough."""
        for folder in self.scratch.list(run.plan.plan_id):
            self.scratch.remove(folder)
        if run.pruned and self.store.has_grown(*_AFTER_WORK):
            self.free_pruned(run)

    def while_running(self, run: Run) -> None:
        """Sweep between two steps, if the plan pruned groups and the store has doubled."""
        if run.pruned and self.store.has_grown(*_WHILE_RUNNING):
            self.free_pruned(run)

    def free_pruned(self, run: Run) -> Swept | None:
        """Free the bytes of groups that this run pruned. A failure is logged, and does not stop the plan."""
        try:
            self._refuse_foreign_database()
            self._retire(run.sandboxes)
            swept = self.store.sweep(self._settled_live, dry_run=False, observer=run.observer)
        except PlanTakenOver:
            raise
        except MulliganError as exc:
            self._log(run, f"the bytes of pruned checkpoints are not freed yet: {exc.text}")
            return None
        run.pruned = 0
        return swept

    def free(self, observer: Observer, *, thorough: bool = False) -> Swept:
        """Free the bytes that no row refers to any longer; if `thorough`, leave none of them in any pack."""
        self._refuse_foreign_database()
        if thorough:
            self.parked.clear(wait=True)  # they hold files of any plan
        return self.store.sweep(self._settled_live, dry_run=False, observer=observer, thorough=thorough)

    def live(self) -> Collection[Snapshot]:
        """Return all snapshots that a row refers to."""
        return self._live(())

    def remove_all_of(self, plan_ids: Sequence[PlanId]) -> None:
        """Remove all folders of plans that are about to be forgotten, which the caller holds, and all parked trees."""
        self.parked.clear(wait=False)
        for folders in (self.folders, self.repositories, self.scratch):
            for plan_id in plan_ids:
                folders.remove_all(plan_id)

    def _log(self, run: Run, text: str) -> None:
        entry = Entry(type=EventType.MESSAGE, data={"message": text}, at=self.clock.now())
        try:
            run.record(run.plan, entry)
        except DatabaseUnusable:  # such as on a full disk
            run.inform(text)

    def _retire_idle(self, sandboxes: Sequence[Sandbox]) -> None:
        for sandbox in sandboxes:
            with suppress(PlanBusy), self.locks.hold(sandbox.plan_id):
                self._retire([sandbox])

    def _retire(self, sandboxes: Sequence[Sandbox]) -> None:
        """Unpublish pruned checkpoints of plans that this process holds.

        A checkpoint is published before its row is written: without the lock, new ones would be unpublished too.
        """
        self.database.settle()
        for sandbox in sandboxes:
            with self.database.reading() as db:
                kept = db.checkpoints.ids(sandbox.plan_id)
            self.kinds.of(sandbox).retire(sandbox, kept)

    def _settled_live(self) -> set[Snapshot]:
        """Return all snapshots that a row refers to, once no transaction is in doubt."""
        self.database.settle()
        return self._live(())

    def _live(self, over: Collection[PlanId]) -> set[Snapshot]:
        with self.database.reading() as db:
            bases = [sandbox.base for sandbox in db.sandboxes.all() if sandbox.plan_id not in over]
            bases += db.children.bases()
            return {*db.checkpoints.snapshots(), *bases, *db.real_changes.snapshots()}

    def _sandboxes_but(self, over: Collection[PlanId]) -> list[Sandbox]:
        """Return the sandboxes on this machine."""
        with self.database.reading() as db:
            return [sandbox for sandbox in db.sandboxes.here() if sandbox.plan_id not in over]

    def _refuse_foreign_database(self) -> None:
        """Refuse to delete by the rows of a database that does not record these snapshots."""
        worked_on = self.locks.plans()
        with self.database.reading() as db:
            known = {plan.plan_id for plan in db.plans.list(None)}
        for plan_id in worked_on:
            if plan_id not in known:
                raise DatabaseForeign(plan_id=plan_id)

    def _remove(
        self, folders: PlanFolders, unused: Callable[[PlanId], Sequence[Path]], *, dry_run: bool
    ) -> dict[Path, int]:
        """Remove trash and unused folders of idle plans; return the folders with their sizes."""
        with self.database.reading() as db:
            known = {plan.plan_id for plan in db.plans.list(None)}
        removed = {folder: folders.size_of(folder) for folder in folders.trash()}
        for plan_id in [each for each in folders.plans() if each in known and unused(each)]:
            try:
                with self.locks.hold(plan_id):
                    if not dry_run:
                        self.database.settle()
                    for folder in unused(plan_id):
                        removed[folder] = folders.size_of(folder)
                        if not dry_run:
                            folders.remove(folder)
            except PlanBusy:
                continue  # its process may be about to record or use them
        if removed and not dry_run:
            folders.clear_trash()  # what takes long is waited for: it is reported as freed
        return removed

    def _remove_unnamed(self, over: Collection[PlanId], *, dry_run: bool) -> dict[Path, int]:
        """Remove sandboxes and repositories of checkpoints that no row refers to, and all of the plans in `over`."""

        def unnamed(plan_id: PlanId) -> list[Path]:
            folders = self.folders.list(plan_id)  # before the rows, which may be written meanwhile
            return _without(folders, plan_id, [s.path for s in self._named(plan_id, over)])

        def unnamed_repositories(plan_id: PlanId) -> list[Path]:  # a sandbox in place has no other folder
            folders = self.repositories.list(plan_id)
            return _without(folders, plan_id, [s.git_dir for s in self._named(plan_id, over) if s.git_dir])

        folders = self._remove(self.folders, unnamed, dry_run=dry_run)
        return folders | self._remove(self.repositories, unnamed_repositories, dry_run=dry_run)

    def _named(self, plan_id: PlanId, over: Collection[PlanId]) -> Sequence[Sandbox]:
        """Return the sandboxes of a plan here: a folder of one that went to another machine is not needed."""
        if plan_id in over:
            return ()
        with self.database.reading() as db:
            return db.sandboxes.here_of(plan_id)


def _kept_sandbox(top: Plan, plan: Plan, folder: Path, size: int) -> KeptSandbox:
    """Describe a sandbox of a plan; what becomes of it is decided for the plan at the top."""
    forget = NextStep("remove_plan", plan=top.handle)
    if top.is_final:
        reason = "its plan has ended, and the setting sandbox.cleanup keeps the sandbox"
        remedy = Advice(
            forget,
            " forgets the plan; if sandbox.cleanup is on_terminal, ",
            NextStep("gc"),
            " removes the sandbox",
        )
    elif top.state is State.COMPLETE:
        reason = "its result is not applied"
        remedy = Advice(NextStep("apply", plan=top.handle), " applies it, ", forget, " forgets the plan")
    else:
        reason = "its plan can be resumed"
        remedy = Advice(NextStep("resume", plan=top.handle), " continues it, ", forget, " forgets the plan")
    return KeptSandbox(
        plan_id=plan.plan_id,
        handle=plan.handle,
        phase=plan.phase,
        state=plan.state,
        path=str(folder),
        size_bytes=size,
        reason=reason,
        remedy=remedy,
    )


def _without(folders: Sequence[Path], plan_id: PlanId, named: Sequence[str]) -> list[Path]:
    """Return the plan's folders that no recorded path leads into, by name: a project may have been moved."""
    names = {name for path in named for above, name in pairwise(Path(path).parts) if above == plan_id}
    return [folder for folder in folders if folder.name not in names]
