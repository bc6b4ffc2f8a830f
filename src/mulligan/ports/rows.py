"""Rows: the repositories that keep them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, GroupOutline
    from mulligan.domain.checkpoints.retention import GroupSummary
    from mulligan.domain.checkpoints.snapshot import Snapshot
    from mulligan.domain.history.correction import Correction
    from mulligan.domain.history.lines import Line, Segment
    from mulligan.domain.plans.decision import Decision
    from mulligan.domain.plans.event import Event, EventType
    from mulligan.domain.plans.intent import Intent, IntentKind
    from mulligan.domain.plans.plan import Plan, PlanDefinition, State
    from mulligan.domain.plans.step import StepRecord
    from mulligan.domain.plans.tool import ToolCall, Undo
    from mulligan.domain.resources.resource import Sandbox
    from mulligan.domain.text.ids import CallId, CheckpointId, GroupId, IntentId, PlanId


class PlanRepository(Protocol):
    """Keeps plans."""

    def add(self, plan: Plan) -> None:
        """Record a new plan."""
        ...

    def get(self, plan_id: PlanId) -> Plan:
        """The plan of that id, or PlanNotFound."""
        ...

    def save(self, plan: Plan) -> None:
        """Record where the plan stands now; the definition and the fence are not written."""
        ...

    def redefine(self, plan: Plan) -> None:
        """Record another definition of the plan, and nothing else of it.

        What it was stays on record for the lines of its history before its present one.
        """
        ...

    def definition_on(self, plan_id: PlanId, line: int) -> PlanDefinition:
        """What the plan was at the end of that line; on its present line what it is."""
        ...

    def resolve(self, word: str) -> Plan:
        """The plan that an id, unique prefix, unique name or `latest` means; else PlanNotFound or Ambiguous."""
        ...

    def list(self, state: State | None, *, limit: int | None = None) -> Sequence[Plan]:
        """The plans, oldest first; of more than `limit` the newest."""
        ...

    def count(self, state: State | None) -> int:
        """How many plans there are."""
        ...

    def count_children(self, plan_id: PlanId) -> int:
        """How many child plans the plan has that were not cancelled."""
        ...

    def last_seq(self, plan_id: PlanId) -> int:
        """Return the sequence number that the plan used last; 0 before the first."""
        ...

    def set_last_seq(self, plan_id: PlanId, seq: int) -> None:
        """Record the sequence number that the plan used last."""
        ...

    def raise_fence(self, plan_id: PlanId) -> int:
        """Lock out every earlier claimant; gives the new fence."""
        ...


class StepRepository(Protocol):
    """Keeps how far each step got."""

    def add(self, plan_id: PlanId, steps: Sequence[StepRecord]) -> None:
        """Record the steps of a new plan."""
        ...

    def replace(self, plan_id: PlanId, start: int, steps: Sequence[StepRecord]) -> None:
        """Record other steps from that index on."""
        ...

    def save(self, plan_id: PlanId, step: StepRecord) -> None:
        """Record how far a step got."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[StepRecord]:
        """The plan's steps in order."""
        ...


