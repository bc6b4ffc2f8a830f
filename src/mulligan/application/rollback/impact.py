"""The impact of a return, as answers show it: by the same rules that the rows follow."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from mulligan.application.checkpoints.checkpoint_manager import Changes
from mulligan.application.subplans.child_plans import children_left_behind
from mulligan.domain.checkpoints.checkpoint import CheckpointGroup
from mulligan.domain.checkpoints.store_report import ChangeAction
from mulligan.domain.history.lines import is_live, live_segments
from mulligan.domain.history.undo import Undoing, described
from mulligan.domain.plans.decision import Decision
from mulligan.domain.text.ids import PlanId
from mulligan.domain.trees.tree_difference import path_and_around
from mulligan.rows.transaction import Transaction


class RevertedChange(Struct, frozen=True, kw_only=True):
    """One path that a return changes."""

    resource: str
    file: str
    action: ChangeAction
    about: str = ""  # of a part of a git directory: what moves where, such as `branch: x → main`
    hidden: bool = False  # the plan hides it: lists for people only count it


class Impact(Struct, frozen=True, kw_only=True):
    """The part of the plan's history that a return supersedes."""

    child_plans_invalidated: int
    decisions_discarded: int
    tool_calls_undone: int
    undo: tuple[str, ...]  # calls to undo, in that order
    undo_failed: tuple[str, ...]  # those of them whose `undo` failed; none in a dry run
    irreversible: tuple[str, ...]  # calls whose effects outside cannot be undone


def all_impact(impacts: Sequence[Impact]) -> Impact:
    """Return the sum of several impacts."""
    return Impact(
        child_plans_invalidated=sum(each.child_plans_invalidated for each in impacts),
        decisions_discarded=sum(each.decisions_discarded for each in impacts),
        tool_calls_undone=sum(each.tool_calls_undone for each in impacts),
        undo=tuple(call for each in impacts for call in each.undo),
        undo_failed=tuple(call for each in impacts for call in each.undo_failed),
        irreversible=tuple(call for each in impacts for call in each.irreversible),
    )


def reverted(changes: Changes, hidden: Iterable[str]) -> tuple[RevertedChange, ...]:
    """Return the changes of a restore, path by path; those that these patterns match are marked."""
    from mulligan.domain.paths.path_patterns import PathPatterns

    matching = PathPatterns(hidden)
    found: list[RevertedChange] = []
    for resource, paths in changes.items():
        folders = {
            folder for change in paths for folder in path_and_around(change.path) if folder != change.path
        }
        found += [
            RevertedChange(
                resource=resource,
                file=change.path,
                action=change.action,
                about=change.about,
                hidden=matching.match(change.path, is_folder=change.path in folders),
            )
            for change in paths
        ]
    return tuple(found)


def impact_of(
    db: Transaction,
    plan_id: PlanId,
    target: CheckpointGroup,
    undoing: Undoing,
    spared: Collection[PlanId] = (),
) -> Impact:
    """Return what a return to the group supersedes, and which effects outside it can undo."""
    segments = live_segments(db.history.lines(plan_id), target.line, target.seq)
    calls = [c for c in db.tool_calls.list(plan_id) if not c.superseded]
    return Impact(
        child_plans_invalidated=len(
            children_left_behind(db, plan_id, target, unfinished_too=True, spared=spared)
        ),
        decisions_discarded=len(decisions_left_behind(db, plan_id, target)),
        tool_calls_undone=sum(c.done_seq is None or not is_live(segments, c.line, c.done_seq) for c in calls),
        undo=tuple(map(described, undoing.undone)),
        undo_failed=(),
        irreversible=tuple(map(described, undoing.irreversible)),
    )


def decisions_left_behind(db: Transaction, plan_id: PlanId, target: CheckpointGroup) -> list[Decision]:
    """Return the live decisions that a return to the group supersedes, in order."""
    segments = live_segments(db.history.lines(plan_id), target.line, target.seq)
    live = [d for d in db.decisions.list(plan_id) if not d.superseded]
    return [d for d in live if not is_live(segments, d.line, d.seq)]
