"""Ports: the verbs that the application needs from the outside, as Protocols.

Their docstrings are the contract that `tests/contracts` runs against every adapter.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from mulligan.domain.checkpoint import Checkpoint, CheckpointGroup
from mulligan.domain.decision import Choice, Decision
from mulligan.domain.event import Event
from mulligan.domain.ids import CallId, DecisionId, GroupId, IntentId, PlanId
from mulligan.domain.intent import Intent
from mulligan.domain.json_value import Json, JsonObject
from mulligan.domain.plan import Plan, State
from mulligan.domain.resource import Resource, ResourceType, Sandbox, Strategy
from mulligan.domain.retention import GroupSummary
from mulligan.domain.rollback import Line, Segment
from mulligan.domain.snapshot import Capture, Damage, PathChange, Root, Snapshot, Survey
from mulligan.domain.step import StepRecord
from mulligan.domain.tool import ToolCall, ToolDeclaration, ToolResult

# --- the world ---------------------------------------------------------------------------------------------


class Clock(Protocol):
    """What time it is."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


class Ids(Protocol):
    """Where new ids come from."""

    def new(self) -> str:
        """A ULID, greater than every one given before by this process."""
        ...


class Observer(Protocol):
    """Someone who watches an operation while it goes on; must be quick and must not raise."""

    def event(self, event: Event) -> None:
        """Something was recorded."""
        ...

    def output(self, data: bytes) -> None:
        """A tool printed something."""
        ...

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Long work went on: files, bytes or objects; `total` is None where it is not known."""
        ...


# --- bytes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingTree:
    """A folder to capture or restore."""

    path: Path
    cache_key: str  # names the stat cache of this tree; one tree, one key
    excluded: frozenset[str]  # paths inside it, relative, that are neither captured nor touched


class SnapshotStore(Protocol):
    """Keeps trees of files by content, durably."""

    def hold(self) -> AbstractContextManager[None]:
        """Keep the sweep from deleting anything until the rows of what is captured inside are committed."""
        ...

    def survey(self, tree: WorkingTree, observer: Observer) -> Survey:
        """Count what a capture would hold."""
        ...

    def capture(self, tree: WorkingTree, observer: Observer) -> Capture:
        """Store the tree durably: when this returns, a power cut loses nothing of it.

        Equal contents give equal ids. Only what changed since the last capture with this cache key is read.
        What cannot be held (sockets, devices, unreadable files) is listed, never dropped silently.
        """
        ...

    def compare(self, snapshot: Snapshot, tree: WorkingTree) -> tuple[PathChange, ...]:
        """What a restore would do to the tree, to the path, sorted; touches nothing.

        All that the restore would need is read and verified: a damaged snapshot is refused here already.
        """
        ...

    def restore(self, snapshot: Snapshot, tree: WorkingTree, observer: Observer) -> tuple[PathChange, ...]:
        """Make the tree exactly what the snapshot holds, and say what was touched, sorted.

        All that is needed is read and verified first: a damaged snapshot is refused with nothing touched.
        The folder is made when it is missing. Only what differs is touched; untouched files keep inode and
        mtime. What the tree has that no snapshot can hold stays. Cut off anywhere, running it again
        completes it.
        """
        ...

    def verify(
        self, snapshots: Iterable[Snapshot], *, quick: bool, observer: Observer
    ) -> Mapping[Snapshot, tuple[Damage, ...]]:
        """Give what is wrong with each damaged snapshot; `quick` looks at presence and structure only."""
        ...

    def changed_paths(self, old: Root, new: Root) -> tuple[str, ...]:
        """The paths of files and links in which two trees differ, sorted; equal folders are not opened."""
        ...

    def forget_tree(self, tree: WorkingTree) -> None:
        """Drop what is remembered of a tree that is no more."""
        ...


class SandboxKind(Protocol):
    """Makes, captures and restores one kind of sandbox."""

    type: ResourceType
    strategy: Strategy

    def check(self, resource: Resource, location: Path) -> None:
        """Refuse a real thing that this kind cannot work on."""
        ...

    def survey(self, resource: Resource, location: Path, observer: Observer) -> Survey:
        """Count what a sandbox would copy."""
        ...

    def create(
        self, plan_id: PlanId, resource: Resource, location: Path, observer: Observer
    ) -> tuple[Sandbox, Capture]:
        """Make the plan's working copy of what the capture holds. Cut off anywhere, running it again completes it."""
        ...

    def exists(self, sandbox: Sandbox) -> bool:
        """Tell whether the working copy is there."""
        ...

    def capture(self, sandbox: Sandbox, observer: Observer) -> Capture:
        """Store the working copy durably."""
        ...

    def compare(self, sandbox: Sandbox, snapshot: Snapshot) -> tuple[PathChange, ...]:
        """What a restore would do, proved possible: all it needs is read and verified; touches nothing."""
        ...

    def restore(self, sandbox: Sandbox, snapshot: Snapshot, observer: Observer) -> tuple[PathChange, ...]:
        """Make the working copy exactly what the snapshot holds; idempotent."""
        ...

    def changed_paths(self, old: Snapshot, new: Snapshot) -> tuple[str, ...]:
        """The paths of files and links in which two snapshots differ; equal folders are not opened."""
        ...

    def export(self, snapshot: Snapshot, target: Path, observer: Observer) -> None:
        """Write the snapshot's files into a new folder."""
        ...

    def remove(self, sandbox: Sandbox) -> None:
        """Remove the working copy; one that is gone already is fine."""
        ...


