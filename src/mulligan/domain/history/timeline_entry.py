"""Entries of a folder's timeline: what was done there, over all plans, and what of it still counts."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.ids import GroupId, PlanId
from mulligan.domain.text.json_value import JsonObject

CLEARS = "clears"  # in the detail of a prompt: the undos that nothing brings back once it changed something


class DeedKind(StrEnum):
    """The kind of an entry. Front doors accept kinds that they do not know: more may come."""

    RUN = "run"  # a command without a plan file
    STEP = "step"  # of a plan file or a session
    PROMPT = "prompt"  # of a coding agent, with all that the agent did to answer it
    APPLY = "apply"
    UNAPPLY = "unapply"
    RESTORE = "restore"  # of single paths of the real folder
    SANDBOX_RESTORE = "sandbox_restore"  # of single paths of a plan's sandboxes
    UNDO = "undo"  # of sessions, prompts and calls of agents, without what others did

    @property
    def is_step(self) -> bool:
        """Return whether it is work of a plan, and not something that was done to real resources."""
        return self in (DeedKind.RUN, DeedKind.STEP, DeedKind.PROMPT)

    @property
    def is_in_sandbox(self) -> bool:
        """Return whether it changed the sandboxes of its plan, which may be the real resources."""
        return self.is_step or self is DeedKind.SANDBOX_RESTORE

    @property
    def words(self) -> str:
        """Return what people call it."""
        return self.value.replace("_", " ")

    @property
    def is_restore(self) -> bool:
        """Return whether it is a restore of single paths."""
        return self in (DeedKind.RESTORE, DeedKind.SANDBOX_RESTORE)


class DeedStatus(StrEnum):
    """The way in which an entry ended."""

    RUNNING = "running"  # or its process died
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """One thing that was done."""

    number: int  # on the timeline, from 1; never given twice
    plan_id: PlanId
    kind: DeedKind
    title: str
    step_index: int | None  # None: it is not a step
    line: int  # of the plan's history
    seq: int
    status: DeedStatus
    created_at: datetime
    superseded: bool = False  # a return left it behind
    undone: bool = False  # it was taken back on its own, and its plan did not go back
    redo: int | None = None  # the order in which it was undone, while it can be redone
    before_group: GroupId | None = None  # the state right before it; None: no group holds that
    after_group: GroupId | None = (
        None  # the state right after it; None: it was cut off, or no group holds that
    )
    undone_from: GroupId | None = None  # while it can be redone: what was there before the undo
    undone_to: GroupId | None = None  # and what the undo made of it
    undone_seq: int | None = None  # where it was undone alone: of the group that holds what was there
    changed: bool | None = None  # whether contents differ before and after; None: not known
    files: int | None = None  # of all but steps: how many files it changed
    detail: JsonObject = {}  # of an apply its options; of an undone step the state that its plan had

    @property
    def undo_name(self) -> str:
        """Return what distinguishes the undo of the entry from others, those of the same entry included."""
        return f"{self.number} {self.undone_from or ''}"

    @property
    def cleared_undos(self) -> frozenset[str]:
        """Return the names of the undos that cannot be redone once the entry changed something."""
        noted = self.detail.get(CLEARS)
        return frozenset(map(str, noted)) if isinstance(noted, list) else frozenset()

    @property
    def is_live(self) -> bool:
        """Return whether its effect is there."""
        return not (self.superseded or self.undone)

    @property
    def is_cut_off(self) -> bool:
        """Return whether it did not come to its end: what changed until the next event belongs to it."""
        return self.status in (DeedStatus.RUNNING, DeedStatus.INTERRUPTED)

    @property
    def is_open(self) -> bool:
        """Return whether it was cut off, and nothing happened since that ended it."""
        return self.is_cut_off and self.after_group is None


class Turn(Struct, frozen=True, kw_only=True):
    """An operation as a step on the timeline: something new, or the undo or redo of an entry."""

    word: str  # for the log
    undoes: int | None = None
    redoes: int | None = None
    state: tuple[Phase, State] | None = None  # of the plan afterwards; None: as its operation has it

    @property
    def is_undo_or_redo(self) -> bool:
        """Return whether it is not something new."""
        return self.undoes is not None or self.redoes is not None


NEW_ACT = Turn(word="rollback")


class Standing(Struct, frozen=True, kw_only=True):
    """As much of an entry's plan as decides whether the entry counts."""

    phase: Phase
    state: State
    in_place: bool  # every resource is worked on in place
    has_sandboxes: bool


def still_counts(entry: TimelineEntry, plan: Standing) -> bool:
    """Return whether an undo takes the entry back, and not an earlier one.

    What is done in a sandbox counts until the plan is over; then its apply counts, if there was one. What is done in
    place counts whatever becomes of the plan, and so does a restore of real paths. A command that changed nothing
    leaves nothing to take back, and so does a prompt.
    """
    if not entry.is_live or (entry.kind in (DeedKind.RUN, DeedKind.PROMPT) and entry.changed is False):
        return False
    if entry.kind is DeedKind.UNDO:  # a redo takes that back
        return False
    if entry.kind is DeedKind.RESTORE:
        return True
    if entry.kind is DeedKind.APPLY:
        return (plan.phase, plan.state) == (Phase.APPLY, State.APPLIED)
    if entry.kind is DeedKind.UNAPPLY:
        ready = ((Phase.EXECUTE, State.COMPLETE), (Phase.APPLY, State.CONSTRAINED))
        return (plan.phase, plan.state) in ready
    over = plan.state in (State.APPLIED, State.CANCELLED)
    return plan.has_sandboxes and (plan.in_place or not over)


def newest_that_counts(entries: Iterable[tuple[TimelineEntry, Standing]]) -> TimelineEntry | None:
    """Return the entry that an undo takes back: the first that counts of entries that come newest first."""
    return next((entry for entry, plan in entries if still_counts(entry, plan)), None)


def next_to_redo(entries: Iterable[TimelineEntry]) -> TimelineEntry | None:
    """Return the entry that was undone last among those that can be redone."""
    return max((e for e in entries if e.redo is not None), key=lambda e: e.redo or 0, default=None)
