"""Acts on the folder and its timeline: taking back, bringing back, and the upkeep of what mulligan keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.document import Reply
from mulligan.api.replies import undone_reply
from mulligan.domain.text.plural import counted
from mulligan.errors import NothingToUndo, ProjectUnwell
from mulligan.page.acts.act_outcomes import ActOutcome, Touched, of_restores, of_return, plans_named

if TYPE_CHECKING:
    from mulligan.api.project import Project
    from mulligan.api.results import Undone
    from mulligan.page.acts import act_arguments as wishes


def undo(project: Project, wish: wishes.Undo, *, dry_run: bool) -> ActOutcome:
    """Take back what was done last and still counts, or what is named."""
    what = None if wish.only else project.entry_to_undo(wish.what, settle=not dry_run)
    if wish.agreed is not None and what != wish.agreed:
        raise NothingToUndo(reason=f"since the preview of entry {wish.agreed} something else was done")
    undone = project.undo(
        what,
        only=wish.only,
        dry_run=dry_run,
        onto_branch=wish.onto_branch,
        keep_commits=wish.keep_commits,
        end_processes=wish.end_processes,
    )
    return _undone(undone, "would be undone" if dry_run else "is undone")


def redo(project: Project, wish: wishes.Redo, *, dry_run: bool) -> ActOutcome:
    """Bring back what was undone last."""
    done = project.redo(wish.agreed, dry_run=dry_run, onto_branch=wish.onto_branch)
    return _undone(done, "would be brought back" if dry_run else "is brought back")


def _undone(done: Undone, verb: str) -> ActOutcome:
    entry = done.entry
    named = (
        f"{entry.number}, {entry.kind.words} “{entry.title}”," if entry is not None else ", ".join(done.only)
    )
    place = "the real files" if entry is None or entry.real else f"the sandbox of {done.handle}"
    kept = f" What was there is kept in {done.handle}@{done.kept.number}." if done.kept is not None else ""
    conflicts = tuple(Touched(action="conflict", where=c.resource, name=c.path) for c in done.conflicts)
    applied = tuple(
        Touched(action="changed", where=each.resource, name=counted(each.files, "file"))
        for each in done.applied
    )
    running = [f"process {each.pid} is still running: {each.command}" for each in done.processes]
    return ActOutcome(
        reply=undone_reply(done),
        says=f"{named} {verb} in {place}.{kept}",
        touches=(*conflicts, *of_return(done.changes_reverted), *applied),
        hidden=sum(change.hidden for change in done.changes_reverted),
        plan=done.handle,
        notes=tuple(running),
        entry=entry.number if entry is not None else None,
    )


def rollback(project: Project, wish: wishes.Rollback, *, dry_run: bool) -> ActOutcome:
    """Bring a plan back, or forward, to a checkpoint."""
    back = project.rollback(wish.plan, wish.checkpoint, dry_run=dry_run)
    impact, number = back.impact, back.rollback_summary.number
    verb = "would go" if dry_run else "went"
    notes = [f"not undone, outside of the sandbox: {call}" for call in impact.irreversible]
    return ActOutcome(
        reply=Reply(data=back, messages=back.messages, warn=bool(impact.undo_failed)),
        says=f"{back.handle} {verb} to {back.handle}@{number}: "
        f"{counted(impact.tool_calls_undone, 'tool call')} and "
        f"{counted(impact.decisions_discarded, 'decision')} taken back.",
        touches=of_return(back.changes_reverted),
        hidden=sum(change.hidden for change in back.changes_reverted),
        plan=back.handle,
        notes=tuple(notes),
    )


def restore_paths(project: Project, wish: wishes.RestorePaths, *, dry_run: bool) -> ActOutcome:
    """Bring single paths back from a checkpoint; what was there is kept."""
    done = project.restore_paths(
        wish.paths,
        checkpoint=project.checkpoints.named(wish.checkpoint) if wish.checkpoint else None,
        entry=wish.entry,
        sandbox=wish.sandbox,
        delete=wish.delete,
        dry_run=dry_run,
    )
    touches = of_restores(done)
    sources = ", ".join(sorted({f"{each.handle}@{each.number}" for each in done.restores}))
    kept = sorted({f"{e.kept_by}@{e.kept_in}" for e in done.restores if e.kept_in is not None})
    verb = "would come" if dry_run else "came"
    says = f"{counted(len(touches), 'path')} {verb} back from {sources}." if sources else "Nothing differs."
    return ActOutcome(
        reply=Reply(data=done, messages=done.messages),
        says=says + (f" What was there is kept in {', '.join(kept)}." if kept else ""),
        touches=touches,
        notes=tuple(
            f"not in the checkpoint, and stays: {path}" for each in done.restores for path in each.left
        ),
    )


def remove_plan(project: Project, wish: wishes.RemovePlan, *, dry_run: bool) -> ActOutcome:
    """Forget a plan with its checkpoints and sandboxes; real files stay as they are."""
    removal = project.remove_plan(wish.plan, dry_run=dry_run)
    names = [each.handle for each in removal.removed]
    groups = sum(each.checkpoints for each in removal.removed)
    verb = "would be" if dry_run else "are"
    notes = [f"{each.handle} is complete and was never applied" for each in removal.removed if each.unapplied]
    notes += [
        f"{each.handle} is applied: unapply can take that back until now"
        for each in removal.removed
        if each.can_be_taken_back
    ]
    return ActOutcome(
        reply=Reply(data=removal, messages=removal.messages),
        says=f"{', '.join(names)} and {counted(groups, 'checkpoint')} {verb} forgotten; real files stay.",
        touches=(
            *plans_named("forget", names),
            *(
                Touched(action="remove", where="sandbox", name=path)
                for e in removal.removed
                for path in e.sandboxes
            ),
        ),
        notes=tuple(notes),
    )


def collect(project: Project, wish: wishes.CollectGarbage, *, dry_run: bool) -> ActOutcome:  # noqa: ARG001 - all acts take one
    """Free what no checkpoint refers to, and what killed processes left behind."""
    report = project.gc(dry_run=dry_run)
    verb = "would be" if dry_run else "were"
    return ActOutcome(
        reply=Reply(data=report, messages=project.full_homes(), warn=bool(report.packs_unreadable)),
        says=f"{counted(report.bytes_freed, 'byte')} {verb} freed; {counted(report.bytes_kept, 'byte')} stay.",
        touches=tuple(
            Touched(action="remove", where="sandbox", name=path) for path in report.sandboxes_removed
        ),
    )


def look_over(project: Project, wish: wishes.LookOver, *, dry_run: bool) -> ActOutcome:  # noqa: ARG001 - all acts take one
    """Check database, store, sandboxes and leftovers, and repair what is safe."""
    if dry_run:
        says = (
            "Database, store, sandboxes, processes and leftovers are checked, and what is safe is repaired."
        )
        return ActOutcome(reply=Reply(data={"dry_run": True}), says=says)
    found = project.doctor()
    left = sum(not finding.repaired for finding in found.findings)
    return ActOutcome(
        reply=Reply(data=found, error=ProjectUnwell(count=left) if left else None),
        says="All is well." if not left else f"{counted(left, 'problem')} left.",
        touches=tuple(
            Touched(action="repaired" if f.repaired else "wrong", where=f.area, name=f.what)
            for f in found.findings
        ),
        notes=(*found.waiting, *found.left_alone, *found.system),
    )
