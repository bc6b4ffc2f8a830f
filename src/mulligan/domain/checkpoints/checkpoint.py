"""Checkpoints: snapshots with why, when and where in the plan they were taken, and the groups they come in."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct

from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.text.ids import CheckpointId, DecisionId, GroupId, PlanId
from mulligan.domain.text.json_value import Json, JsonObject, canonical_json


class PlanState(Struct, frozen=True, kw_only=True):
    """The plan's own memory at one moment: comes back with the files."""

    step_index: int  # how many steps were complete: the index of the step that runs next
    outputs: Mapping[str, Json]  # by step name
    memory: JsonObject  # StepContext.state
    decisions: tuple[JsonObject, ...]  # contents of the live decisions, in order
    merged: tuple[str, ...] = ()  # child plans of the step that runs next whose results are in the files
    steps: tuple[str, ...] = ()  # of a session: the steps that were complete, in order
    taken: tuple[str, ...] = ()  # steps that failed or were cut off, and whose changes count all the same

    def to_json(self) -> JsonObject:
        """The state as the document that is kept and hashed."""
        document: JsonObject = {
            "step_index": self.step_index,
            "outputs": dict(self.outputs),
            "state": self.memory,
            "decisions": list(self.decisions),
        }
        if self.merged:
            document["merged"] = list(self.merged)
        if self.steps:
            document["steps"] = list(self.steps)
        if self.taken:
            document["taken"] = list(self.taken)
        return document


EMPTY_STATE = PlanState(step_index=0, outputs={}, memory={}, decisions=())


def state_hash(state: PlanState, snapshots: Iterable[tuple[str, Snapshot]]) -> str:
    """Hash the plan's state and the snapshots of its resources: equal states, equal hashes, anywhere."""
    import hashlib  # here: it loads OpenSSL, and readers hash nothing

    document: JsonObject = {"plan": state.to_json(), "resources": {name: s.id for name, s in snapshots}}
    return hashlib.sha256(canonical_json(document).encode("utf-8", "surrogatepass")).hexdigest()


class Reason(Struct, frozen=True, kw_only=True):
    """The reason why a group is taken, and what it stands for."""

    type: CheckpointType
    label: str | None
    between_steps: bool  # resume and retries may go back to it
    decision_id: DecisionId | None
    metadata: JsonObject  # reason, tool, phase, and what the caller added

    @property
    def is_of_sandboxes(self) -> bool:
        """Return whether the group holds the sandboxes of its plan, and not the real resources behind copies."""
        if self.type in (CheckpointType.PRE_RESTORE, CheckpointType.POST_RESTORE):
            return self.metadata.get("place") != "real"
        return self.type is not CheckpointType.PRE_APPLY


class Checkpoint(Struct, frozen=True, kw_only=True):
    """A snapshot of one resource."""

    checkpoint_id: CheckpointId
    resource: str
    snapshot: Snapshot
    sandbox_ref: str  # for a git checkout a commit, else the snapshot id
    filesystem_path: str  # of the sandbox
    size_bytes: int  # added to the store
    modified: bool  # against the group before


class GroupOutline(Struct, frozen=True, kw_only=True):
    """An outline of a group for histories. It leaves out the plan state, which can be large."""

    group_id: GroupId
    number: int
    seq: int
    type: CheckpointType
    label: str | None
    step_index: int  # how many steps were complete
    parent_group_id: GroupId | None
    superseded: bool
    checkpoints: tuple[Checkpoint, ...]  # one per resource, in the plan's order
    created_at: datetime  # aware, UTC


class CheckpointGroup(Struct, frozen=True, kw_only=True):
    """All checkpoints taken at one moment; restored together or not at all."""

    group_id: GroupId
    plan_id: PlanId
    number: int  # in its plan, from 1; never given twice
    seq: int
    line: int
    attempt: int
    reason: Reason
    parent_group_id: GroupId | None  # the group last recorded or restored when this one was taken
    superseded: bool
    state: PlanState
    state_hash: str
    checkpoints: tuple[Checkpoint, ...]  # one per resource, in the plan's order
    created_at: datetime  # aware, UTC

    @property
    def step_index(self) -> int:
        """The number of complete steps."""
        return self.state.step_index

    @property
    def first_checkpoint_id(self) -> CheckpointId:
        """The checkpoint of the plan's first resource: what `last_checkpoint_id` names."""
        return self.checkpoints[0].checkpoint_id

    def checkpoint_of(self, resource: str) -> Checkpoint:
        """The checkpoint of that resource."""
        return next(c for c in self.checkpoints if c.resource == resource)

    def snapshot_of(self, resource: str) -> Snapshot:
        """The checkpoint of a resource in this group."""
        return self.checkpoint_of(resource).snapshot


class FoundCheckpoint(Struct, frozen=True, kw_only=True):
    """The meaning of a user's word for a checkpoint: a group, or one checkpoint of it."""

    group: CheckpointGroup
    checkpoint: Checkpoint | None  # None: the whole group is meant