class ToolCallRepository(Protocol):
    """Keeps tool calls."""

    def add(self, call: ToolCall) -> None:
        """Record a call that is about to run."""
        ...

    def save(self, call: ToolCall) -> None:
        """Record how it ended."""
        ...

    def set_undo(self, call_id: CallId, undo: Undo) -> None:
        """Record what became of taking a call back."""
        ...

    def count_done(self, plan_id: PlanId) -> int:
        """How many live calls succeeded."""
        ...

    def interrupt(self, plan_id: PlanId) -> None:
        """Mark calls that never came to an end as interrupted."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """The plan's calls in order."""
        ...

    def each(self, plan_id: PlanId) -> Iterator[ToolCall]:
        """The same, read one by one inside the transaction: what a call printed can be megabytes."""
        ...

    def list_external(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """The plan's calls that had effects outside the sandboxes, or may have had, in order."""
        ...


class DecisionRepository(Protocol):
    """Keeps decisions."""

    def add(self, decision: Decision) -> None:
        """Record a decision as a child of the first live one of its step."""
        ...

    def count_live(self, plan_id: PlanId) -> int:
        """How many decisions are live."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Decision]:
        """The plan's decisions in order, superseded ones too."""
        ...

    def resolve(self, word: str) -> Decision:
        """The decision of any plan that an id or a unique prefix means; else DecisionNotFound or Ambiguous."""
        ...


class CorrectionRepository(Protocol):
    """Keeps corrections."""

    def add(self, correction: Correction) -> None:
        """Record a correction that was carried out."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Correction]:
        """The plan's corrections in order."""
        ...

    def resolve(self, word: str) -> Correction:
        """The correction of any plan that an id or a unique prefix means; else CorrectionNotFound or Ambiguous."""
        ...


class FoundCheckpoint(Struct, frozen=True, kw_only=True):
    """What a user's word for a checkpoint means: a group, or one checkpoint of it."""

    group: CheckpointGroup
    checkpoint: Checkpoint | None  # None: the whole group is meant


class CheckpointRepository(Protocol):
    """Keeps checkpoint groups and their checkpoints."""

    def add(self, group: CheckpointGroup) -> None:
        """Record a group with its checkpoints and state."""
        ...

    def get(self, group_id: GroupId) -> CheckpointGroup:
        """The group of that id, or CheckpointNotFound."""
        ...

    def resolve(self, word: str, plan_id: PlanId | None) -> FoundCheckpoint:
        """The group or checkpoint that a word means: an id, a unique prefix, a live label, `first` or `latest`.

        Ids are looked for in all plans, words and labels in the given one. CheckpointNotFound or Ambiguous
        with the candidates.
        """
        ...

    def list(
        self, plan_id: PlanId, *, superseded: bool, limit: int | None = None
    ) -> Sequence[CheckpointGroup]:
        """The plan's groups, oldest first, with or without superseded ones; of more than `limit` the newest."""
        ...

    def outlines(self, plan_id: PlanId, *, limit: int) -> Sequence[GroupOutline]:
        """The plan's groups without their states, live or not, oldest first; of more than `limit` the newest."""
        ...

    def newest_between_steps(self, plan_id: PlanId) -> CheckpointGroup | None:
        """The newest live group between two steps."""
        ...

    def newest_before(self, plan_id: PlanId, seq: int) -> CheckpointGroup | None:
        """The newest live group between two steps that was recorded before that sequence number."""
        ...

    def last_of_attempt(self, plan_id: PlanId, attempt: int) -> CheckpointGroup | None:
        """The newest group of an attempt, live or not; None: all of them were pruned."""
        ...

    def first(self, plan_id: PlanId) -> CheckpointGroup | None:
        """The oldest live group of the sandboxes."""
        ...

    def count(self, plan_id: PlanId, *, superseded: bool) -> int:
        """How many groups the plan has."""
        ...

    def summaries(self, plan_id: PlanId) -> Sequence[GroupSummary]:
        """What retention needs to know of all groups, oldest first."""
        ...

    def expendable(self, plan_id: PlanId, attempts: int, count: int) -> Sequence[GroupSummary]:
        """As many groups as pruning `count` of them must look at, oldest first; cost follows `count`.

        Those that retention lets go first, and those that are the first, the newest, the newest live one
        between two steps, or the last of one of the plan's attempts.
        """
        ...

    def count_labelled(self, plan_id: PlanId, label: str) -> int:
        """How many live groups of the plan have that label."""
        ...

    def ids(self, plan_id: PlanId) -> Collection[CheckpointId]:
        """The ids of all the plan's checkpoints."""
        ...

    def snapshots(self) -> Sequence[Snapshot]:
        """The snapshots of all checkpoints of all plans, each once."""
        ...

    def rename(self, names: Mapping[CheckpointId, str]) -> None:
        """Record the names (`sandbox_ref`) that other programs know checkpoints by from now on."""
        ...

    def remove(self, group_ids: Sequence[GroupId]) -> None:
        """Remove whole groups; their children get their parents."""
        ...


class HistoryRepository(Protocol):
    """Keeps the lines of history and what is live on them."""

    def start(self, plan_id: PlanId, line: Line) -> None:
        """Start a line."""
        ...

    def lines(self, plan_id: PlanId) -> Sequence[Line]:
        """All lines of the plan."""
        ...

    def make_live(self, plan_id: PlanId, segments: Sequence[Segment]) -> None:
        """Make what lies on the segments live and all else of the plan superseded: groups, decisions, tool calls."""
        ...

    def spare(self, group_id: GroupId) -> None:
        """Make one group live in spite of where it lies."""
        ...

    def rest_at(self, group_id: GroupId) -> None:
        """Make a group one that a run may start from, wherever it was taken: the one a rollback went to."""
        ...


class IntentRepository(Protocol):
    """Keeps what is under way."""

    def add(self, intent: Intent) -> None:
        """Record what is about to be done."""
        ...

    def save(self, intent: Intent) -> None:
        """Record how far it is."""
        ...

    def close(self, intent_id: IntentId) -> None:
        """It is done."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Intent]:
        """What is under way or was cut off, oldest first."""
        ...

    def of_kinds(self, kinds: Collection[IntentKind]) -> Sequence[Intent]:
        """What of these kinds is under way or was cut off in any plan, oldest first."""
        ...


class EventRepository(Protocol):
    """Keeps the log of each plan."""

    def add(self, event: Event) -> None:
        """Write one entry."""
        ...

    def list(self, plan_id: PlanId, *, limit: int | None = None, after: int = 0) -> Sequence[Event]:
        """The plan's log after that sequence number, in order; of more than `limit` entries the newest."""
        ...

    def newest(self, plan_id: PlanId, type: EventType) -> Event | None:
        """The newest entry of that type."""
        ...

    def count(self, plan_id: PlanId, *, after: int = 0) -> int:
        """How many entries the plan's log has after that sequence number."""
        ...


class SandboxRepository(Protocol):
    """Keeps which sandboxes there are."""

    def add(self, sandbox: Sandbox) -> None:
        """Record a sandbox that was made."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Sandbox]:
        """The plan's sandboxes, in the order of its resources."""
        ...

    def all(self) -> Sequence[Sandbox]:
        """The sandboxes of all plans."""
        ...

    def remove(self, plan_id: PlanId, resource: str) -> None:
        """The sandbox is no more."""
        ...
