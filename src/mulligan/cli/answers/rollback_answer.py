"""The answer of a rollback for people: what it takes back, path by path."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Block, Line, Table, cut
from mulligan.cli.answers.plain_words import moment
from mulligan.domain.plans.plan import State
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.results import Impact, RevertedChange, Rollback

_OBJECTS = ".git/objects/"
_POSITION = {".git/HEAD": "HEAD", ".git/branch": "branch", ".git/index": "index: what is staged"}


def rollback_answer(rollback: Rollback) -> Answer:
    """Answer with what a rollback did, or would do."""
    summary, after, impact = rollback.rollback_summary, rollback.post_rollback_state, rollback.impact
    verb = "would go" if rollback.dry_run else "went"
    at = moment(summary.checkpoint_type, after.step_index, summary.label)
    names: dict[str, str] = {
        rollback.plan_id: rollback.handle,
        summary.checkpoint: f"{rollback.handle}@{summary.number}",
    }
    blocks: list[Block] = [
        Line(
            f"{rollback.plan_id} {verb} {summary.direction} to {summary.checkpoint}, {at}",
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
        kept = f" --to {after.pre_rollback_checkpoint}" if after.pre_rollback_checkpoint else ""
        look = f"mulligan diff --stat {rollback.plan_id} --from {summary.checkpoint}{kept}"
        blocks += changes_blocks(rollback.changes_reverted, look)
    if rollback.dry_run:  # the messages cover one that is done
        blocks += [Line(f"cannot be undone: {call}") for call in impact.irreversible]
    if after.pre_rollback_checkpoint:
        blocks.append(Line(f"what was there is kept in {after.pre_rollback_checkpoint}"))
        if after.state is State.COMPLETE:
            blocks.append(Line(f"it is complete: `mulligan apply {summary.handle}`"))
        else:
            blocks.append(Line(f"run on with `mulligan resume {rollback.plan_id}`"))
    return Answer(
        data=rollback,
        blocks=blocks,
        names=names,
        messages=rollback.messages,
        warn=bool(impact.undo_failed),
    )


def changes_line(paths: int, impact: Impact, *, dry_run: bool) -> Line:
    """Describe how much a return touches and takes back, or would."""
    calls = counted(impact.tool_calls_undone, "tool call")
    decisions = counted(impact.decisions_discarded, "decision")
    be = "to be " if dry_run else ""
    return Line(f"{counted(paths, 'path')} {be}changed; {calls}, {decisions} {be}taken back")


def changes_blocks(changes: Sequence[RevertedChange], look: str) -> list[Block]:
    """Return the paths that are shown, with the command that shows all, and how many caches are among the others."""
    shown = [change for change in changes if not change.hidden]
    blocks: list[Block] = [*cut(_changes_table(shown), look)] if shown else []
    if len(shown) < len(changes):
        caches = counted(len(changes) - len(shown), "path of caches", "paths of caches")
        blocks.append(Line(f"{caches} not shown: `sandbox.hide` matches"))
    return blocks


def _changes_table(changes: Sequence[RevertedChange]) -> Table:
    """One row a path; what git stores as objects, which says nothing to people, in one row for all."""
    rows = [
        (c.action.value, c.resource, c.about or _POSITION.get(c.file, c.file))
        for c in changes
        if not c.file.startswith(_OBJECTS)
    ]
    rows = list(dict.fromkeys(rows))  # HEAD and its branch move together
    objects = Counter((c.action.value, c.resource) for c in changes if c.file.startswith(_OBJECTS))
    rows += [
        (action, resource, f"{_OBJECTS}... ({counted(n, 'path')})")
        for (action, resource), n in objects.items()
    ]
    return Table(("ACTION", "RESOURCE", "PATH"), tuple(rows))
