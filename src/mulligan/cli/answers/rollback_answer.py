"""The answer of a rollback for people: what it takes back, path by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.answers.changes_table import changes_line, changes_table
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import Rollback


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
