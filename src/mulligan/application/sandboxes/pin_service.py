"""Finds pins in the user's repositories that no sandbox needs, and drops those that surely belong to this project.

A pin names its plan, but not its project. A project can be copied with its database, and then both know the plan.
Repositories inside the project's folder were copied with it, so only their pins are surely its own.
"""

import shlex
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from mulligan.application.subplans.child_plans import lineage
from mulligan.domain.plans.plan import Plan
from mulligan.domain.resources.placement import folder_name
from mulligan.errors import PlanBusy
from mulligan.ports import Clock, LeftLock, Locks, Pinned, Pins, PlanFolders, SandboxKinds
from mulligan.rows.database import Database


class PinsFound(Struct, frozen=True, kw_only=True):
    """Descriptions of pins in the user's repositories."""

    dropped: tuple[str, ...]
    left: tuple[str, ...]  # they may belong to another project


class PinService(Struct, kw_only=True, frozen=True, eq=False):
    """The pins that sandboxes left behind."""

    project: Path
    database: Database
    repositories: PlanFolders
    locks: Locks
    user_pins: Pins
    kinds: SandboxKinds
    clock: Clock

    def clear(self) -> PinsFound:
        """Drop the pins of ended plans without sandboxes; report those that may belong to another project."""
        with self.database.reading() as db:
            plans = db.plans.list(None)
        known = {plan.plan_id for plan in plans}
        dropped: list[str] = []
        left: list[str] = []
        for pinned in self.user_pins.pinned(self._checkouts(plans)):
            refs = f"refs/mulligan/{pinned.plan_id}/{pinned.folder}/ in {pinned.git_dir}"
            if pinned.plan_id not in known:
                left.append(
                    f"{refs}: no plan of this project has that id, a plan of another may; {_by_hand(pinned)}"
                )
            elif not pinned.git_dir.is_relative_to(self.project.resolve()):
                if not self._is_needed(pinned):
                    why = "the plan has no sandbox here, but may have one in a copy of this project"
                    left.append(f"{refs}: {why}; {_by_hand(pinned)}")
            elif self._drop(pinned):
                dropped.append(f"{refs}, of an ended plan without a sandbox")
        return PinsFound(dropped=tuple(dropped), left=tuple(left))

    def set_in_place(self) -> None:
        """Pin the commits that checkpoints of plans in place name, where their checkouts have them."""
        with self.database.reading() as db:
            sandboxes = [s for s in db.sandboxes.in_place(ended=True) if s.type.traits.has_commits]
            groups = {s.plan_id: db.checkpoints.list(s.plan_id, superseded=True) for s in sandboxes}
        for sandbox in sandboxes:
            found = [group.snapshot_of(sandbox.resource) for group in groups[sandbox.plan_id]]
            self.kinds.of(sandbox).pin_again(sandbox, found)

    def clear_locks(self) -> Sequence[LeftLock]:
        """Remove locks that killed processes left in the user's repositories; report those that are not ours."""
        with self.database.reading() as db:
            plans = db.plans.list(None)
        return self.user_pins.locks(self._checkouts(plans), self.clock.now())

    def _drop(self, pinned: Pinned) -> bool:
        """Drop pins that no sandbox needs, unless a process works on their plan or on one above it."""
        with self.database.reading() as db:
            plan_ids = [plan.plan_id for plan in lineage(db, pinned.plan_id)]
        try:
            with ExitStack() as held:
                for plan_id in plan_ids:
                    held.enter_context(self.locks.hold(plan_id))
                self.database.settle()
                unneeded = not self._is_needed(pinned)
                if unneeded:
                    self.user_pins.drop(pinned)
                return unneeded
        except PlanBusy:
            return False

    def _is_needed(self, pinned: Pinned) -> bool:
        """Return whether the plan can continue, or has the sandbox or a repository of checkpoints, which gc removes."""
        with self.database.reading() as db:
            can_go_on = not lineage(db, pinned.plan_id)[0].is_final
            named = {folder_name(sandbox.resource) for sandbox in db.sandboxes.list(pinned.plan_id)}
        kept = {folder.name for folder in self.repositories.list(pinned.plan_id)}
        return can_go_on or pinned.folder in named or f"{pinned.folder}.git" in kept

    def _checkouts(self, plans: Iterable[Plan]) -> set[Path]:
        resources = {resource for plan in plans for resource in plan.definition.resources}
        return {
            self.project / r.location
            for r in resources
            if r.type.traits.has_commits and not r.type.traits.is_remote
        }


def _by_hand(pinned: Pinned) -> str:
    git = f"git --git-dir={shlex.quote(str(pinned.git_dir))}"
    listed = f"for-each-ref --format='delete %(refname)' refs/mulligan/{pinned.plan_id}/{pinned.folder}"
    return f"when none has: `{git} {listed} | {git} update-ref --stdin`"
