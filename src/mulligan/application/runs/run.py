"""A run: a claimed plan in the hands of the process that works on it."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mulligan.config import Settings
from mulligan.domain.checkpoints.checkpoint import Checkpoint, CheckpointGroup, PlanState
from mulligan.domain.checkpoints.store_report import Capture
from mulligan.domain.plans.decision import Decision
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.step import StepRecord
from mulligan.domain.plans.tool import ToolCall
from mulligan.domain.resources.resource import Sandbox, Strategy
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.ports import Claim, Observer


class Entry(Struct, frozen=True, kw_only=True):
    """Something for the plan's log, before it has its sequence number."""

    type: EventType
    data: JsonObject
    at: datetime


def at_work(plan: Plan, now: datetime) -> Entry:
    """What the log says when the steps of a plan are begun, or gone on with."""
    data: JsonObject = {"state": plan.state.value, "steps": len(plan.definition.steps)}
    return Entry(type=EventType.PLAN_STATE, data=data, at=now)


Record: TypeAlias = Entry | ToolCall | StepRecord | Decision


class Run(Struct, kw_only=True):
    """A claimed plan, its sandboxes, and what happened since the last record.

    `plan` is what the database says. The working state beside it is ahead of that until the next group: a
    step is complete when its result is recorded together with the group that follows it.
    """

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
    latest: dict[
        str, Checkpoint
    ]  # of the group last recorded or restored, by resource; empty before the first
    added_bytes: dict[str, int]  # by making the sandboxes
    pending: list[Record]
    pruned: int  # groups whose bytes may wait to be freed
    told: list[str]  # what the caller must know of this run, such as processes that a tool left running
    # What the sandboxes hold, where nothing can have changed them since it was captured.
    still: tuple[Capture, ...] | None

    @property
    def in_place(self) -> bool:
        """Whether some sandbox is the real thing itself: anyone may change it at any time."""
        return any(sandbox.strategy is Strategy.IN_PLACE for sandbox in self.sandboxes)

    @property
    def others_at_work(self) -> bool:
        """Whether processes that no step ends may write at any time: those of a session's own program too."""
        return self.in_place or self.plan.definition.session

    @property
    def state(self) -> PlanState:
        """The working state, frozen."""
        return PlanState(
            step_index=self.step_index,
            outputs=dict(self.outputs),
            memory=self.memory,
            decisions=tuple(self.decisions),
            merged=tuple(self.merged),
            steps=tuple(self.steps),
        )

    def stands_at(self, plan: Plan, group: CheckpointGroup) -> None:
        """Take over a group that was recorded or restored, and forget what was ahead of it."""
        self.plan = plan
        self.step_index = group.state.step_index
        self.outputs = dict(group.state.outputs)
        self.memory = group.state.memory
        self.decisions = list(group.state.decisions)
        self.merged = list(group.state.merged)
        self.steps = list(group.state.steps)
        self.latest = {c.resource: c for c in group.checkpoints}
        self.pending = []

    def recorded(self, plan: Plan, group: CheckpointGroup) -> None:
        """Take over that everything pending was recorded together with this group."""
        self.plan = plan
        self.latest = {c.resource: c for c in group.checkpoints}
        self.added_bytes = {}
        self.pending = []

    def progressed(self) -> Plan:
        """The plan with the working state as its recorded one."""
        return replace(self.plan, progress=self.state)
