"""Takes checkpoint groups: bytes first, rows second, retention as part of it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.checkpoints.checkpoint_manager import CheckpointManager
from mulligan.application.runs.commit import Commit, Entry, Record
from mulligan.application.runs.run import Run
from mulligan.domain.agents.agent_session import OWN_GROUP, AgentMoment
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, Reason, state_hash
from mulligan.domain.checkpoints.retention import (
    CURRENT,
    OF_A_GRAPH,
    TURNABLE,
    UNDOABLE,
    UNFINISHED,
    GroupSummary,
    oldest_at_work,
    plan_retention,
    room_at_work,
    too_old_or_large,
)
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.ids import CheckpointId, GroupId, time_of
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import CheckpointFailed, MulliganError, PlanTakenOver
from mulligan.ports import Clock, Ids, Publication, SnapshotStore
from mulligan.ports.world import one_by_one
from mulligan.rows.transaction import Transaction

# Groups of real resources, or of paths that were brought back: none is a state of the plan.
_NO_STATES = (CheckpointType.PRE_APPLY, CheckpointType.PRE_RESTORE, CheckpointType.POST_RESTORE)

_SELDOM = 25  # groups after which retention looks at a session of an agent again


class CheckpointService(Struct, kw_only=True, frozen=True, eq=False):
    """Takes the groups of a run."""

    store: SnapshotStore
    manager: CheckpointManager
    ids: Ids
    clock: Clock

    def create_checkpoint(
        self, run: Run, reason: Reason, then: Sequence[Record] = (), becomes: Plan | None = None
    ) -> CheckpointGroup:
        """Capture every resource, then record the group with all pending records, and `then` right after it.

        The plan is recorded with its working state, or as what it `becomes`. Any failure stops the plan: it never
        continues without a checkpoint that was due.
        """
        with run.showing_later(), self._captured(run, reason) as captures:
            checkpoints = self._checkpoints(run, captures)
            with run.commit("group.record") as commit:
                commit.plan = becomes or run.progressed()
                group = self._recorded(commit, run, reason, captures, checkpoints)
                commit.record(*(_not_before(each, group.created_at) for each in then))
            return group

    def keep_present(
        self,
        run: Run,
        reason: Reason,
        write: Callable[[Commit, GroupId], None],
        *,
        always: bool = False,
    ) -> None:
        """Capture every resource, and take a group only where the contents differ from those of the last one.

        `write` adds rows to the same transaction, with the group that they refer to: the new one or the last one.
        With `always` a group is taken in any case.
        """
        with run.showing_later(), self._captured(run, reason) as captures:
            last = run.plan.current_group_id
            latest = [run.latest.get(sandbox.resource) for sandbox in run.sandboxes]
            pairs = zip(captures, latest, strict=True)
            same = all(old and new.snapshot.same_as(old.snapshot) for new, old in pairs)
            if last is not None and same and not always:
                with run.commit("plan.record") as commit:
                    write(commit, last)
                return
            checkpoints = self._checkpoints(run, captures)
            with run.commit("group.record") as commit:
                commit.plan = run.progressed()
                group = self._recorded(commit, run, reason, captures, checkpoints)
                write(commit, group.group_id)

    @contextmanager
    def _captured(self, run: Run, reason: Reason) -> Generator[tuple[Capture, ...]]:
        """Yield captures of all resources, for rows that refer to them; any failure is one of the checkpoint."""
        try:
            # Held until the rows are committed: the sweep must not delete an old object that this capture reuses.
            with self.store.hold():
                yield self.manager.capture(run)
        except PlanTakenOver:
            raise
        except MulliganError as exc:
            self.manager.forget(run)  # no row refers to what was captured: it may be swept
            raise CheckpointFailed(
                plan_id=run.plan.plan_id,
                checkpoint_type=reason.type.value,
                step_index=run.plan.progress.step_index,
                reason=exc.text,
                hint=exc.next_step,
            ) from exc

    def _recorded(
        self,
        commit: Commit,
        run: Run,
        reason: Reason,
        captures: Sequence[Capture],
        checkpoints: Sequence[Checkpoint],
    ) -> CheckpointGroup:
        group = self.add_group(commit, run, _with_busy(reason, run, captures), checkpoints)
        unheld = _new_messages(run, captures)
        commit.plan = replace(commit.plan, messages=(*run.plan.messages, *unheld))
        at = self.clock.now()
        commit.record(*(Entry(type=EventType.MESSAGE, data={"message": text}, at=at) for text in unheld))
        return group

    def create_at_work(self, run: Run, reason: Reason) -> CheckpointGroup | None:
        """Capture every resource while programs write to it, and record the group; None where nothing changed.

        The group is not a state between two steps: the plan's state is that from which the step began.
        """
        with run.showing_later(), self.store.hold(), self.store.at_once():
            captures = self.manager.capture_at_work(run)
            pairs = zip(run.sandboxes, captures, strict=True)
            if all(c.snapshot.same_as(run.latest[s.resource].snapshot) for s, c in pairs):
                return None
            checkpoints = self._checkpoints(run, captures)
            with run.commit("group.record") as commit:
                commit.plan = run.progressed()
                return self.add_group(commit, run, _with_busy(reason, run, captures), checkpoints)

    def auto_create_if_configured(
        self, run: Run, trigger: CheckpointType, metadata: JsonObject, *, between_steps: bool
    ) -> CheckpointGroup | None:
        """Take the trigger's group if the plan's settings ask for it; None if they do not."""
        if not run.plan.definition.rollback_policy.enabled or trigger not in run.settings.triggers:
            return None
        return self.create_checkpoint(run, reason_for(trigger, metadata, between_steps=between_steps))

    def add_group(
        self, commit: Commit, run: Run, reason: Reason, checkpoints: Sequence[Checkpoint]
    ) -> CheckpointGroup:
        """Record a group of the plan's state, prune, and let the plan continue from the group."""
        plan = commit.plan
        group = CheckpointGroup(
            group_id=GroupId(self.ids.new()),
            plan_id=plan.plan_id,
            number=commit.next_group(),
            seq=commit.next_seq(),
            line=plan.line,
            attempt=plan.attempt,
            reason=reason,
            parent_group_id=plan.current_group_id,
            superseded=False,
            state=plan.progress,
            state_hash=state_hash(plan.progress, [(c.resource, c.snapshot) for c in checkpoints]),
            checkpoints=tuple(checkpoints),
            created_at=self.clock.now(),
        )
        commit.db.checkpoints.add(group)
        for index in commit.ended_steps:
            commit.db.entries.close(plan.plan_id, index, group)
        if reason.is_of_sandboxes:
            commit.db.entries.close_cut_off(group)
        commit.plan = at_group(plan, group)
        if run.in_place and "event" not in reason.metadata and commit.db.agents.any():
            commit.db.agents.add(own_moment(group))
        pruned = self._retain(commit.db, run, commit.plan)
        commit.record(self._entry(group))
        if pruned:
            commit.record(Entry(type=EventType.PRUNED, data={"groups": list(pruned)}, at=self.clock.now()))
        commit.afterwards(lambda: run.kept(group, len(pruned)))
        return group

    def add_guidance(
        self,
        commit: Commit,
        run: Run,
        correction: Correction,
        decision: Decision,
        checkpoints: Sequence[Checkpoint],
    ) -> None:
        """Record a correction: begin the next attempt from `checkpoints`, with the guidance as `decision`.

        Like every decision the guidance has its own group: the plan continues from there with it, and a return to an
        earlier group supersedes it.
        """
        commit.record(decision, decided(decision))
        commit.db.corrections.add(correction)
        progress = commit.plan.progress
        progress = replace(progress, decisions=(*progress.decisions, decision.content()))
        commit.plan = replace(commit.plan, attempt=correction.attempt, progress=progress)
        reason = reason_for(CheckpointType.DECISION, {"step": decision.step_name}, between_steps=True)
        reason = replace(reason, decision_id=decision.decision_id)
        group = self.add_group(commit, run, reason, checkpoints)
        commit.afterwards(lambda: run.reset_to(group))

    def present(self, run: Run) -> list[Checkpoint]:
        """Capture the sandboxes as checkpoints. The caller holds the store until rows refer to them."""
        return self._checkpoints(run, self.manager.capture(run))

    def stored(self, run: Run, snapshots: Mapping[str, Snapshot]) -> list[Checkpoint]:
        """Return checkpoints of snapshots that are stored, by resource. The caller holds the store, as above."""
        captures = [
            Capture(snapshot=snapshots[sandbox.resource], size_bytes=0, files=0, unheld=())
            for sandbox in run.sandboxes
        ]
        return self._checkpoints(run, captures)

    def checkpoints_again(self, run: Run, group: CheckpointGroup) -> list[Checkpoint]:
        """Return new checkpoints of a group that was just restored, without a capture."""
        found: list[Checkpoint] = []
        for sandbox in run.sandboxes:
            old = group.checkpoint_of(sandbox.resource)
            new_id = CheckpointId(self.ids.new())
            new = replace(old, checkpoint_id=new_id, sandbox_ref="", size_bytes=0, modified=False)
            found.append(self._published(sandbox, new, old))
        return found

    def _checkpoints(self, run: Run, captures: Sequence[Capture]) -> list[Checkpoint]:
        pairs = list(zip(run.sandboxes, captures, strict=True))
        return [self._checkpoint(run, s, c) for s, c in one_by_one(pairs, "checkpoints made", run.observer)]

    def _checkpoint(self, run: Run, sandbox: Sandbox, capture: Capture) -> Checkpoint:
        before = run.latest.get(sandbox.resource)
        modified = before is None or not capture.snapshot.same_as(before.snapshot)
        new = Checkpoint(
            checkpoint_id=CheckpointId(self.ids.new()),
            resource=sandbox.resource,
            snapshot=capture.snapshot,
            sandbox_ref="",
            filesystem_path=sandbox.path,
            size_bytes=capture.size_bytes + run.added_bytes.get(sandbox.resource, 0) if modified else 0,
            modified=modified,
        )
        return self._published(sandbox, new, before)

    def _published(self, sandbox: Sandbox, new: Checkpoint, after: Checkpoint | None) -> Checkpoint:
        at = time_of(new.checkpoint_id)  # known again when the commit has to be made again
        return self.manager.publish(sandbox, Publication(checkpoint=new, after=after, at=at))

    def _retain(self, db: Transaction, run: Run, plan: Plan) -> Sequence[GroupId]:
        plan_id, limit = plan.plan_id, run.settings.max_checkpoints
        if plan.definition.agent:
            due = db.checkpoints.count(plan_id, superseded=True) % _SELDOM == 0
            return self._retain_of_agent(db, run, plan) if due else ()
        at_work = db.checkpoints.count_at_work(plan_id)
        others = db.checkpoints.count(plan_id, superseded=True) - at_work
        excess, passing = max(0, others - limit), at_work - room_at_work(limit, min(others, limit))
        if not excess and passing <= 0:
            return ()
        needed = groups_needed(db, plan)
        pruned: list[GroupId] = []
        if excess:
            groups = db.checkpoints.expendable(plan_id, plan.attempt, excess + len(needed))
            pruned += plan_retention(groups, limit=len(groups) - excess, needed=needed).prune
        if passing > 0:
            oldest = db.checkpoints.at_work(plan_id, passing + len(needed))
            pruned += oldest_at_work(oldest, excess=passing, needed=needed)
        if pruned:
            db.checkpoints.remove(pruned)
        return pruned

    def prune_of_agent(self, run: Run) -> None:
        """Prune what an agent's session, in which nothing happens any longer, has too much of."""
        with run.commit("prune.record") as commit:
            pruned = self._retain_of_agent(commit.db, run, run.plan)
            if pruned:
                data: JsonObject = {"groups": list(pruned)}
                commit.record(Entry(type=EventType.PRUNED, data=data, at=self.clock.now()))
        run.pruned += len(pruned)

    def _retain_of_agent(self, db: Transaction, run: Run, plan: Plan) -> Sequence[GroupId]:
        since = self.clock.now() - timedelta(days=run.settings.agent_keep_days)
        limit, needed = run.settings.agent_keep_bytes, groups_needed(db, plan)
        prune = too_old_or_large(db.agents.groups(plan.plan_id), since=since, limit=limit, needed=needed)
        db.checkpoints.remove(prune)
        return prune

    def _entry(self, group: CheckpointGroup) -> Entry:
        return Entry(
            type=EventType.CHECKPOINT,
            data={
                "group_id": group.group_id,
                "checkpoint_id": group.first_checkpoint_id,
                "number": group.number,
                "checkpoint_type": group.reason.type.value,
                "label": group.reason.label,
                "step_index": group.step_index,
            },
            at=group.created_at,
        )


