"""Finds the processes that calls of agents left running, and ends them where a user asks for that."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from mulligan.application.timeline.attributions import Attributions, NamedCall
from mulligan.domain.agents.agent_session import AgentSession
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.domain.agents.left_process import TICKS, CallTime, LeftProcess, RunningProcess, left_by
from mulligan.domain.history.timeline_entry import DeedKind
from mulligan.domain.plans.tool import CallStatus
from mulligan.domain.text.ids import PlanId
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

# Returns the running processes of an agent's session in a folder, or by marks those of all its sessions; ends one, and
# returns whether it is gone.
ProcessesOf: TypeAlias = Callable[[str, Sequence[str], str], Sequence[RunningProcess]]
EndProcess: TypeAlias = Callable[[RunningProcess], bool]


class LeftProcesses(Struct, kw_only=True, frozen=True, eq=False):
    """The processes that calls of agents left running."""

    database: Database
    attributions: Attributions
    processes_of: ProcessesOf
    end_process: EndProcess

    def of_entry(self, number: int, *, end: bool) -> Sequence[LeftProcess]:
        """Return those of the calls of a prompt; with `end` they are ended. Other entries have none."""
        with self.database.reading() as db:
            if db.entries.get(number).kind is not DeedKind.PROMPT:
                return ()
            calls = self.attributions.named_calls(db, number)
        return self.of_calls(calls, end=end)

    def of_words(self, words: Sequence[str], *, end: bool) -> Sequence[LeftProcess]:
        """Return those of the sessions, prompts and calls that these words name."""
        return self.of_calls(self.attributions.find(words).calls, end=end)

    def of_calls(self, calls: Iterable[NamedCall], *, end: bool = False) -> Sequence[LeftProcess]:
        """Return those of some calls, in the order of their ids."""
        found: list[LeftProcess] = []
        for plan_id, own in _by_plan(calls).items():
            with self.database.reading() as db:
                session = db.agents.of_plan(plan_id)
                times = [_time_of(db, named) for named in own]
                folder = next((s.path for s in db.sandboxes.list(plan_id)), None)
            if session is None or folder is None:
                continue
            for process, each in left_by(self._running(session, folder), times):
                found.append(
                    LeftProcess(
                        pid=process.pid,
                        command=process.command,
                        call=each.name,
                        started_at=process.started_at,
                        ended=end and self.end_process(process),
                    )
                )
        return sorted(found, key=lambda each: each.pid)

    def _running(self, session: AgentSession, folder: str) -> Iterator[RunningProcess]:
        """Yield the processes of a session, without those that another session of its agent may have started."""
        marks = AGENTS[session.agent].command_marks if session.agent in AGENTS else ()
        for process in self.processes_of(session.session, marks, folder):
            if marks:
                with self.database.reading() as db:
                    if db.agents.others_at_work(session, process.begun_at - TICKS, process.begun_at + TICKS):
                        continue
            yield process

    def sessions_at_work(self) -> Sequence[PlanId]:
        """Return the plans of the sessions that have an open call whose processes run."""
        with self.database.reading() as db:
            prompts = [each for each in db.entries.left_open() if each.kind is DeedKind.PROMPT]
            calls = [each for entry in prompts for each in self.attributions.named_calls(db, entry.number)]
        running = [each for each in calls if each.call.status is CallStatus.RUNNING and each.is_command]
        return [plan_id for plan_id, own in _by_plan(running).items() if self.of_calls(own)]


def _by_plan(calls: Iterable[NamedCall]) -> dict[PlanId, list[NamedCall]]:
    found: dict[PlanId, list[NamedCall]] = {}
    for named in calls:
        found.setdefault(named.call.plan_id, []).append(named)
    return found


def _time_of(db: Transaction, named: NamedCall) -> CallTime:
    """Return when a call may have started processes: until its end, or until the event that showed it was cut off."""
    call = named.call
    until: datetime | None = None
    if call.status is not CallStatus.RUNNING and not call.detail.get("background"):
        until = db.agents.ended_at(call)
    return CallTime(name=named.name, call=call, until=until)
