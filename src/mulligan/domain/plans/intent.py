"""Intents: what is to be done, recorded before the first byte is touched, until it is done."""

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct

from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.plan import Phase, PlanDefinition, PlanFailure, State
from mulligan.domain.text.ids import GroupId, IntentId, PlanId


class IntentKind(StrEnum):
    """The kind of an operation under way."""

    SANDBOX = "sandbox"  # making the plan's sandboxes
    ROLLBACK = "rollback"
    RETURN = "return"  # the return after a failed step
    APPLY = "apply"
    UNAPPLY = "unapply"
    RESTORE = "restore"  # single paths from a checkpoint
    UNDO = "undo"  # of an entry of the timeline in real resources, or its redo
    CORRECTION = "correction"  # a return, and what a correction adds to it


class _Work(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Work that an intent is about; its tag is the intent's kind."""


class SandboxWork(_Work, frozen=True, kw_only=True, tag="sandbox"):
    """The making of a plan's sandboxes."""

    resources: tuple[str, ...]


class RealWork(_Work, frozen=True, kw_only=True):
    """A change of real resources, by an apply, an unapply or a restore of paths."""

    locations: tuple[str, ...]  # absolute paths
    undoes: int | None = None  # the entry of the timeline that it takes back
    redoes: int | None = None  # the entry that it brings back


class ApplyWork(RealWork, frozen=True, kw_only=True, tag="apply"):
    """A change of real resources to what the plan made."""


class UnapplyWork(RealWork, frozen=True, kw_only=True, tag="unapply"):
    """A change of real resources back to what they were before an apply."""


class RestoreWork(RealWork, frozen=True, kw_only=True, tag="restore"):
    """A change of single paths, of real resources or of the plan's sandboxes, to what a group holds."""

    source: GroupId


class ReturnWork(_Work, frozen=True, kw_only=True):
    """A return of the plan to one of its groups, and what the plan is afterwards."""

    target: GroupId
    state: State
    log: dict[str, Any]  # for the log, as JSON
    failure: PlanFailure | None = None
    spare: GroupId | None = None  # a group that stays live although it lies behind
    ends_children: bool = False  # also those of a step not completed, which finds them again otherwise
    spared_children: tuple[PlanId, ...] = ()  # that its step finds again, although they are to end
    way_back: bool = False  # whether a group keeps what was there before, or is about to be taken for that
    before: GroupId | None = None  # that group, once it is recorded
    at_seq: int = 0  # the newest sequence number of the plan when it was recorded
    phase: Phase = Phase.EXECUTE
    undoes: int | None = None  # the entry of the timeline that it takes back
    redoes: int | None = None  # the entry that it brings back
    locations: tuple[str, ...] = ()  # absolute paths of what is brought back in place


class RollbackWork(ReturnWork, frozen=True, kw_only=True, tag="rollback"):
    """A return that a user asked for, by a rollback or by a resume."""

    correction: None = None


class StepReturnWork(ReturnWork, frozen=True, kw_only=True, tag="return"):
    """The return after a failed step."""

    correction: None = None


class CorrectionWork(ReturnWork, frozen=True, kw_only=True, tag="correction"):
    """A return, and what a correction adds to it."""

    correction: Correction


class UndoWork(ReturnWork, frozen=True, kw_only=True, tag="undo"):
    """A change of real resources that takes an entry of the timeline back, or brings it back."""


Work: TypeAlias = (
    SandboxWork
    | ApplyWork
    | UnapplyWork
    | RestoreWork
    | RollbackWork
    | StepReturnWork
    | CorrectionWork
    | UndoWork
)


class Intent(Struct, frozen=True, kw_only=True):
    """One operation that is under way or was cut off; the next claim of the plan finishes or undoes it."""

    intent_id: IntentId
    plan_id: PlanId
    work: Work
    created_at: datetime
    definition: PlanDefinition | None = None  # what the plan is once it is done; None: what it was
    host: str | None = None  # the id of the machine that it is done on, in a project of several

    @property
    def kind(self) -> IntentKind:
        """The kind of operation."""
        return IntentKind(str(self.work.__struct_config__.tag))

    @property
    def locations(self) -> tuple[str, ...]:
        """The real resources that it changes, as absolute paths."""
        return () if isinstance(self.work, SandboxWork) else self.work.locations

    @property
    def target(self) -> GroupId | None:
        """The group that a return goes to; None: it is not a return."""
        return self.work.target if isinstance(self.work, ReturnWork) else None

    @property
    def needed(self) -> GroupId | None:
        """The group that must stay until the work is done."""
        return self.work.source if isinstance(self.work, RestoreWork) else self.target
