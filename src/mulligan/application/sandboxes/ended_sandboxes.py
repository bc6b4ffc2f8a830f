"""Forgets sandboxes of ended plans: those that are no longer to be kept, and those removed by hand."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from mulligan.application.plans.settings_source import SettingsSource
from mulligan.application.subplans.child_plans import family
from mulligan.boundaries import act
from mulligan.config import Cleanup
from mulligan.domain.plans.plan import Plan
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.errors import PlanBusy
from mulligan.ports import Locks, PlanFolders, SandboxKinds
from mulligan.rows.database import Database

_UNDOABLE = 100  # ended plans in place whose work can still be undone


class EndedSandboxes(Struct, kw_only=True, frozen=True, eq=False):
    """The sandboxes of plans that were applied or cancelled, and of their child plans."""

    sandbox_home: Path
    database: Database
    kinds: SandboxKinds
    folders: PlanFolders
    repositories: PlanFolders
    locks: Locks
    settings: SettingsSource
    is_elsewhere: Callable[[str | None], bool]

    def forget_unwanted(self, *, dry_run: bool) -> tuple[Sandbox, ...]:
        """Forget those that `sandbox.cleanup` does not keep; the caller removes their folders."""
        return tuple(
            sandbox
            for plan in self._over()
            if self.settings.for_plan(plan.definition.config).cleanup is Cleanup.ON_TERMINAL
            for sandbox in self._forget(plan, _is_copy, dry_run=dry_run)
        )

    def forget_in_place(self) -> None:
        """Forget what ended plans did in place, but for the newest of them: an undo does not go further back."""
        with self.database.reading() as db:
            in_place = dict.fromkeys(sandbox.plan_id for sandbox in db.sandboxes.in_place(ended=True))
            old = [db.plans.get(plan_id) for plan_id in [*in_place][_UNDOABLE:]]
        for plan in old:
            if plan.is_final and plan.parent_plan_id is None:
                self.remove(self._forget(plan, lambda sandbox: not _is_copy(sandbox), dry_run=False))

    def forget_removed(self) -> list[Sandbox]:
        """Forget those that were removed by hand, remove what they left elsewhere, and return them."""
        found = [s for plan in self._over() for s in self._forget(plan, self._is_removed, dry_run=False)]
        self.remove(found)
        return found

    def remove(self, sandboxes: Sequence[Sandbox]) -> None:
        """Remove what is left of forgotten sandboxes, except paths that a copied project took over from another."""
        for sandbox in sandboxes:
            if self._is_here(sandbox):
                self.kinds.of(sandbox).remove(sandbox)

    def _over(self) -> Iterator[Plan]:
        with self.database.reading() as db:
            plans = db.plans.list(None)
        yield from (plan for plan in plans if plan.is_final and plan.parent_plan_id is None)

    def _forget(self, plan: Plan, unwanted: Callable[[Sandbox], bool], *, dry_run: bool) -> list[Sandbox]:
        """Remove rows of a plan and of its child plans, unless a process works on one of them."""
        with self.database.reading() as db:
            plan_ids = list(family(db, plan.plan_id))
            if not any(db.sandboxes.list(plan_id) for plan_id in plan_ids):
                return []
        try:
            with ExitStack() as held:
                for plan_id in plan_ids:
                    held.enter_context(self.locks.hold(plan_id))
                with self.database.reading() as db:
                    found = [s for plan_id in plan_ids for s in db.sandboxes.list(plan_id) if unwanted(s)]
                if found and not dry_run:
                    with act("sandbox.forget"), self.database.writing() as db:
                        for sandbox in found:
                            db.sandboxes.remove(sandbox.plan_id, sandbox.resource)
                return found
        except PlanBusy:
            return []

    def _is_removed(self, sandbox: Sandbox) -> bool:
        """Return whether its folder is gone; for a checkout in place, the repository of its checkpoints."""
        if self.is_elsewhere(sandbox.host):
            return False
        if sandbox.strategy is Strategy.IN_PLACE:
            return sandbox.git_dir is not None and self.repositories.is_free(Path(sandbox.git_dir))
        if not self._is_here(sandbox):
            return False
        plan = self.sandbox_home / sandbox.plan_id
        return self.folders.is_free(plan / Path(sandbox.path).relative_to(plan).parts[0])

    def _is_here(self, sandbox: Sandbox) -> bool:
        if self.is_elsewhere(sandbox.host):
            return False
        in_place = sandbox.strategy is Strategy.IN_PLACE
        return in_place or Path(sandbox.path).is_relative_to(self.sandbox_home / sandbox.plan_id)


def _is_copy(sandbox: Sandbox) -> bool:
    """Return whether it is not a real resource: what was done there in place can be undone later."""
    return sandbox.strategy is not Strategy.IN_PLACE
