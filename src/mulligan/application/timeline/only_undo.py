"""Takes back what sessions, prompts or calls of agents changed, and keeps what others did meanwhile and since."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_service import CheckpointService, own_moment, reason_for
from mulligan.application.plans.plan_claims import PlanClaims
from mulligan.application.rollback.rollback_service import PostRollbackState, summary_of
from mulligan.application.runs.commit import Commit
from mulligan.application.runs.run import Run
from mulligan.application.timeline.attributions import Asked, Attributions
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.application.timeline.real_undo import OnlyWork, RealUndoService, Result, Turnaround
from mulligan.application.timeline.timeline_queries import TimelineQueries, point_of
from mulligan.application.timeline.timeline_service import Undone
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.lines import Direction
from mulligan.domain.history.timeline_entry import DeedKind, DeedStatus, TimelineEntry
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Strategy
from mulligan.domain.text.ids import GroupId
from mulligan.domain.text.json_value import JsonObject
from mulligan.errors import NothingToUndo, UsageWrong
from mulligan.ports import Clock, Observer, SandboxKinds, SnapshotStore
from mulligan.rows.database import Database


class OnlyUndoService(Struct, kw_only=True, frozen=True, eq=False):
    """Undoes calls of agents."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds
    claims: PlanClaims
    checkpoints: CheckpointService
    cut_off: CutOffWork
    attributions: Attributions
    real_undos: RealUndoService
    timeline: TimelineQueries
    clock: Clock

    def undo(
        self, words: Sequence[str], observer: Observer, *, dry_run: bool, keep_commits: bool = False
    ) -> Undone:
        """Take back what these words name: sessions, prompts, calls; refuse what others may have done as well."""
        asked = self.attributions.find(words)
        self._refuse_apart(asked)
        plan_id = asked.plan.plan_id
        if dry_run:
            with self.claims.look(plan_id, observer) as run, self.store.hold():
                present = {s.resource: self.kinds.of(s).capture(s, observer).snapshot for s in run.sandboxes}
                turn = self._turn(run, asked, present, keep_commits=keep_commits)
                return self._undone(run, asked, self.real_undos.preview_in(run, turn), None)
        with self.claims.open(plan_id, observer) as run:
            # Another command may have taken it back before the claim.
            asked = replace(self.attributions.find(words), plan=run.plan)
            self._refuse_apart(asked)
            self._settle_here(run)
            with self.store.hold():
                turn = self._turn(run, asked, {}, keep_commits=keep_commits)
                result = self.real_undos.carry_out(run, turn)
            with self.database.reading() as db:
                own = db.entries.newest_of_kind(plan_id, DeedKind.UNDO)
            assert own is not None, "it was recorded with the change"
            return self._undone(run, asked, result, own.number)

    def _refuse_apart(self, asked: Asked) -> None:
        """Refuse what was done in several folders: each of them goes back for itself."""
        with self.database.reading() as db:
            own = {s.path for s in db.sandboxes.list(asked.plan.plan_id) if s.strategy is Strategy.IN_PLACE}
            for plan_id in {named.call.plan_id for named in asked.calls}:
                theirs = {s.path for s in db.sandboxes.list(plan_id)}
                if not theirs <= own:
                    raise UsageWrong(
                        reason=f"{', '.join(asked.words)} worked in different folders",
                        hint="undo them one by one",
                    )

    def _settle_here(self, run: Run) -> None:
        """Keep the present contents as a moment: what changes from here on is not the work of calls without an end."""
        self.cut_off.keep_end(run)

        def write(commit: Commit, group_id: GroupId) -> None:
            group = commit.db.checkpoints.get(group_id)
            commit.db.agents.add(own_moment(group, CheckpointType.FOUND))

        metadata: JsonObject = {"event": "undo"}  # the moment is written here
        reason = reason_for(CheckpointType.FOUND, metadata, between_steps=False)
        self.checkpoints.keep_present(run, reason, write)

    def _turn(
        self, run: Run, asked: Asked, present: Mapping[str, Snapshot], *, keep_commits: bool
    ) -> Turnaround:
        with self.database.reading() as db:
            assert run.plan.current_group_id is not None, "a session has a group from its first event on"
            here = db.checkpoints.get(run.plan.current_group_id)
            newest = {s.resource: here.snapshot_of(s.resource) for s in run.sandboxes}
        pieces = self.attributions.changes(asked, present or newest)
        if not any(pieces.values()):
            raise NothingToUndo(
                plan_id=asked.plan.plan_id, reason=f"{', '.join(asked.words)} changed nothing"
            )
        entry = TimelineEntry(
            number=0,  # assigned when it is written, as are `seq` and the groups
            plan_id=asked.plan.plan_id,
            kind=DeedKind.UNDO,
            title=_title(asked),
            step_index=None,
            line=run.plan.line,
            seq=0,
            status=DeedStatus.DONE,
            created_at=self.clock.now(),
            changed=True,
            detail={"only": list(asked.words)},
        )
        return Turnaround(
            entry=entry,
            forward=False,
            base=here,
            theirs=here,
            target=here,
            alone=True,
            state=(Phase.APPLY, State.APPLIED),
            keep_commits=keep_commits,
            pieces=pieces,
            only=OnlyWork(
                entries=tuple(each.number for each in asked.entries),
                calls=tuple(named.call.call_id for named in asked.calls),
            ),
        )

    def _undone(self, run: Run, asked: Asked, done: Result, number: int | None) -> Undone:
        plan, kept = run.plan, done.kept
        with self.database.reading() as db:
            remaining = db.checkpoints.count(plan.plan_id, superseded=False)
            at = db.checkpoints.get(plan.current_group_id) if plan.current_group_id else None
        assert at is not None, "a session has a group from its first event on"
        return Undone(
            plan_id=plan.plan_id,
            handle=plan.handle,
            dry_run=number is None,
            direction=Direction.BACK,
            entry=self.timeline.entry(number) if number is not None else None,
            only=asked.words,
            changes_reverted=done.changes,
            rollback_summary=summary_of(plan, at, Direction.BACK, len(done.changes)),
            impact=done.impact,
            post_rollback_state=PostRollbackState(
                phase=plan.phase,
                state=plan.state,
                step_index=plan.progress.step_index,
                checkpoints_remaining=remaining,
                pre_rollback_checkpoint=kept.first_checkpoint_id if kept else None,
            ),
            kept=point_of(kept),
            applied=(),
            conflicts=(),
            messages=done.messages,
            error=None,
        )


def _title(asked: Asked) -> str:
    """Return what was taken back in a few words, the name that people typed first."""
    if len(asked.words) == 1 and len(asked.calls) == 1 and not asked.entries:
        call = asked.calls[0].call
        return f"only {asked.words[0]}: {call.arguments.get('summary') or call.tool}"
    if len(asked.words) == 1 and len(asked.entries) == 1 and asked.words[0].isdecimal():
        return f"only {asked.words[0]}: {asked.entries[0].title}"
    return f"only {', '.join(asked.words)}"
