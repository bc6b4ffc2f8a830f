"""Plans: a named list of steps over some resources, with a phase and a state."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from mulligan import errors
from mulligan.domain.checkpoints.checkpoint import PlanState
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.fork import Fork
from mulligan.domain.plans.step import Pick, Step
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.ids import CheckpointId, GroupId, PlanId
from mulligan.domain.text.json_value import Json, JsonObject
from mulligan.errors import Advice, NextStep


class Phase(StrEnum):
    """The part of its life that a plan is in."""

    STRATEGIZE = "strategize"
    EXECUTE = "execute"
    APPLY = "apply"


class State(StrEnum):
    """The progress of a plan within its phase."""

    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETE = "complete"
    ERRORED = "errored"
    CANCELLED = "cancelled"
    CONSTRAINED = "constrained"
    APPLIED = "applied"


class OnFailure(StrEnum):
    """The state of the sandboxes after a failed step."""

    LAST_CHECKPOINT = "last_checkpoint"
    FIRST_CHECKPOINT = "first_checkpoint"
    KEEP = "keep"


class RollbackPolicy(Struct, frozen=True, kw_only=True):
    """The policy for returning to earlier groups."""

    enabled: bool = True
    require_checkpoints: bool = True
    on_failure: OnFailure = OnFailure.LAST_CHECKPOINT


class PlanDefinition(Struct, frozen=True, kw_only=True):
    """A plan file's content after all checks."""

    name: str
    description: str
    resources: tuple[Resource, ...]  # at least one; the first is the steps' default
    config: Mapping[str, Json]  # settings of this plan, by canonical key
    rollback_policy: RollbackPolicy
    variables: Mapping[str, str]
    steps: tuple[Step, ...]
    command: bool = False  # a command without a plan file: there is nothing but its steps to continue
    agent: str = ""  # of a coding agent's session: the name of the agent, whose hooks report its steps
    session: bool = False  # its steps are a program's own: in no file, and only that program has them
    variant: int = 0  # of a variant of a try: its number among them, from 1
    fork: Fork | None = None  # where it starts from; None: from the real resources, or from its parent's

    def resource(self, name: str | None) -> Resource:
        """The resource of that name; None is the plan's first."""
        if name is None:
            return self.resources[0]
        return next(r for r in self.resources if r.name == name)


_E, _A = Phase.EXECUTE, Phase.APPLY
_STOPPED = ((_E, State.QUEUED), (_E, State.ERRORED), (_E, State.CANCELLED))
_FINISHED = ((_E, State.COMPLETE), (_A, State.APPLIED))  # the second one at once where all was done in place

# Every legal change of phase and state. Whatever is not here is a bug or a guard that was left out.
LEGAL: Mapping[tuple[Phase, State], tuple[tuple[Phase, State], ...]] = {
    (Phase.STRATEGIZE, State.COMPLETE): ((_E, State.QUEUED), (_E, State.CANCELLED)),
    (_E, State.QUEUED): ((_E, State.PROCESSING), *_STOPPED, *_FINISHED),
    (_E, State.PROCESSING): (
        *((_E, State.CONSTRAINED), (_E, State.PROCESSING)),
        *_STOPPED,
        *_FINISHED,
    ),
    (_E, State.ERRORED): ((_E, State.PROCESSING), *_STOPPED, *_FINISHED),
    (_E, State.CONSTRAINED): ((_E, State.PROCESSING), *_STOPPED, *_FINISHED),
    (_E, State.COMPLETE): (
        *((_E, State.QUEUED), (_E, State.CANCELLED), (_A, State.PROCESSING)),
        *((_E, State.PROCESSING), *_FINISHED),  # a session that goes on; a return to another complete state
    ),
    (_A, State.PROCESSING): (
        (_A, State.APPLIED),
        (_A, State.CONSTRAINED),
        (_E, State.COMPLETE),
        (_E, State.CANCELLED),
    ),
    (_A, State.CONSTRAINED): (
        *((_A, State.PROCESSING), (_E, State.QUEUED), (_E, State.CANCELLED)),
        *_FINISHED,
    ),
    # By unapply; what was done in place also goes back and forward, and is cancelled where a return cannot be finished.
    (_A, State.APPLIED): ((_E, State.QUEUED), (_E, State.CANCELLED), *_FINISHED),
    (_A, State.CANCELLED): (),  # recorded by earlier versions, whose unapply ended a plan
    (_E, State.CANCELLED): (),
}


_UNFINISHED = (
    (_E, State.QUEUED),
    (_E, State.PROCESSING),
    (_E, State.ERRORED),
    (_E, State.CONSTRAINED),
)
_NOT_BEGUN = (Phase.STRATEGIZE, State.COMPLETE)
_BACK = (*_UNFINISHED, (_E, State.COMPLETE), (_A, State.CONSTRAINED))
# The states of a plan in which an act makes sense: to find the one that is meant, and to offer those that may be.
SUITABLE: Mapping[str, tuple[tuple[Phase, State], ...]] = {
    "accept": _UNFINISHED,
    "answer": ((_E, State.CONSTRAINED),),
    # Any plan that is not over: the newest is meant, and refused where it is not complete.
    "extend": _BACK,
    "apply": ((_E, State.COMPLETE), (_A, State.CONSTRAINED)),
    "cancel": (_NOT_BEGUN, *_BACK, (_A, State.PROCESSING)),
    "execute": (*_UNFINISHED, _NOT_BEGUN),
    "resolve": ((_E, State.CONSTRAINED),),
    "resume": (*_UNFINISHED, _NOT_BEGUN, (_A, State.PROCESSING)),
    "rollback": _BACK,
    "unapply": ((_A, State.APPLIED),),
    "undo": _BACK,
}