def _not_before(record: Record, at: datetime) -> Record:
    """Return what follows a group with a time that is not before the group's."""
    return replace(record, at=max(record.at, at)) if isinstance(record, Entry) else record


def own_moment(group: CheckpointGroup, kind: CheckpointType | None = None) -> AgentMoment:
    """Return the moment of a group that no hook asked for: what changes from then on is not what changed before."""
    return AgentMoment(
        number=0,  # assigned when it is written
        plan_id=group.plan_id,
        kind=f"{OWN_GROUP}{(kind or group.reason.type).value}",
        entry=None,
        call_id=None,
        group_id=group.group_id,
        created_at=group.created_at,
    )


def groups_needed(db: Transaction, plan: Plan) -> dict[GroupId, str]:
    """Return the groups of a plan that something depends on, each with the reason.

    These are its current state, the targets of unfinished work, and what is needed for an unapply, for each redo, and
    for an undo of its newest step in place and of its newest restore of paths.
    """
    plan_id = plan.plan_id
    turns = [change.group_id for change in db.real_changes.list(plan_id)]
    redoable = [entry for entry in db.entries.to_redo() if entry.plan_id == plan_id]
    undos: list[GroupId | None] = []
    for entry in redoable:
        turns += entry.undone_from, entry.undone_to
    in_place = any(sandbox.strategy is Strategy.IN_PLACE for sandbox in db.sandboxes.list(plan_id))
    for entry in (*redoable, *db.entries.to_undo(plan_id)):  # what is redone can be undone again
        undos += (entry.before_group, entry.after_group) if in_place or entry.kind.is_restore else ()
    targets = [intent.needed for intent in db.intents.list(plan_id)]
    reasons = (
        (OF_A_GRAPH, db.graph_positions.groups(plan_id)),
        (UNDOABLE, undos),
        (TURNABLE, turns),
        (CURRENT, [plan.current_group_id]),
        (UNFINISHED, targets),
    )
    return {group: reason for reason, groups in reasons for group in groups if group is not None}


