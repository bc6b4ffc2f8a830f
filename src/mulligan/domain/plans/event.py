"""Events: the log of a plan, one row for everything that happened."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.json_value import JsonObject


class EventType(StrEnum):
    """The kind of an event."""

    PLAN_CREATED = "plan_created"
    PLAN_STATE = "plan_state"
    PLAN_MENDED = "plan_mended"  # it goes on with another plan file
    STEP_ADDED = "step_added"  # a user continues the finished plan with it
    STEP_STARTED = "step_started"
    STEP_DONE = "step_done"
    STEP_FAILED = "step_failed"
    TOOL_CALLED = "tool_called"
    TOOL_UNDONE = "tool_undone"  # a call was taken back by its `undo`, or that failed
    RESOLVED = "resolved"  # conflicts of a merge were resolved
    DECISION = "decision"
    SUBPLAN_SPAWNED = "subplan_spawned"  # a child plan was recorded, or one of before is gone on with
    SUBPLAN_MERGED = "subplan_merged"  # its result came into the parent's sandboxes
    CHECKPOINT = "checkpoint"
    PRUNED = "pruned"
    ROLLBACK = "rollback"
    CORRECTION = "correction"  # a decision was corrected: what followed from it is left behind
    RETURNED = "returned"  # the return after a failed step
    APPLIED = "applied"  # the result is in the real resources
    UNAPPLIED = "unapplied"  # it was taken out of them
    PATHS_RESTORED = "paths_restored"  # single paths came back from a checkpoint
    FORGOTTEN = "forgotten"  # paths were purged from its checkpoints
    LOG = "log"  # a tool's own words
    MESSAGE = "message"  # something the user must know


class Event(Struct, frozen=True, kw_only=True):
    """One entry of a plan's log."""

    plan_id: PlanId
    seq: int
    type: EventType
    data: JsonObject
    created_at: datetime