class PlanFailure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reason why a plan stopped."""

    message: str
    step: str | None
    tool: str | None
    checkpoint: str | None  # id of the checkpoint of what the step left behind
    question: Question | None = None  # that someone has to answer

    def to_json(self) -> JsonObject:
        """The same as a document."""
        asked: JsonObject = {"question": self.question.to_json()} if self.question else {}
        stopped: JsonObject = {
            "message": self.message,
            "step": self.step,
            "tool": self.tool,
            "checkpoint": self.checkpoint,
        }
        return stopped | asked


class Conflict(Struct, frozen=True, kw_only=True):
    """A path that two sides changed, and why that does not go together."""

    resource: str
    path: str
    reason: str

    def to_json(self) -> JsonObject:
        """The same as a document."""
        return {"resource": self.resource, "path": self.path, "reason": self.reason}


class Plan(Struct, frozen=True, kw_only=True):
    """A recorded plan: its definition, phase, state and progress."""

    plan_id: PlanId
    handle: str  # by which people call it; unique in the project
    parent_plan_id: PlanId | None
    definition: PlanDefinition
    phase: Phase
    state: State
    attempt: int  # one more with each correction
    progress: PlanState  # as recorded with the newest group; without groups, with the newest step
    line: int  # the current line of history
    current_group_id: GroupId | None  # the group last recorded or restored
    last_checkpoint_id: CheckpointId | None
    failure: PlanFailure | None
    messages: tuple[str, ...]  # what the user must know of this plan, such as what its sandboxes cannot hold
    fence: int  # raised by every claim
    created_at: datetime
    updated_at: datetime
    conflicts: tuple[Conflict, ...] = ()  # that hold it up, while it is constrained
    hidden: tuple[str, ...] = ()  # patterns of paths that are held, but neither applied nor shown

    @property
    def name(self) -> str:
        """The name in the plan file."""
        return self.definition.name

    def moved_to(self, phase: Phase, state: State, at: datetime) -> "Plan":
        """The plan in that phase and state, where the table of legal transitions has it."""
        if (phase, state) not in LEGAL[(self.phase, self.state)]:
            raise errors.TransitionIllegal(
                plan_id=self.plan_id, source=f"{self.phase}/{self.state}", target=f"{phase}/{state}"
            )
        conflicts = self.conflicts if state is State.CONSTRAINED else ()
        return replace(self, phase=phase, state=state, updated_at=at, conflicts=conflicts)

    def step_name(self, index: int) -> str:
        """Return the name of a step; in a session, of a complete one."""
        return self.progress.steps[index] if self.definition.session else self.definition.steps[index].name

    @property
    def way_on(self) -> Advice:
        """Describe how to continue the plan when it has stopped."""
        if self.definition.session:
            return Advice("start its program again, with ", NextStep("session", resume=self.plan_id))
        return Advice("run on with ", NextStep("resume", plan=self.plan_id))

    @property
    def way_to_answer(self) -> NextStep:
        """Return the operation that answers the question that the plan waits with."""
        if any(isinstance(step.action, Pick) for step in self.definition.steps):
            return NextStep("pick_variant", variant=...)
        return NextStep("answer", plan=self.handle, choice=...)

    @property
    def question(self) -> Question | None:
        """Return the question that the plan waits for someone to answer."""
        return self.failure.question if self.failure and self.state is State.CONSTRAINED else None

    @property
    def waiting(self) -> JsonObject | None:
        """Return what the plan waits for someone to do, as a document; None: nothing."""
        if self.state is not State.CONSTRAINED:
            return None
        if self.question is not None:
            step = self.failure.step if self.failure else None
            return {"reason": "question", "step": step, **self.question.to_json()}
        paths = [conflict.path for conflict in self.conflicts]
        return {"reason": "conflicts", "paths": list[Json](paths)} if paths else None

    @property
    def is_executed(self) -> bool:
        """Return whether no step is left to run."""
        return self.phase is Phase.APPLY or (self.phase, self.state) == (Phase.EXECUTE, State.COMPLETE)

    @property
    def is_final(self) -> bool:
        """Return whether the plan is in a final state."""
        return self.state in (State.APPLIED, State.CANCELLED)


class ResumedFrom(Struct, frozen=True, kw_only=True):
    """The group from which a stopped plan resumed, and the group that keeps its state from before that.

    Changes by others while the plan was at rest are not discarded: the group it resumed from holds them.
    """

    checkpoint_id: CheckpointId
    step_index: int
    discarded: CheckpointId | None  # of the pre_rollback group; None: nothing was discarded
    edited: tuple[str, ...] = ()  # paths that others changed while the plan was at rest; the group holds them
