"""Finds the checkpoint that a path comes back from where the user names none: the newest that would change it.

Groups that hold the real folder as it was come first: those of plans in place, those taken before an apply or a
restore, the first of a plan (what its sandbox was copied from) and the last of a plan that was applied. Only where none
of them has the path, what plans did in their sandboxes counts.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from mulligan.application.paths.real_resources import RealResources
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.domain.checkpoints.checkpoint import GroupOutline
from mulligan.domain.checkpoints.snapshot import Root
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.placement import Part, parts_of
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.trees.path_edits import edits_of
from mulligan.errors import PathNowhere
from mulligan.ports import Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database

_ALL = 1 << 62


class _Candidate(Struct, frozen=True):
    plan: Plan
    outline: GroupOutline
    of_real_folder: bool


class PathSources(Struct, kw_only=True, frozen=True, eq=False):
    """Looks for earlier versions of paths in all checkpoints of the project."""

    project: Path
    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    places: RealResources
    claims: PlanClaims

    def newest(self, path: str, observer: Observer) -> GroupId:
        """Return the newest group from which a restore would change the real path; refuse where there is none."""
        with self.store.hold():
            return self._newest(path, self._candidates(), lambda plan, part: self._now(plan, part, observer))

    def newest_of_plan(self, plan: Plan, path: str, now: Callable[[Plan, Part], Root | None]) -> GroupId:
        """Return the newest group of a plan from which a restore would change a path of its sandbox."""
        with self.database.reading() as db:
            outlines = db.checkpoints.outlines(plan.plan_id, limit=_ALL)
        candidates = [_Candidate(plan, outline, of_real_folder=True) for outline in reversed(outlines)]
        with self.store.hold():
            return self._newest(path, candidates, now)

    def _newest(
        self, path: str, candidates: Sequence[_Candidate], now: Callable[[Plan, Part], Root | None]
    ) -> GroupId:
        present: dict[tuple[str, str], Root | None] = {}  # by location and type: a folder is read once
        seen: set[tuple[str, Root]] = set()
        for wanted in (True, False):
            for candidate in candidates:
                if candidate.of_real_folder is not wanted:
                    continue
                for part in parts_of(path, candidate.plan.definition.resources):
                    resource = part.resource
                    key = (resource.location, resource.type.value)
                    if key not in present:
                        present[key] = now(candidate.plan, part)
                    then = _root_of(candidate.outline, resource.name)
                    if then is None or (key[0], then) in seen:
                        continue
                    seen.add((key[0], then))
                    if self._would_change(present[key], then, part.path):
                        return candidate.outline.group_id
        raise PathNowhere(path=path)

    def _candidates(self) -> list[_Candidate]:
        """Return all groups of the project, the newest first."""
        with self.database.reading() as db:
            plans = db.plans.list(None)
            found = [(plan, db.checkpoints.outlines(plan.plan_id, limit=_ALL)) for plan in plans]
        ordered = [
            (_moment(plan, outline, outlines), plan, outline)
            for plan, outlines in found
            for outline in outlines
        ]
        ordered.sort(key=lambda each: each[0], reverse=True)
        return [_Candidate(plan, each, self._is_of_real_folder(plan, each)) for _, plan, each in ordered]

    def _is_of_real_folder(self, plan: Plan, outline: GroupOutline) -> bool:
        if plan.parent_plan_id is None and outline.type is CheckpointType.PRE_EXECUTE:
            return True
        if plan.state is State.APPLIED and outline.group_id == plan.current_group_id:
            return True
        home = str(self.project.resolve())
        locations = {r.name: str((self.project / r.location).resolve()) for r in plan.definition.resources}
        return any(
            c.filesystem_path == locations.get(c.resource) and c.filesystem_path.startswith(home)
            for c in outline.checkpoints
        )

    def _now(self, plan: Plan, part: Part, observer: Observer) -> Root | None:
        """Return the real resource as it is now; None where there is none."""
        real = self.places.plain(plan, part.resource)
        kind = self.kinds.of(real)
        if not kind.exists(real):
            return None
        if real.type.traits.is_folder:
            return kind.capture(real, observer).snapshot.roots[0]
        with self.claims.look(plan.plan_id, observer):  # a database is copied in a folder of its plan
            return kind.capture(real, observer).snapshot.roots[0]

    def _would_change(self, now: Root | None, then: Root, path: str) -> bool:
        if self.store.item(then, path) is None:
            return False
        if now is None:
            return True
        found = edits_of(self.store.difference(now, then, [path]), [path], delete=False)
        return bool(found.edits or found.in_the_way)


def _moment(
    plan: Plan, outline: GroupOutline, outlines: Sequence[GroupOutline]
) -> tuple[datetime, PlanId, int, bool]:
    """Return a key that orders groups by time; what a plan applied comes right after its last `pre_apply` group."""
    at, is_result = outline, plan.state is State.APPLIED and outline.group_id == plan.current_group_id
    if is_result:
        kept = (each for each in outlines if each.type is CheckpointType.PRE_APPLY)
        at = max(kept, key=lambda each: each.seq, default=outline)
    return at.created_at, plan.plan_id, at.seq, is_result


def _root_of(outline: GroupOutline, resource: str) -> Root | None:
    return next((c.snapshot.roots[0] for c in outline.checkpoints if c.resource == resource), None)