class SandboxKinds(Protocol):
    """All kinds of sandboxes this version can make."""

    def of(self, sandbox: Sandbox) -> SandboxKind:
        """The kind that made this sandbox."""
        ...

    def choose(self, resource: Resource, strategy: Strategy) -> SandboxKind:
        """The kind for a resource under the setting `sandbox.strategy`; NotBuiltYet or a refusal by name."""
        ...


# --- tools -------------------------------------------------------------------------------------------------


class StepHost(Protocol):
    """What a running tool can ask of the plan it runs in."""

    def record_decision(self, choice: Choice, metadata: JsonObject) -> DecisionId:
        """Record a choice, with the checkpoint group that belongs to it."""
        ...

    def checkpoint(self, label: str, metadata: JsonObject) -> GroupId:
        """Take a labelled group now."""
        ...

    def log(self, message: str) -> None:
        """Write a line into the plan's log."""
        ...

    def output(self, data: bytes) -> None:
        """Show what the tool printed, live."""
        ...

    def save_memory(self, memory: JsonObject) -> None:
        """Take over the tool's StepContext.state: part of every group from now on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """One call of a tool, ready to run."""

    call_id: CallId
    plan_id: PlanId
    step_name: str
    args: Mapping[str, Json]  # checked, with ${{ … }} replaced
    root: Path  # sandbox of the step's resource
    script_root: Path  # sandbox of the plan's first file resource
    sandboxes: Mapping[str, Path]  # by resource name
    variables: Mapping[str, str]
    outputs: Mapping[str, Json]  # by step name
    memory: JsonObject
    guidance: str
    environment: Mapping[str, str]  # MULLIGAN_VAR_… and the like, for the tool's processes
    large_values: Mapping[str, str]  # …_FILE -> content that no variable can hold: the variable names a file
    timeout: float | None  # seconds


class Tool(Protocol):
    """Something a step can call."""

    declaration: ToolDeclaration

    def call(self, request: ToolRequest, host: StepHost) -> ToolResult:
        """Do it, or raise ToolFailed. When it returns or raises, no process of the call is alive."""
        ...


class Toolbox(Protocol):
    """The tools of one run and the processes they keep."""

    def declarations(self) -> Mapping[str, ToolDeclaration]:
        """Every tool by name."""
        ...

    def tool(self, name: str) -> Tool:
        """The tool of that name."""
        ...

    def forget_processes(self) -> None:
        """End processes that are kept for reuse: the files they imported are about to change under them."""
        ...

    def end_survivors(self, plan_id: PlanId) -> tuple[str, ...]:
        """End what a killed runner's step left running, and describe each."""
        ...