def pruned_by_another(db: Transaction, run: Run, *, needed: GroupId) -> frozenset[GroupId]:
    """Return the groups that retention would remove if an unlabelled one were taken, while `needed` must stay."""
    another = GroupSummary(
        group_id=GroupId(""), attempt=run.plan.attempt, superseded=False, labelled=False, between_steps=False
    )
    if run.plan.definition.agent:  # by age and bytes, which a group of the present contents adds nothing to
        return frozenset()
    verdict = plan_retention(
        [*db.checkpoints.summaries(run.plan.plan_id), another],
        limit=run.settings.max_checkpoints,
        needed=groups_needed(db, run.plan) | {needed: UNFINISHED},
    )
    return frozenset(verdict.prune)


def what_is_not_held(resource: str, capture: Capture) -> tuple[str, ...]:
    """Return a message for each path of a resource that its snapshot cannot hold, or holds as it was read last."""
    unheld = (f"{resource}: cannot hold {unheld.path} ({unheld.reason})" for unheld in capture.unheld)
    busy = (f"{resource}: {path} never held still, and is held as it was read last" for path in capture.busy)
    return (*unheld, *busy)


def _with_busy(reason: Reason, run: Run, captures: Sequence[Capture]) -> Reason:
    """Name the files that did not hold still in the metadata of the group."""
    busy: list[Json] = [
        {"resource": sandbox.resource, "path": path}
        for sandbox, capture in zip(run.sandboxes, captures, strict=True)
        for path in capture.busy
    ]
    return replace(reason, metadata={**reason.metadata, "still": False, "busy": busy}) if busy else reason


