"""Records what an agent's hook reports: sessions, prompts and calls, and the files at each of these moments.

An event that follows is the only witness of what happened before it: hooks after a call do not always come. So each
event captures the folder first. What changed outside of any call is a `found` group; what changed since a call that has
no end belongs to that call.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.application.agents.session_plans import SessionPlans
from mulligan.application.checkpoints.checkpoint_service import CheckpointService, reason_for
from mulligan.application.runs.commit import Commit, Entry
from mulligan.application.runs.run import Run
from mulligan.application.timeline.cut_off_work import CutOffWork
from mulligan.application.timeline.known_moments import acts_apart, changed_apart_from
from mulligan.application.timeline.left_processes import LeftProcesses
from mulligan.application.timeline.only_undo import OnlyUndoService
from mulligan.application.timeline.redoable_entries import clear_redo
from mulligan.domain.agents.agent_event import AgentEvent, EventKind, HookAnswer
from mulligan.domain.agents.agent_session import UNSEEN_PROMPT, AgentMoment, AgentSession, prompt_title
from mulligan.domain.agents.conversation import Lineage, left_behind, not_offered, reverted_from
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup, Reason
from mulligan.domain.history.timeline_entry import DeedKind, DeedStatus, TimelineEntry
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.step import StepRecord, StepStatus, milliseconds
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CallId, GroupId
from mulligan.domain.text.inert_text import harmless
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.domain.trees.tree_difference import without_hidden
from mulligan.errors import Advice, CheckpointNotFound, MulliganError, NextStep
from mulligan.ports import Clock, Ids, Observer, SnapshotStore
from mulligan.rows.database import Database

_CALLS = (EventKind.BEFORE_CALL, EventKind.AFTER_CALL)
_ENDS = (EventKind.STOP, EventKind.INTERRUPT, EventKind.SESSION_END)
_NAMED = 20  # files in the context for the agent
_LONGEST = 400  # characters of the name of each

# Returns the prompts that a prompt continues from, out of the agent's transcript at a path.
ConversationOf: TypeAlias = Callable[[str, str], Lineage | None]


class AgentEventService(Struct, kw_only=True, frozen=True, eq=False):
    """Handles the events of agents, one at a time."""

    database: Database
    agent_plans: SessionPlans
    checkpoints: CheckpointService
    store: SnapshotStore
    only_undos: OnlyUndoService
    left_processes: LeftProcesses
    cut_off: CutOffWork
    conversation_of: ConversationOf
    ids: Ids
    clock: Clock

    def handle(self, event: AgentEvent, observer: Observer) -> HookAnswer:
        """Record an event; when this returns, what the files were is durable."""
        with self.agent_plans.one_by_one():
            session = self.agent_plans.find(event)
            if session is None:
                if event.kind in (*_ENDS, EventKind.SUBAGENT_STOP, EventKind.WENT_BACK):
                    return HookAnswer()
                self.agent_plans.prune_idle(observer)
                session = self.agent_plans.begin(event)
            gone = self._left_behind(session, event)
            follows = bool(gone) and self.agent_plans.settings.for_plan({}).agent_follow_conversation
            message = self._followed(gone, observer) if follows else _offer(gone)
            with self.agent_plans.claimed(session, observer) as run:
                answer = self._recorded(run, session, event)
            said = [text for text in (message, self._still_running(session, event)) if text]
            return replace(answer, message=_lines(said)) if said else answer

    # --- processes -----------------------------------------------------------------------------------------

    def _still_running(self, session: AgentSession, event: AgentEvent) -> str | None:
        """Name the processes that calls which this event cut off left running."""
        if event.kind not in (EventKind.PROMPT, EventKind.STOP, EventKind.INTERRUPT) or session.entry is None:
            return None
        with self.database.reading() as db:
            named = self.left_processes.attributions.named_calls(db, session.entry)
            newest = db.agents.newest(session.plan_id)
        now = newest.group_id if newest is not None else None
        cut_off = [each for each in named if each.call.status is CallStatus.INTERRUPTED]
        cut_off = [each for each in cut_off if each.call.detail.get("until") == now]
        left = self.left_processes.of_calls(cut_off) if cut_off else ()
        if not left:
            return None
        words = "; ".join(
            f"process {each.pid} of call {each.call} ({each.command})" for each in left[:_NAMED]
        )
        pids = " ".join(str(each.pid) for each in left)
        return f"mulligan: still running after a call was cut off: {words}. To end what runs: kill {pids}"

    def processes(self, agent: str, name: str) -> Sequence[int] | None:
        """Return the processes of the commands of a session that are open; None: none is."""
        with self.database.reading() as db:
            session = db.agents.session(agent, name)
            if session is None or session.entry is None:
                return None
            called = self.left_processes.attributions.named_calls(db, session.entry)
        running = [each for each in called if each.call.status is CallStatus.RUNNING and each.is_command]
        if not running:
            return None
        return [each.pid for each in self.left_processes.of_calls(running)]

    def end_calls(self, agent: str, name: str, observer: Observer) -> None:
        """Keep the present files as the end of the calls of a session that are open, if no process of these runs."""
        with self.agent_plans.one_by_one():
            if self.processes(agent, name) != []:
                return
            with self.database.reading() as db:
                session = db.agents.session(agent, name)
            assert session is not None, "it has open calls"
            with self.agent_plans.claimed(session, observer) as run:
                self.cut_off.keep_end(run)
                with self.database.writing() as db:
                    for call in db.tool_calls.running(session.plan_id):
                        over: JsonObject = {"over": run.plan.current_group_id}
                        db.tool_calls.save(replace(call, detail=call.detail | over))

    # --- the conversation ----------------------------------------------------------------------------------

    def _left_behind(self, session: AgentSession, event: AgentEvent) -> Sequence[TimelineEntry]:
        """Return the prompts that changed files and that the user left behind in the conversation, each time once."""
        with self.database.reading() as db:
            entries = db.entries.live_of(session.plan_id)
            own = next((entry for entry in entries if entry.number == session.entry), None)
        if event.kind is EventKind.WENT_BACK and event.prompt is not None:
            return self._to_offer(reverted_from(entries, event.prompt), None)
        if own is None or event.transcript is None or own.detail.get("looked"):
            return ()
        if event.kind not in (EventKind.BEFORE_CALL, EventKind.STOP) or session.prompt is None:
            return ()
        lineage = self.conversation_of(event.transcript, session.prompt)
        if lineage is None:
            return ()
        return self._to_offer(left_behind(entries, lineage, session.prompt), own)

    def _to_offer(self, gone: Sequence[TimelineEntry], own: TimelineEntry | None) -> Sequence[TimelineEntry]:
        """Return what was not offered yet, and remember that it is offered now."""
        offered = not_offered(gone)
        with self.database.writing() as db:
            for entry in offered:
                db.entries.note(entry, {"offered": True})
            if own is not None:
                db.entries.note(own, {"looked": True})
        return offered

    def _followed(self, gone: Sequence[TimelineEntry], observer: Observer) -> str:
        """Take back what was done for prompts that were left behind; offer it where that is refused."""
        try:
            done = self.only_undos.undo([str(entry.number) for entry in gone], observer, dry_run=False)
        except MulliganError as exc:
            return Advice(*_offer_parts(gone), f" (it was not done, because {exc.text})")
        return Advice(
            f"mulligan: the conversation went back, and {len(done.changes_reverted)} paths with it; ",
            NextStep("redo"),
            " brings them back",
        )

    def _recorded(self, run: Run, session: AgentSession, event: AgentEvent) -> HookAnswer:
        with self.database.reading() as db:
            seen = db.agents.newest(run.plan.plan_id)
            running = db.tool_calls.running(run.plan.plan_id)
            went_back = seen is not None and db.agents.went_back_since(seen.created_at)
        moment = _Moment(service=self, run=run, session=session, event=event, running=running)
        self.checkpoints.keep_present(run, moment.reason(), moment.write)
        if event.kind is EventKind.PROMPT and seen is not None and went_back:
            return HookAnswer(context=self._differences(run, seen.group_id))
        return HookAnswer()

    def _differences(self, run: Run, seen: GroupId) -> str | None:
        """Return which files differ from what the agent last saw; None: none do, or that is not known."""
        assert run.plan.current_group_id is not None, "an event has a group"
        try:
            with self.database.reading() as db:
                old, new = db.checkpoints.get(seen), db.checkpoints.get(run.plan.current_group_id)
        except CheckpointNotFound:
            return "Files were brought back to an earlier state since your last turn; read them again."
        paths = self._paths(run, old, new)
        if not paths:
            return None
        more = f"\n… and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        listed = "\n".join(f"- {harmless(path)[:_LONGEST]}" for path in paths[:_NAMED])  # one line for each
        return (
            "The user took changes back, or brought some back, with mulligan since your last turn. "
            f"These files differ from what you last saw; read them again before you rely on them:\n{listed}{more}"
        )

    def _paths(self, run: Run, old: CheckpointGroup, new: CheckpointGroup) -> list[str]:
        found: list[str] = []
        with self.store.hold():
            for checkpoint in new.checkpoints:
                before = old.snapshot_of(checkpoint.resource).roots[0]
                differences = self.store.difference(before, checkpoint.snapshot.roots[0])
                shown, _ = without_hidden(differences, run.plan.hidden)
                found += [
                    f"{each.path} (removed)" if each.new is None else each.path
                    for each in shown
                    if each.of_files
                ]
        return found


def _lines(texts: Sequence[str]) -> str:
    parts = [part for text in texts for part in ("\n", text)]
    return Advice(*parts[1:])


def _offer(gone: Sequence[TimelineEntry]) -> str | None:
    return Advice(*_offer_parts(gone)) if gone else None


def _offer_parts(gone: Sequence[TimelineEntry]) -> tuple[str | NextStep, ...]:
    numbers = tuple(str(entry.number) for entry in gone)
    said = (
        f"mulligan: the conversation went back, and what was done for {'prompts' if gone[1:] else 'prompt'} "
    )
    return (
        f"{said}{', '.join(numbers)} is still in the files; to take it back: ",
        NextStep("undo", only=numbers),
    )


class _Moment(Struct, kw_only=True, frozen=True, eq=False):
    """One event of a session, and the rows that it leads to."""

    service: AgentEventService
    run: Run
    session: AgentSession
    event: AgentEvent
    running: Sequence[ToolCall]  # calls of the session without an end, the oldest first

    def reason(self) -> Reason:
        """Return why a group is taken, where the files differ from those of the last one."""
        event = self.event
        type, between = CheckpointType.FOUND, event.kind not in _CALLS
        if event.kind is EventKind.AFTER_CALL:
            type = CheckpointType.ON_TOOL_WRITE_COMPLETE
        elif event.kind is EventKind.BEFORE_CALL and self.running:
            type = CheckpointType.ON_TOOL_WRITE
        cut_off: list[Json] = [call.call_id for call in self.running] if type is CheckpointType.FOUND else []
        known: JsonObject = {
            "agent": event.agent,
            "session": event.session,
            "event": event.kind.value,
            "prompt": event.prompt or self.session.prompt,
            "call": event.call,
            "tool": event.tool,
            "subagent": event.subagent,
            "calls": cut_off,
        }
        metadata: JsonObject = {key: value for key, value in known.items() if value}
        if event.background or (event.kind not in _CALLS and self.running):
            metadata["still"] = False
        return reason_for(type, metadata, between_steps=between)

    def write(self, commit: Commit, group_id: GroupId) -> None:
        """Write the rows of the event; the group holds the files of this moment."""
        now = self.service.clock.now()
        session, call_id = self.session, None
        match self.event.kind:
            case EventKind.PROMPT if self.event.prompt is None or self.event.prompt != session.prompt:
                self._end(commit, group_id, now, DeedStatus.DONE)
                session = self._begin(commit, group_id, now, prompt_title(self.event.text))
            case EventKind.BEFORE_CALL:
                session = self._with_own_entry(commit, self._with_entry(commit, group_id, now), group_id, now)
                call_id = self._begin_call(commit, session, group_id, now)
            case EventKind.AFTER_CALL:
                call = self._paired()
                session = self._with_entry(commit, self._since_undo(commit, call) or group_id, now)
                call_id = self._end_call(commit, session, call, group_id, now)
            case EventKind.STOP if self.event.background and session.entry is not None:
                self._reach(commit, session.entry, DeedStatus.RUNNING, group_id)  # another stop follows
            case EventKind.STOP | EventKind.INTERRUPT | EventKind.SESSION_END:
                stopped = self.event.kind is EventKind.INTERRUPT
                self._end(commit, group_id, now, DeedStatus.INTERRUPTED if stopped else DeedStatus.DONE)
                session = replace(session, entry=None)
            case _:
                pass  # the moment alone
        ended = now if self.event.kind is EventKind.SESSION_END else None
        session = replace(session, ended_at=ended)
        if session != self.session:
            commit.db.agents.save(session)
        commit.db.agents.add(
            AgentMoment(
                number=0,  # assigned when it is written
                plan_id=self.run.plan.plan_id,
                kind=self.event.kind.value,
                entry=session.entry or self.session.entry,
                call_id=call_id,
                group_id=group_id,
                created_at=now,
            )
        )

    # --- prompts -------------------------------------------------------------------------------------------

    def _begin(self, commit: Commit, group_id: GroupId, now: datetime, title: str) -> AgentSession:
        """Record a prompt as a step, and as an entry of the timeline. It counts at once: nothing runs it again."""
        run, progress = self.run, commit.plan.progress
        index = progress.step_index
        progress = replace(progress, step_index=index + 1, steps=(*progress.steps, title))
        commit.plan = replace(commit.plan, progress=progress, updated_at=now)
        commit.afterwards(lambda: run.count_step(title))
        own = self.event.prompt or (None if self.event.kind is EventKind.PROMPT else self.session.prompt)
        entry = TimelineEntry(
            number=0,  # assigned when it is written, as is `seq`
            plan_id=run.plan.plan_id,
            kind=DeedKind.PROMPT,
            title=title,
            step_index=index,
            line=commit.plan.line,
            seq=0,
            status=DeedStatus.RUNNING,
            created_at=now,
            before_group=group_id,
            detail={
                "agent": self.event.agent,
                "session": self.event.session,
                **({"prompt": own} if own else {}),
            },
        )
        commit.record(
            StepRecord(index=index, name=title, status=StepStatus.RUNNING, duration_ms=None),
            Entry(
                type=EventType.STEP_STARTED,
                data={"index": index, "step": title, "about": None},
                at=now,
            ),
            entry,
        )
        number = commit.db.entries.last()
        commit.db.entries.reach(number, DeedStatus.RUNNING, group_id)
        return replace(self.session, entry=number, prompt=own)

    def _with_entry(self, commit: Commit, group_id: GroupId, now: datetime) -> AgentSession:
        """Return the session with the entry of its prompt: a new one where there is none, or it was undone since."""
        number = self.session.entry
        if number is None:
            return self._begin(commit, group_id, now, UNSEEN_PROMPT)
        entry = commit.db.entries.get(number)
        return self.session if entry.is_live else self._begin(commit, group_id, now, entry.title)

    def _with_own_entry(
        self, commit: Commit, session: AgentSession, group_id: GroupId, now: datetime
    ) -> AgentSession:
        """Return the session with an entry that holds nothing of others.

        What changed since the last call of the prompt is the work of others, if the agent left nothing running: the
        prompt continues as another entry then, so that an undo of either leaves that work alone.
        """
        assert session.entry is not None, "a call belongs to a prompt"
        entry = commit.db.entries.get(session.entry)
        if self.running or session.entry != self.session.entry or not entry.changed:
            return session
        assert entry.step_index is not None, "a prompt is a step"
        if entry.after_group == group_id or commit.db.tool_calls.any_in_background(
            entry.plan_id, entry.step_index
        ):
            return session
        self._end(commit, group_id, now, DeedStatus.DONE)
        return self._begin(commit, group_id, now, entry.title)

    def _end(self, commit: Commit, group_id: GroupId, now: datetime, status: DeedStatus) -> None:
        """Record that the prompt is answered, or was given up; calls without an end were cut off.

        Where the agent stops on its own, an edit without an end is one that failed: some agents report no end of it.
        """
        cut_off = False
        for call in self.running:
            failed = self.event.kind is EventKind.STOP and "paths" in call.detail
            cut_off = cut_off or not failed
            ended = CallStatus.FAILED if failed else CallStatus.INTERRUPTED
            until = call.detail.get("over") or group_id
            commit.record(replace(call, status=ended, detail=call.detail | {"until": until}))
        if self.session.entry is None:
            return
        entry = commit.db.entries.get(self.session.entry)
        assert entry.step_index is not None, "a prompt is a step"
        took = milliseconds(entry.created_at, now)
        data: JsonObject = {
            "index": entry.step_index,
            "step": entry.title,
            "about": None,
            "duration_ms": took,
        }
        commit.record(
            StepRecord(index=entry.step_index, name=entry.title, status=StepStatus.DONE, duration_ms=took),
            Entry(type=EventType.STEP_DONE, data=data, at=now),
        )
        end = DeedStatus.INTERRUPTED if cut_off else status
        # Without a call that may be at work, what changed since the last one is not the agent's.
        background = self.event.background or commit.db.tool_calls.any_in_background(
            entry.plan_id, entry.step_index
        )
        # Its processes are gone, or a user did something with mulligan since, such as an undo. An event of another
        # agent is not the end of a call, which this one shows.
        is_over = all("over" in call.detail or commit.db.agents.acted_apart(call) for call in self.running)
        last = entry.after_group if entry.after_group and is_over and not background else group_id
        self._reach(commit, entry.number, end, last)

    def _reach(self, commit: Commit, number: int, status: DeedStatus, group_id: GroupId) -> None:
        """Record how far the answer to a prompt got; what mulligan itself did meanwhile is not part of it."""
        self._reach_apart(commit, number, status, group_id)
        clear_redo(commit.db)

    def _reach_apart(self, commit: Commit, number: int, status: DeedStatus, group_id: GroupId) -> None:
        db = commit.db
        db.entries.reach(number, status, group_id)
        entry = db.entries.get(number)
        if not entry.changed:
            return
        if not entry.detail.get("apart"):
            if not any(db.agents.acted_during(call) for call in self.running):
                return
            db.entries.note(entry, {"apart": True})
        if not changed_apart_from(db, entry, acts_apart(db, entry)):
            db.entries.changed_nothing(number)

    # --- calls ---------------------------------------------------------------------------------------------

    def _begin_call(self, commit: Commit, session: AgentSession, group_id: GroupId, now: datetime) -> CallId:
        again = self._paired() if self.event.call is not None else None
        if again is not None:  # reported twice: the answer to the first report was lost
            return again.call_id
        call = self._call(commit, session, now)
        commit.record(call)
        assert session.entry is not None, "a call belongs to a prompt"
        # What changed until now is not its own, unless another call of it is at work.
        if not self.running and commit.db.entries.get(session.entry).changed is False:
            commit.db.entries.start_from(session.entry, group_id)
        commit.db.entries.begin_again(session.entry)
        return call.call_id

    def _since_undo(self, commit: Commit, call: ToolCall | None) -> GroupId | None:
        """Return what an undo of the prompt left while this call of it was open: what follows is the call's again."""
        number = self.session.entry
        if call is None or number is None or not commit.db.entries.get(number).undone:
            return None
        return commit.db.agents.left_by_undo(self.run.plan.plan_id)

    def _end_call(
        self,
        commit: Commit,
        session: AgentSession,
        call: ToolCall | None,
        group_id: GroupId,
        now: datetime,
    ) -> CallId:
        if call is None:  # its beginning was never reported
            call = self._call(commit, session, now)
            commit.record(call)
        assert session.entry is not None, "a call belongs to a prompt"
        entry = commit.db.entries.get(session.entry)  # a new one, if the prompt was undone meanwhile
        assert entry.step_index is not None, "a prompt is a step"
        call = replace(call, step_index=entry.step_index, step_name=entry.title)
        status = CallStatus.FAILED if self.event.failed else CallStatus.DONE
        detail: JsonObject = {**call.detail, "entry": entry.number}
        if self.event.background:
            detail["background"] = True
        if self.event.delegate:
            detail["delegate"] = self.event.delegate
        took = milliseconds(call.started_at, now)
        data: JsonObject = {
            "call_id": call.call_id,
            "index": call.step_index,
            "step": call.step_name,
            "tool": call.tool,
            "status": status.value,
            "duration_ms": took,
            "error": None,
            "exit_status": None,
        }
        commit.record(
            replace(call, status=status, detail=detail, duration_ms=took),
            Entry(type=EventType.TOOL_CALLED, data=data, at=now),
        )
        others = [each for each in self.running if each.call_id != call.call_id]
        if not others:
            self._reach(commit, entry.number, DeedStatus.RUNNING, group_id)
        return call.call_id

    def _paired(self) -> ToolCall | None:
        """Return the call that ends: by the agent's id, else the oldest of the same tool with the same input."""
        if self.event.call is not None:
            same = (call for call in self.running if call.detail.get("call") == self.event.call)
        else:
            same = (
                call
                for call in self.running
                if call.tool == (self.event.tool or "")
                and call.arguments.get("summary") == self.event.summary
            )
        return next(same, None)

    def _call(self, commit: Commit, session: AgentSession, now: datetime) -> ToolCall:
        event, progress = self.event, commit.plan.progress
        known: JsonObject = {
            "call": event.call,
            "entry": session.entry,
            "subagent": event.subagent,
            "paths": list[Json](event.paths),
            "folder": event.folder if event.paths else None,
        }
        return ToolCall(
            call_id=CallId(self.service.ids.new()),
            plan_id=self.run.plan.plan_id,
            seq=0,  # assigned when it is written
            line=commit.plan.line,
            done_seq=None,
            step_index=progress.step_index - 1,
            step_name=progress.steps[-1],
            tool=event.tool or "",
            resource=self.run.plan.definition.resources[0].name,
            arguments={"summary": event.summary},
            status=CallStatus.RUNNING,
            output=None,
            detail={key: value for key, value in known.items() if value},
            error=None,
            superseded=False,
            started_at=now,
            duration_ms=None,
        )
