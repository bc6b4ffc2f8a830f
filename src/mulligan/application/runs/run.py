"""A run: a claimed plan, in the process that works on it."""

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, field
from msgspec.structs import replace

from mulligan.application.runs.commit import Commit, Entry, Record
from mulligan.boundaries import act
from mulligan.config import Settings
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, PlanState
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.plans.event import Event, EventType
from mulligan.domain.plans.plan import Phase, Plan, State
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.resources.resource import Sandbox, Strategy, is_in_place
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import MulliganError
from mulligan.ports import Claim, Observer, Streams
from mulligan.rows.database import Database


def at_work(plan: Plan, now: datetime) -> Entry:
    """Return the log entry for the start or resume of a plan."""
    data: JsonObject = {"state": plan.state.value, "steps": len(plan.definition.steps)}
    return Entry(type=EventType.PLAN_STATE, data=data, at=now)


def finished_state(run: "Run") -> tuple[Phase, State]:
    """Return the state of a plan with no step left to run: what was done in place is there already."""
    return (Phase.APPLY, State.APPLIED) if run.only_in_place else (Phase.EXECUTE, State.COMPLETE)


class Unseen(Struct, eq=False):
    """Events that are recorded and not shown yet, because someone holds something that they must not wait for."""

    events: list[Event] = []
    holders: int = 0


class Run(Struct, kw_only=True, eq=False, weakref=True):
    """A claimed plan, its sandboxes, and what happened since the last commit.

    `plan` is what the database holds; only a commit changes it. The working state is ahead of it until the next
    group: a step is complete once its result is recorded, together with the group that follows it.
    """

    database: Database
    claim: Claim
    plan: Plan
    settings: Settings
    observer: Observer
    sandboxes: tuple[Sandbox, ...]
    step_index: int
    outputs: dict[str, Json]
    memory: JsonObject
    decisions: list[JsonObject]
    merged: list[str]  # child plans of the present step whose results are in the sandboxes
    steps: list[str]  # of a session: those that are complete, in order
    taken: list[str]  # steps that failed or were cut off, and whose changes count
    latest: dict[str, Checkpoint]  # of the last recorded or restored group, by resource
    added_bytes: dict[str, int] = {}  # by making the sandboxes
    pending: list[Record] = []  # written by the next commit
    pruned: int = 0  # groups whose bytes may not be freed yet
    messages: list[str] = []  # for the caller, such as processes that a tool left running
    kept_failure: MulliganError | None = None  # of a step whose changes are kept although it failed
    unseen: Unseen = field(default_factory=Unseen)
    interrupted: ToolCall | None = None  # the call that Ctrl-C ended
    streams: Streams | None = None  # that commands of its steps are attached to

    @property
    def in_place(self) -> bool:
        """Return whether a sandbox is a real resource: others may change it at any time."""
        return any(sandbox.strategy is Strategy.IN_PLACE for sandbox in self.sandboxes)

    @property
    def only_in_place(self) -> bool:
        """Return whether every sandbox is a real resource: there is nothing to apply."""
        return is_in_place(self.plan.definition.resources, self.sandboxes)

    @property
    def others_at_work(self) -> bool:
        """Return whether processes that outlive a step, such as a session's program, may write at any time."""
        return self.in_place or self.plan.definition.session

    @property
    def state(self) -> PlanState:
        """Return the working state, frozen."""
        return PlanState(
            step_index=self.step_index,
            outputs=dict(self.outputs),
            memory=self.memory,
            decisions=tuple(self.decisions),
            merged=tuple(self.merged),
            steps=tuple(self.steps),
            taken=tuple(self.taken),
        )

    @contextmanager
    def commit(self, name: str) -> Generator[Commit]:
        """Change the plan's state: the whole block in one transaction, as the act of that name.

        Pending records are written first. If the transaction fails, the run stays as it was. Once it is committed,
        the run has the new plan and nothing pending, and its observer sees the events.
        """
        with act(name), self.database.writing_as(self.claim) as db:
            commit, written = Commit(db, self.plan), len(self.pending)
            commit.record(*self.pending)
            yield commit
            commit.complete()
        self.plan, self.pending = commit.plan, self.pending[written:]
        for learn in commit.lessons:
            learn()
        self.unseen.events += commit.events
        self._show_events()

    @contextmanager
    def showing_later(self) -> Generator[None]:
        """Show what the block records once it is left: an observer may do anything, and the block holds locks."""
        self.unseen.holders += 1
        try:
            yield
        finally:
            self.unseen.holders -= 1
            self._show_events()

    def _show_events(self) -> None:
        while self.unseen.events and not self.unseen.holders:
            self.observer.event(self.unseen.events.pop(0))

    def record(self, plan: Plan, *records: Record) -> None:
        """Record the plan in this state, with all pending records and then these."""
        with self.commit("plan.record") as commit:
            commit.plan = plan
            commit.record(*records)

    def note(self, *records: Record) -> None:
        """Let the next commit write these records."""
        self.pending += records

    def discard_pending(self) -> None:
        """Drop what happened since the last commit: the next run of the plan starts from there."""
        self.pending = []

    def inform(self, *texts: str) -> None:
        """Put messages into the answer to the caller."""
        self.messages += texts

    def announce(self, text: str, at: datetime) -> None:
        """Put a message into the answer, and into the plan's log."""
        self.inform(text)
        self.note(Entry(type=EventType.MESSAGE, data={"message": text}, at=at))

    def use(self, settings: Settings) -> None:
        """Work with other settings from here on."""
        self.settings = settings

    def work_on(self, made: Sequence[tuple[Sandbox, Capture]]) -> None:
        """Work on sandboxes that were just made, or on none."""
        self.sandboxes = tuple(sandbox for sandbox, _ in made)
        self.added_bytes = {sandbox.resource: capture.size_bytes for sandbox, capture in made}

    def use_sandboxes(self, sandboxes: Sequence[Sandbox]) -> None:
        """Work on sandboxes that exist."""
        self.sandboxes, self.added_bytes = tuple(sandboxes), {}

    def reset_to(self, group: CheckpointGroup) -> None:
        """Continue from a group that was recorded or restored, and forget what was ahead of it."""
        self.step_index = group.state.step_index
        self.outputs = dict(group.state.outputs)
        self.memory = group.state.memory
        self.decisions = list(group.state.decisions)
        self.merged = list(group.state.merged)
        self.steps = list(group.state.steps)
        self.taken = list(group.state.taken)
        self.latest = {c.resource: c for c in group.checkpoints}
        self.pending = []

    def kept(self, group: CheckpointGroup, pruned: int) -> None:
        """Take note of a group of the present contents, and of how many groups were pruned for it."""
        self.latest = {c.resource: c for c in group.checkpoints}
        self.added_bytes = {}
        self.pruned += pruned

    def count_step(self, name: str) -> None:
        """Count a step that a session reported, once it is recorded."""
        self.step_index += 1
        self.steps.append(name)

    def over(self, sandboxes: Iterable[Sandbox]) -> "Run":
        """Return the same run over other sandboxes, with nothing pending; it shares the messages."""
        return replace(self, sandboxes=tuple(sandboxes), pending=[], added_bytes={})

    def follow(self, other: "Run") -> None:
        """Take over the commits of the same run over other sandboxes."""
        self.plan, self.pruned = other.plan, other.pruned

    def progressed(self) -> Plan:
        """Return the plan with the working state as its progress."""
        return replace(self.plan, progress=self.state)
