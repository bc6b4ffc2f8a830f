"""The unit of work of a run: one transaction, and the updates of the run once it is committed."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.history.timeline_entry import DeedStatus, TimelineEntry
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.step import Step, StepRecord, StepStatus, about
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject
from mulligan.rows.tables.plan_rows import Counters
from mulligan.rows.transaction import Transaction


class Entry(Struct, frozen=True, kw_only=True):
    """An entry for the plan's log, without its sequence number."""

    type: EventType
    data: JsonObject
    at: datetime


def step_data(index: int, step: Step) -> JsonObject:
    """Return what the log entries of a step have in common."""
    return {"index": index, "step": step.name, "about": about(step)}


Record: TypeAlias = Entry | ToolCall | StepRecord | Decision | TimelineEntry
_DEEDS = {  # what becomes of the timeline's entry of a step
    StepStatus.DONE: DeedStatus.DONE,
    StepStatus.FAILED: DeedStatus.FAILED,
    StepStatus.PENDING: DeedStatus.INTERRUPTED,
}


class Commit:
    """One change of a plan's state, inside its transaction.

    Assign `plan` to save another state of the plan: it is written once, at the end.
    """

    def __init__(self, db: Transaction, plan: Plan) -> None:
        self.db = db
        self.plan = plan
        self.events: list[Event] = []  # shown once they are committed
        self.lessons: list[Callable[[], None]] = []
        self._before = plan
        self._log = _Log(db, plan.plan_id)

    def record(self, *records: Record) -> list[Event]:
        """Write records in order, and return those that are events."""
        events = [event for record in records if (event := self._log.write(record))]
        self.events += events
        return events

    @property
    def ended_steps(self) -> list[int]:
        """The steps whose end this transaction records."""
        return self._log.ended

    def next_seq(self) -> int:
        """Take the plan's next sequence number."""
        return self._log.next_seq()

    def next_group(self) -> int:
        """Take the number of the plan's next checkpoint group."""
        return self._log.next_group()

    def afterwards(self, learn: Callable[[], None]) -> None:
        """Call this once the transaction is committed."""
        self.lessons.append(learn)

    def complete(self) -> None:
        """Write the numbers used last, and the plan if it changed."""
        self._log.close()
        if self.plan is not self._before:
            self.db.plans.save(self.plan)


def write_records(db: Transaction, plan_id: PlanId, *records: Record) -> None:
    """Write records of a plan that has no run in this process, such as a new one."""
    log = _Log(db, plan_id)
    for record in records:
        log.write(record)
    log.close()


class _Log:
    """Writes records of a plan as numbered rows; the numbers used last are saved once."""

    def __init__(self, db: Transaction, plan_id: PlanId) -> None:
        self._db = db
        self._plan_id = plan_id
        self._used: Counters | None = None
        self.ended: list[int] = []  # indexes of steps

    def next_seq(self) -> int:
        used = self._counters()
        used.seq += 1
        return used.seq

    def next_group(self) -> int:
        used = self._counters()
        used.groups += 1
        return used.groups

    def close(self) -> None:
        if self._used is not None:
            self._db.plans.set_counters(self._plan_id, self._used)

    def _counters(self) -> Counters:
        if self._used is None:
            self._used = self._db.plans.counters(self._plan_id)
        return self._used

    def write(self, record: Record) -> Event | None:
        match record:
            case Entry():
                event = Event(
                    plan_id=self._plan_id,
                    seq=self.next_seq(),
                    type=record.type,
                    data=record.data,
                    created_at=record.at,
                )
                self._db.events.add(event)
                return event
            case StepRecord():
                self._db.steps.save(self._plan_id, record)
                if record.status in _DEEDS:
                    self._db.entries.end(self._plan_id, record.index, _DEEDS[record.status])
                    self.ended.append(record.index)
            case TimelineEntry():
                self._db.entries.add(replace(record, seq=self.next_seq()))
            case ToolCall(status=CallStatus.RUNNING):
                self._db.tool_calls.add(replace(record, seq=self.next_seq()))
            case ToolCall():
                self._db.tool_calls.save(replace(record, done_seq=self.next_seq()))
            case Decision():
                self._db.decisions.add(replace(record, seq=self.next_seq()))
        return None
