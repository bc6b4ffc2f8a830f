"""Makes the sandboxes of an applied plan, and of its child plans, again that the apply removed, as they were."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.runs.commit import Commit
from mulligan.application.runs.run import Run
from mulligan.application.sandboxes.sandbox_renewal import SandboxRenewal
from mulligan.application.sandboxes.sandbox_repairs import SandboxRepairs
from mulligan.application.sandboxes.sandbox_service import SandboxService
from mulligan.application.subplans.child_plans import below
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import PlanId
from mulligan.domain.trees.real_change import RealChange
from mulligan.ports import SandboxKinds
from mulligan.rows.database import Database


class SandboxRevival(Struct, kw_only=True, frozen=True, eq=False):
    """Brings sandboxes back from the records of an apply."""

    database: Database
    kinds: SandboxKinds
    sandboxes: SandboxService
    renewal: SandboxRenewal
    repairs: SandboxRepairs

    def revive(self, run: Run, applied: Sequence[RealChange]) -> list[Sandbox]:
        """Make the missing sandboxes of a claimed plan as they were when it was applied; return them.

        No row refers to them yet: `record` adds those. After a crash in between gc removes the folders.
        """
        known = {sandbox.resource for sandbox in run.sandboxes}
        wanted = [
            (self._sandbox(run, c), self._held(run, c)) for c in applied if c.real.resource not in known
        ]
        if not wanted:
            return []
        wanted += self._of_children([*run.sandboxes, *(sandbox for sandbox, _ in wanted)])
        made = [sandbox for sandbox, _ in wanted]
        self.renewal.put(wanted, run.observer)
        for sandbox in made:
            self.kinds.of(sandbox).borrow_again(sandbox)
        for plan_id in dict.fromkeys(sandbox.plan_id for sandbox in made):
            self.repairs.publish_again(plan_id, [sandbox for sandbox in made if sandbox.plan_id == plan_id])
        return made

    def _of_children(self, parents: Sequence[Sandbox]) -> list[tuple[Sandbox, Snapshot]]:
        """Return the sandboxes that child plans had, forked from these, with what they held last."""
        found: list[tuple[Sandbox, Snapshot]] = []
        copied = [sandbox for sandbox in parents if sandbox.strategy is not Strategy.IN_PLACE]
        with self.database.reading() as db:
            for child in below(db, parents[0].plan_id):
                first, group_id = db.checkpoints.first(child.plan_id), child.plan.current_group_id
                if child.plan.definition.variant:
                    continue  # it gave its sandboxes back when it had finished
                if db.sandboxes.list(child.plan_id) or first is None or group_id is None:
                    continue
                last = db.checkpoints.get(group_id)
                names = {resource.name for resource in child.plan.definition.resources}
                found += [
                    (_forked(s, child.plan_id, first.snapshot_of(s.resource)), last.snapshot_of(s.resource))
                    for s in copied
                    if s.resource in names
                ]
        return found

    def record(self, commit: Commit, run: Run, revived: Sequence[Sandbox]) -> None:
        """Record sandboxes that were made again beside those that the plan has, in the plan's order."""
        own = [sandbox for sandbox in revived if sandbox.plan_id == run.plan.plan_id]
        together = {sandbox.resource: sandbox for sandbox in (*run.sandboxes, *own)}
        names = [each.name for each in run.plan.definition.resources if each.name in together]
        sandboxes = [together[name] for name in names]
        for sandbox in run.sandboxes:
            commit.db.sandboxes.remove(sandbox.plan_id, sandbox.resource)
        recorded = [commit.db.sandboxes.add(sandbox) for sandbox in sandboxes]
        for sandbox in (each for each in revived if each not in own):
            commit.db.sandboxes.add(sandbox)
        commit.afterwards(lambda: run.use_sandboxes(recorded))

    def _sandbox(self, run: Run, change: RealChange) -> Sandbox:
        real = change.real
        path = self.sandboxes.path_of(run, real.resource)
        excluded = tuple(each for each in real.excluded if each not in change.moving)
        return replace(real, strategy=real.type.traits.copying, path=path, excluded=excluded)

    def _held(self, run: Run, change: RealChange) -> Snapshot:
        """Return what the sandbox held; an earlier version recorded only its last group, or what was applied."""
        if change.theirs is not None:
            return change.theirs
        if run.plan.current_group_id is None:
            return change.written
        with self.database.reading() as db:
            return db.checkpoints.get(run.plan.current_group_id).snapshot_of(change.real.resource)


def _forked(parent: Sandbox, child: PlanId, base: Snapshot) -> Sandbox:
    """Return the sandbox of a child plan that was forked from its parent's: the same, in folders of its own."""
    own, theirs = f"/{child}/", f"/{parent.plan_id}/"
    git_dir = None if parent.git_dir is None else parent.git_dir.replace(theirs, own)
    return replace(parent, plan_id=child, path=parent.path.replace(theirs, own), base=base, git_dir=git_dir)
