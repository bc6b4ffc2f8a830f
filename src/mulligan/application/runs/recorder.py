"""Writes records of a run in order, each with its sequence number."""

from collections.abc import Sequence

from msgspec.structs import replace

from mulligan.application.runs.run import Entry, Record, Run
from mulligan.boundaries import act
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import Event
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.step import StepRecord
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.ports import Clock
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction


class Recorder:
    """The one place where a run's records become rows."""

    def __init__(self, *, database: Database, clock: Clock) -> None:
        """Write to this database."""
        self._database = database
        self._clock = clock

    def write(self, db: Transaction, plan: Plan, records: Sequence[Record]) -> list[Event]:
        """Write records inside a transaction; gives the events, to be shown once it is committed."""
        events: list[Event] = []
        seqs = db.plans.next_seqs(plan.plan_id, sum(not isinstance(r, StepRecord) for r in records))
        for record in records:
            match record:
                case Entry():
                    event = Event(
                        plan_id=plan.plan_id,
                        seq=next(seqs),
                        type=record.type,
                        data=record.data,
                        created_at=record.at,
                    )
                    db.events.add(event)
                    events.append(event)
                case StepRecord():
                    db.steps.save(plan.plan_id, record)
                case ToolCall(status=CallStatus.RUNNING):
                    db.tool_calls.add(replace(record, seq=next(seqs)))
                case ToolCall():
                    db.tool_calls.save(replace(record, done_seq=next(seqs)))
                case Decision():
                    db.decisions.add(replace(record, seq=next(seqs)))
        return events

    def record(self, run: Run, plan: Plan, records: Sequence[Record]) -> None:
        """Write all that is pending, then these records and where the plan stands, in one transaction."""
        with act("plan.record"), self._database.writing_as(run.claim) as db:
            events = self.write(db, plan, [*run.pending, *records])
            db.plans.save(plan)
        run.plan = plan
        run.pending = []
        self.show(run, events)

    def move(self, run: Run, phase: Phase, state: State, records: Sequence[Record]) -> None:
        """Bring the plan into another phase and state."""
        self.record(run, run.plan.moved_to(phase, state, self._clock.now()), records)

    def show(self, run: Run, events: Sequence[Event]) -> None:
        """Tell the run's observer what was recorded."""
        for event in events:
            run.observer.event(event)