# --- rows --------------------------------------------------------------------------------------------------


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

    def resolve(self, word: str) -> Plan:
        """The plan that an id, unique prefix, unique name or `latest` means; else PlanNotFound or Ambiguous."""
        ...

    def list(self, state: State | None) -> Sequence[Plan]:
        """All plans, oldest first."""
        ...

    def next_seq(self, plan_id: PlanId) -> int:
        """The plan's next sequence number."""
        ...

    def raise_fence(self, plan_id: PlanId) -> int:
        """Lock out every earlier claimant; gives the new fence."""
        ...


class StepRepository(Protocol):
    """Keeps how far each step got."""

    def add(self, plan_id: PlanId, steps: Sequence[StepRecord]) -> None:
        """Record the steps of a new plan."""
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

    def interrupt(self, plan_id: PlanId) -> None:
        """Mark calls that never came to an end as interrupted."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[ToolCall]:
        """The plan's calls in order."""
        ...


class DecisionRepository(Protocol):
    """Keeps decisions."""

    def add(self, decision: Decision) -> None:
        """Record a decision as a child of the newest live one."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Decision]:
        """The plan's decisions in order, superseded ones too."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCheckpoint:
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

    def list(self, plan_id: PlanId, *, superseded: bool) -> Sequence[CheckpointGroup]:
        """The plan's groups, oldest first; with or without superseded ones."""
        ...

    def newest_between_steps(self, plan_id: PlanId) -> CheckpointGroup | None:
        """The newest live group between two steps."""
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


class EventRepository(Protocol):
    """Keeps the log of each plan."""

    def add(self, event: Event) -> None:
        """Write one entry."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Event]:
        """The plan's log in order."""
        ...


class SandboxRepository(Protocol):
    """Keeps which sandboxes there are."""

    def add(self, sandbox: Sandbox) -> None:
        """Record a sandbox that was made."""
        ...

    def list(self, plan_id: PlanId) -> Sequence[Sandbox]:
        """The plan's sandboxes, in the order of its resources."""
        ...

    def remove(self, plan_id: PlanId, resource: str) -> None:
        """The sandbox is no more."""
        ...


class Transaction(Protocol):
    """All rows, in one transaction: committed when the block ends, rolled back when it raises."""

    plans: PlanRepository
    steps: StepRepository
    tool_calls: ToolCallRepository
    decisions: DecisionRepository
    checkpoints: CheckpointRepository
    history: HistoryRepository
    intents: IntentRepository
    events: EventRepository
    sandboxes: SandboxRepository


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to work on a plan, until someone claims it anew."""

    plan_id: PlanId
    fence: int


class Database(Protocol):
    """Where rows are kept."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """One consistent view; never waits for a writer."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """A transaction of someone who has claimed nothing: creating a plan, claiming one."""
        ...

    def writing_as(self, claim: Claim) -> AbstractContextManager[Transaction]:
        """A transaction of a claimant; PlanTakenOver when someone claimed the plan since."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LockHolder:
    """The process that works on a plan."""

    pid: int
    since: datetime


class PlanLocks(Protocol):
    """One process at a time per plan; a process that died holds nothing."""

    def hold(self, plan_id: PlanId) -> AbstractContextManager[None]:
        """Hold the plan's lock, or refuse at once with PlanBusy, which names pid and since when."""
        ...

    def holder(self, plan_id: PlanId) -> LockHolder | None:
        """Who holds it now, if anyone."""
        ...

    def ask_to_stop(self, plan_id: PlanId) -> None:
        """Ask the process that holds it to stop, and wait until it has; PlanBusy when it does not."""
        ...