def _new_messages(run: Run, captures: Sequence[Capture]) -> list[str]:
    pairs = zip(run.sandboxes, captures, strict=True)
    found = [text for sandbox, capture in pairs for text in what_is_not_held(sandbox.resource, capture)]
    return [text for text in found if text not in run.plan.messages]


def decided(decision: Decision) -> Entry:
    """Return the log entry of a decision."""
    data: JsonObject = {
        "decision_id": decision.decision_id,
        "question": decision.choice.question,
        "chosen": decision.choice.chosen,
        "by": decision.type.value,
    }
    return Entry(type=EventType.DECISION, data=data, at=decision.created_at)


def reason_for(type: CheckpointType, metadata: JsonObject, *, between_steps: bool) -> Reason:
    """Return the reason of a group that has neither a label nor a decision."""
    return Reason(
        type=type,
        label=None,
        between_steps=between_steps,
        decision_id=None,
        metadata={"reason": type.value, "phase": "execute", **metadata},
    )


def at_group(plan: Plan, group: CheckpointGroup) -> Plan:
    """Return the plan with the group as its latest."""
    if group.reason.type in _NO_STATES:
        return replace(plan, updated_at=group.created_at)  # a group of real resources is not a plan state
    return replace(
        plan,
        current_group_id=group.group_id,
        last_checkpoint_id=group.first_checkpoint_id,
        updated_at=group.created_at,
    )
