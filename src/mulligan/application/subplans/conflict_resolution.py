"""Accepts the user's resolution of conflicts that a merge of child plans left."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.plans.guards import refuse_without_conflicts
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.runs.commit import Entry
from mulligan.application.runs.run import Run
from mulligan.application.subplans.conflict_editor import ConflictEditor, NewContent
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Conflict, Phase, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.domain.trees.line_diff import LARGEST_TEXT
from mulligan.domain.trees.text_merge import has_markers
from mulligan.errors import ConflictUnknown, MarkersLeft
from mulligan.ports import Clock, Observer, SnapshotStore


class ResolveService(Struct, kw_only=True, frozen=True, eq=False):
    """Marks conflicts as resolved; after the last one the plan can continue."""

    claims: PlanClaims
    manager: CheckpointManager
    checkpoints: CheckpointService
    editor: ConflictEditor
    store: SnapshotStore
    clock: Clock

    def resolve(
        self, plan_id: PlanId, paths: Sequence[str], new: NewContent | None, observer: Observer
    ) -> None:
        """Mark these paths, or all, as resolved; `new` is first written into the sandbox, at the only path.

        After the last one, take a group from which the plan continues.
        """
        with self.claims.open(plan_id, observer) as run:
            refuse_without_conflicts(run.plan)
            solved = _named(run, paths)
            if new is not None:
                self.editor.write(run, paths[0], new)
            self._refuse_marked(run, solved)
            left = tuple(c for c in run.plan.conflicts if c not in solved)
            data: JsonObject = {"paths": [c.path for c in solved], "left": len(left)}
            entry = Entry(type=EventType.RESOLVED, data=data, at=self.clock.now())
            if left:
                run.record(replace(run.plan, conflicts=left, updated_at=entry.at), entry)
                return
            # Recorded with the group, in one transaction.
            run.note(entry)
            plan = replace(run.progressed().moved_to(Phase.EXECUTE, State.QUEUED, entry.at), failure=None)
            reason = reason_for(CheckpointType.MANUAL, {"reason": "resolve"}, between_steps=True)
            self.checkpoints.create_checkpoint(run, reason, becomes=plan)

    def _refuse_marked(self, run: Run, conflicts: Sequence[Conflict]) -> None:
        """Refuse files that still contain conflict markers."""
        marked: list[str] = []
        with self.store.hold():
            captures = zip(run.sandboxes, self.manager.capture(run), strict=True)
            for sandbox, capture in captures:
                wanted = {c.path for c in conflicts if c.resource == sandbox.resource}
                for found in self.store.difference(sandbox.base.roots[0], capture.snapshot.roots[0]):
                    content = found.new.content if found.new is not None else None
                    if found.path in wanted and content is not None and content.size <= LARGEST_TEXT:
                        marked += [found.path] if has_markers(self.store.read(content)) else []
        if marked:
            raise MarkersLeft(plan_id=run.plan.plan_id, paths=", ".join(marked))


def _named(run: Run, paths: Sequence[str]) -> tuple[Conflict, ...]:
    conflicts = run.plan.conflicts
    for path in paths:
        if not any(c.path == path for c in conflicts):
            known = ", ".join(c.path for c in conflicts)
            raise ConflictUnknown(plan_id=run.plan.plan_id, path=path, known=known)
    return tuple(c for c in conflicts if not paths or c.path in paths)
