"""The answer of a restore of single paths for people: what comes back, what goes, and what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Format, Line, Table
from mulligan.cli.answers.paths.stored_path_answer import seen_from_here
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import PathRestore, PathRestores
    from mulligan.cli.invocation import Invocation

_SHOWN = 50  # paths on a terminal


def path_restore_answer(invocation: Invocation, project: Project, done: PathRestores) -> Answer:
    """Answer with what a restore of paths did, or would do."""
    blocks: list[Line | Table] = []
    for each in done.restores:
        blocks += _blocks(invocation, project, each, dry_run=done.dry_run)
    return Answer(data=done, blocks=blocks, messages=done.messages)


def _blocks(
    invocation: Invocation, project: Project, each: PathRestore, *, dry_run: bool
) -> list[Line | Table]:
    name, seen = f"{each.handle}@{each.number}", seen_from_here(invocation, project)
    where = f"the sandbox of {each.handle}" if each.place == "sandbox" else "the real folder"
    if not each.changes:
        blocks: list[Line | Table] = [Line(f"nothing to restore: {where} has what {name} has", title=True)]
    else:
        verb = "would be restored" if dry_run else "restored"
        blocks = [Line(f"{counted(len(each.changes), 'path')} {verb} from {name} into {where}", title=True)]
    most = _SHOWN if invocation.format is Format.RICH else len(each.changes)
    rows = [(c.action.value, seen(c.path)) for c in each.changes[:most]]
    if rows:
        blocks.append(Table(("ACTION", "PATH"), tuple(rows)))
    if len(each.changes) > most:
        blocks.append(Line(f"... and {len(each.changes) - most:,} more"))
    if each.left:
        shown = ", ".join(seen(path) for path in each.left[:5])
        more = f" and {len(each.left) - 5:,} more" if len(each.left) > 5 else ""
        blocks.append(
            Line(f"left as it is, since {name} does not have it: {shown}{more}; --delete removes it")
        )
    if each.entry is not None:
        kept = f"{each.kept_by}@{each.kept_in}"
        blocks.append(Line(f"what was there is kept in {kept}; `mulligan undo {each.entry}` takes it back"))
    return blocks
