"""The timeline of a folder for people: its entries, and what an undo or redo did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from mulligan.api.replies import calls_reply, timeline_reply, undone_reply
from mulligan.cli.answers.answer import Answer, Block, Line, Table
from mulligan.cli.answers.rollback_answer import changes_blocks
from mulligan.cli.commands.declaration import not_shown
from mulligan.domain.history.lines import Direction
from mulligan.domain.history.timeline_entry import DeedKind, DeedStatus
from mulligan.domain.text.plural import counted
from mulligan.errors import Advice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from mulligan.api.results import CallView, EntryView, LeftProcess, Listing, PlanStatus, Undone

_STATUS = {  # of calls too, which have the same words
    DeedStatus.RUNNING: "cut off or running",
    DeedStatus.INTERRUPTED: "cut off",
    DeedStatus.FAILED: "failed",
}


def timeline_answer(
    entries: Listing[EntryView], cut_off: Sequence[PlanStatus], when: Callable[[datetime], str]
) -> Answer:
    """Answer with the newest entries, newest first, and with what was cut off while it changed real files."""
    rows = tuple(
        (
            str(entry.number),
            entry.kind.words,
            _place(entry),
            _where(entry),
            entry.title,
            _files(entry),
            _state(entry),
            when(entry.created_at),
        )
        for entry in entries
    )
    columns = ("#", "KIND", "CHECKPOINT", "WHERE", "WHAT", "FILES", "", "TIME")
    blocks = [Table(columns, rows, shortened="WHAT")] if rows else [Line("nothing was done here yet")]
    messages = not_shown(entries.older, "entry", "entries")
    messages += [Advice(f"{s.handle}: {s.error.message}; ", s.error.hint) for s in cut_off if s.error]
    reply = timeline_reply(entries, messages)
    return Answer.drawn(reply, blocks)


def calls_answer(entry: EntryView, calls: Sequence[CallView], when: Callable[[datetime], str]) -> Answer:
    """Answer with one entry, and the calls that an agent made for it."""
    ended = _state(entry)
    title = f"{entry.number} {entry.kind.words} {entry.title} ({entry.handle}), {when(entry.created_at)}"
    blocks: list[Block] = [Line(title + (f": {ended}" if ended else ""), title=True)]
    rows = tuple(
        (
            call.name,
            call.tool,
            call.summary or "",
            _files_of_call(call),
            _state_of_call(call),
            when(call.started_at),
        )
        for call in calls
    )
    if rows:
        blocks.append(Table(("CALL", "TOOL", "WHAT", "FILES", "", "TIME"), rows, shortened="WHAT"))
    else:
        blocks.append(Line("no calls are recorded of it"))
    return Answer.drawn(calls_reply(entry, calls), blocks)


def _files_of_call(call: CallView) -> str:
    if call.files is None:
        return ""
    return f"{call.files} + {call.shared} shared" if call.shared else str(call.files)


def _state_of_call(call: CallView) -> str:
    if call.undone:
        return "undone"
    words = [_STATUS.get(DeedStatus(call.status), ""), "left running" if call.background else ""]
    words += ["by a subagent"] if call.subagent else []
    return ", ".join(word for word in words if word)


def undone_answer(done: Undone) -> Answer:
    """Answer with what an undo or redo did, or would do."""
    entry, back = done.entry, done.direction is Direction.BACK
    if done.error is not None:
        verb = f"cannot {'undo' if back else 'redo'}"
    elif done.dry_run:
        verb = f"would {'undo' if back else 'redo'}"
    else:
        verb = "undid" if back else "redid"
    if done.only:
        title = f"{verb} in the real files only what {', '.join(done.only)} did ({done.handle})"
    else:
        assert entry is not None, "an undo of an entry has it"
        place = "the real files" if entry.real else "the sandbox"
        title = f"{verb} {entry.number} in {place}: {entry.kind.words} {entry.title} ({entry.plan_id})"
    be = "to be " if done.dry_run else ""
    blocks: list[Block] = [Line(title, title=True)]
    if done.error is None:
        blocks.append(Line(f"{counted(len(done.changes_reverted), 'path')} {be}changed"))
    if (impact := done.impact) is not None:
        if impact.child_plans_invalidated:
            blocks.append(Line(f"{counted(impact.child_plans_invalidated, 'child plan')} {be}cancelled"))
        undone = "to be undone" if done.dry_run else "undone"
        blocks += [Line(f"{undone}: {call}") for call in impact.undo if call not in impact.undo_failed]
        if done.dry_run:  # the messages cover one that is done
            blocks += [Line(f"cannot be undone: {call}") for call in impact.irreversible]
    blocks += [Line(_process(each, done)) for each in done.processes]
    if done.changes_reverted:
        blocks += changes_blocks(
            done.changes_reverted,
            f"mulligan diff --stat {entry.number}" if entry else _whole_preview(done),
        )
    if done.applied:
        from mulligan.cli.answers.apply_answer import commit_lines  # here: few entries are applies

        blocks += [line for each in done.applied for line in commit_lines(each, dry_run=done.dry_run)]
    blocks += [Line(f"conflict in {c.resource}: {c.path} ({c.reason})") for c in done.conflicts]
    if done.kept is not None:
        blocks.append(Line(f"what was there is kept in {done.handle}@{done.kept.number}"))
    if not done.dry_run and done.error is None:
        other = "`mulligan redo` brings it back" if back else "`mulligan undo` takes it back"
        blocks.append(Line(other))
    answer = Answer.drawn(undone_reply(done), blocks, {done.plan_id: done.handle})
    return replace(answer, question=_question(done))


def _process(left: LeftProcess, done: Undone) -> str:
    words = f"process {left.pid}, which call {left.call} started: {left.command}"
    if left.ended:
        return f"ended: {words}"
    how = "--end-processes ends it first" if done.dry_run else f"to end it: kill {left.pid}"
    return f"still running, and may go on writing: {words}; {how}"


def _whole_preview(done: Undone) -> str:
    return " ".join(("mulligan --format json undo --dry-run", *(f"--only {word}" for word in done.only)))


def _question(done: Undone) -> str:
    if not done.applied:
        return ""
    from mulligan.cli.answers.apply_answer import question_of

    return question_of("Undo" if done.direction is Direction.BACK else "Redo", done.applied)


def _place(entry: EntryView) -> str:
    """Return the checkpoint after an entry as commands accept it; its plan where there is none."""
    return f"{entry.handle}@{entry.after.number}" if entry.after else entry.handle


def _where(entry: EntryView) -> str:
    return "real files" if entry.real else "sandbox"


def _files(entry: EntryView) -> str:
    return "" if entry.files is None else str(entry.files)


def _state(entry: EntryView) -> str:
    if entry.dropped:
        return "dropped"
    if entry.kind is DeedKind.UNDO:
        return "taken back" if entry.undone else "can be redone" if entry.redoable else ""
    if entry.redoable:
        return "undone, can be redone"
    ended = "taken" if entry.taken else _STATUS.get(entry.status, "")
    if not entry.undone or ended == _STATUS[DeedStatus.FAILED]:  # what fails is taken back at once
        return ended
    return f"{ended}, undone" if ended else "undone"
