"""A report of a plan and its child plans, each part cut to what the page shows."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from mulligan.domain.history.correction import Correction
from mulligan.domain.plans.plan import Plan
from mulligan.domain.plans.step import StepRecord
from mulligan.domain.text.ids import GroupId
from mulligan.domain.trees.diff import FileDiff, FolderDiff
from mulligan.domain.views.status_view import ExecutionCounts, PlanErrorView
from mulligan.domain.views.story import Passage


class ShownFile(Struct, frozen=True, kw_only=True):
    """One file or symlink that differs, and as much of its patch as is shown."""

    file: FileDiff
    patch: bytes
    lines_left_out: int


class Changes(Struct, frozen=True, kw_only=True):
    """The shown differences between two groups."""

    old: GroupId
    new: GroupId
    files: tuple[ShownFile, ...]
    folders: tuple[FolderDiff, ...]
    paths_left_out: int  # files and folders that differ too, and were not looked at
    hidden: int  # files that differ too, and that the plan hides
    problem: str | None  # why this is not all: the store is damaged
    look: str  # how to see all of it


class PlanReport(Struct, frozen=True, kw_only=True):
    """The report of one plan."""

    plan: Plan
    parent_name: str | None  # of a child plan
    steps: tuple[StepRecord, ...]
    counts: ExecutionCounts
    error: PlanErrorView | None
    messages: tuple[str, ...]
    corrections: tuple[Correction, ...]
    passages: tuple[Passage, ...]
    events_left_out: int  # older ones
    look: str  # how to see all events
    changes: Mapping[GroupId, Changes]  # by the newer group: since the one before it
    overall: Changes | None  # from the first live group to the newest; None: there are no two


class Report(Struct, frozen=True, kw_only=True):
    """A plan, then its child plans, each before its own."""

    plans: tuple[PlanReport, ...]
    plans_left_out: int
    made_at: datetime

    @property
    def problems(self) -> tuple[str, ...]:
        """The reasons for which the report is incomplete, each once."""
        parts = (
            changes
            for part in self.plans
            for changes in (*part.changes.values(), part.overall)
            if changes is not None
        )
        return tuple(dict.fromkeys(changes.problem for changes in parts if changes.problem))
