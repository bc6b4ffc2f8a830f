"""The answer of a rollback for people: what it takes back, path by path."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.results import Impact, RevertedChange, Rollback

_OBJECTS = ".git/objects/"


def rollback_answer(rollback: Rollback) -> Answer:
    """Answer with what a rollback did, or would do."""
    summary, after, impact = rollback.rollback_summary, rollback.post_rollback_state, rollback.impact
    label = f" ({summary.label})" if summary.label else ""
    verb = "would go" if rollback.dry_run else "went"
    blocks: list[Line | Table] = [
        Line(
            f"plan {summary.plan} {verb} {summary.direction} to {summary.checkpoint}{label}, step {after.step_index}",
            title=True,
        ),
        changes_line(summary.files_reverted, impact, dry_run=rollback.dry_run),
    ]
    if impact.child_plans_invalidated:
        word = "would be " if rollback.dry_run else ""
        blocks.append(Line(f"{counted(impact.child_plans_invalidated, 'child plan')} {word}cancelled"))
    undone = "to be undone" if rollback.dry_run else "undone"
    blocks += [Line(f"{undone}: {call}") for call in impact.undo if call not in impact.undo_failed]
    if rollback.changes_reverted:
        blocks.append(changes_table(rollback.changes_reverted))
    if rollback.dry_run:  # the messages cover one that is done
        blocks += [Line(f"cannot be undone: {call}") for call in impact.irreversible]
    if after.pre_rollback_checkpoint:
        blocks.append(Line(f"what was there is kept in {after.pre_rollback_checkpoint}"))
        blocks.append(Line(f"run on with `mulligan plan resume {rollback.plan_id}`"))
    return Answer(data=rollback, blocks=blocks, messages=rollback.messages, warn=bool(impact.undo_failed))


def changes_line(paths: int, impact: Impact, *, dry_run: bool) -> Line:
    """Describe how much a return touches and takes back, or would."""
    calls = counted(impact.tool_calls_undone, "tool call")
    decisions = counted(impact.decisions_discarded, "decision")
    be = "to be " if dry_run else ""
    return Line(f"{counted(paths, 'path')} {be}changed; {calls}, {decisions} {be}taken back")


def changes_table(changes: Sequence[RevertedChange]) -> Table:
    """One row a path; what git stores as objects, which says nothing to people, in one row for all."""
    rows = [(c.action.value, c.resource, c.file) for c in changes if not c.file.startswith(_OBJECTS)]
    objects = Counter((c.action.value, c.resource) for c in changes if c.file.startswith(_OBJECTS))
    rows += [
        (action, resource, f"{_OBJECTS}... ({counted(n, 'path')})")
        for (action, resource), n in objects.items()
    ]
    return Table(("ACTION", "RESOURCE", "PATH"), tuple(rows))
