"""Tools that bring files back: single paths, or all of a checkpoint or before an entry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UnsetType

from mulligan.domain.plans.handle import group_reference
from mulligan.errors import NextStep, UsageWrong
from mulligan.mcp_server.path_lists import in_words, of_restores, of_return
from mulligan.mcp_server.tool_results import Returned
from mulligan.mcp_server.tool_work import question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.project import Project
    from mulligan.api.results import PathRestores, RevertedChange, Undone
    from mulligan.mcp_server.tool_arguments import RestoreFiles, Rewind
    from mulligan.mcp_server.tool_work import Question, ToolWork


def ask_to_restore(work: ToolWork, wish: RestoreFiles) -> Question | None:
    """Ask whether these paths are to come back; None where nothing would change."""
    if wish.dry_run:
        return None
    done = _restored(work.project(), wish, dry_run=True)
    changes = [change for each in done.restores for change in each.changes]
    if not changes:
        return None
    sources = sorted({f"{each.handle}@{each.number}" for each in done.restores})
    named = in_words([f"{change.action} {change.path}" for change in changes])
    command = NextStep(
        "restore_paths",
        paths=tuple(wish.paths),
        **({"checkpoint": sources[0]} if len(sources) == 1 else {}),
        **({"delete": True} if wish.delete else {}),
    )
    return question(f"Restore from {', '.join(sources)}: {named}?", "Restore", command, done.restores)


def restore_files(work: ToolWork, wish: RestoreFiles) -> Returned:
    """Bring single paths of the real folder back; what was there is kept."""
    project = work.project()
    done = _restored(project, wish, dry_run=wish.dry_run)
    kept = [f"{each.kept_by}@{each.kept_in}" for each in done.restores if each.kept_in is not None]
    sources = sorted({f"{each.handle}@{each.number}" for each in done.restores})
    return work.result(
        Returned,
        {
            "what": f"paths from {', '.join(sources)}" if sources else "no path",
            "dry_run": wish.dry_run,
            **of_restores(done),
            "kept": kept,
            "messages": (*work.notes, *done.messages),
        },
    )


def _restored(project: Project, wish: RestoreFiles, *, dry_run: bool) -> PathRestores:
    entry = None if isinstance(wish.entry, UnsetType) else wish.entry
    checkpoint = project.checkpoints.named(wish.checkpoint) if wish.checkpoint else None
    if entry is not None and checkpoint is not None:
        raise UsageWrong(
            reason="`entry` and `checkpoint` both say where the paths come from", hint="leave one out"
        )
    return project.restore_paths(
        wish.paths, checkpoint=checkpoint, entry=entry, delete=wish.delete, dry_run=dry_run
    )


def ask_to_rewind(work: ToolWork, wish: Rewind) -> Question | None:
    """Ask whether files are to go back; None where the call only looks."""
    _refuse_two(wish)
    if wish.dry_run:
        return None
    project = work.project()
    if wish.checkpoint:
        plan, checkpoint = _target(work, wish.checkpoint, wish.plan or None)
        back = project.rollback(plan, checkpoint, dry_run=True)
        number = f"{back.handle}@{back.rollback_summary.number}"
        named = _changed(back.changes_reverted)
        command = NextStep("rollback", plan=back.handle, checkpoint=f"@{back.rollback_summary.number}")
        text = f"Take {back.handle} back to {number}? It changes {named or 'no file'}."
        return question(text, "Go back", command, (number, back.changes_reverted, back.impact))
    undone = _undone(project, wish, _entry(work, wish, settle=True), dry_run=True)
    number, title, place = _of_entry(undone)
    named = _changed(undone.changes_reverted) or "all it did"
    text = f"Undo {number}, {title}? It changes {place}: {named}."
    command = NextStep("undo", what=number, **({"onto_branch": True} if wish.onto_branch else {}))
    return question(text, "Undo", command, (number, undone.changes_reverted, undone.impact, undone.applied))


def rewind(work: ToolWork, wish: Rewind) -> Returned:
    """Bring all files of a plan back to a checkpoint, or take back one entry; what was there is kept."""
    project = work.project()
    if wish.checkpoint:
        plan, checkpoint = _target(work, wish.checkpoint, wish.plan or None)
        back = project.rollback(plan, checkpoint, dry_run=wish.dry_run)
        kept = back.post_rollback_state.pre_rollback_checkpoint
        return _returned(
            work,
            f"{back.handle} to {back.handle}@{back.rollback_summary.number}",
            wish,
            back.changes_reverted,
            list(project.handles([kept]).values()) if kept is not None else [],
            back.messages,
        )
    number = _entry(work, wish, settle=not wish.dry_run)
    undone = _undone(project, wish, number, dry_run=wish.dry_run)
    number, title, _ = _of_entry(undone)
    return _returned(
        work,
        f"{number}: {title}",
        wish,
        undone.changes_reverted,
        [f"{undone.handle}@{undone.kept.number}"] if undone.kept is not None else [],
        undone.messages,
    )


def _returned(
    work: ToolWork,
    what: str,
    wish: Rewind,
    changes: Sequence[RevertedChange],
    kept: Sequence[str],
    messages: Sequence[str],
) -> Returned:
    return work.result(
        Returned,
        {
            "what": what,
            "dry_run": wish.dry_run,
            **of_return(changes),
            "kept": kept,
            "messages": (*work.notes, *messages),
        },
    )


def _target(work: ToolWork, checkpoint: str, plan: str | None) -> tuple[str, str]:
    """Return the plan that goes back, and the checkpoint: of the plan in its name, or of the newest."""
    reference = group_reference(checkpoint)
    named = plan or (reference.plan if reference is not None else "")
    return named or work.once("newest", lambda: work.project().newest_for("rollback")), checkpoint


def _entry(work: ToolWork, wish: Rewind, *, settle: bool) -> int:
    word = wish.plan or None
    if not isinstance(wish.entry, UnsetType):
        word = str(wish.entry)
    return work.once("entry", lambda: work.project().entry_to_undo(word, settle=settle))


def _undone(project: Project, wish: Rewind, number: int, *, dry_run: bool) -> Undone:
    undone = project.undo(number, dry_run=dry_run, onto_branch=wish.onto_branch)
    if undone.error is not None:
        raise undone.error
    return undone


def _of_entry(undone: Undone) -> tuple[int, str, str]:
    """Return the number of the entry that was named, what was done, and where."""
    entry = undone.entry
    assert entry is not None, "it is missing where a call or a session was named"
    return entry.number, entry.title, "real files" if entry.real else "a sandbox"


def _changed(changes: Sequence[RevertedChange]) -> str:
    return in_words([change.about or change.file for change in changes if not change.hidden])


def _refuse_two(wish: Rewind) -> None:
    if not isinstance(wish.entry, UnsetType) and (wish.checkpoint or wish.plan):
        raise UsageWrong(reason="`entry` says where to go back to", hint="leave `checkpoint` and `plan` out")
