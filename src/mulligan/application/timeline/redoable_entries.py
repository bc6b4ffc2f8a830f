"""The entries that a redo can bring back: something new clears them, a prompt of an agent with its first change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mulligan.application.timeline.known_moments import acts_apart, changed_apart_from

if TYPE_CHECKING:
    from mulligan.domain.history.timeline_entry import TimelineEntry
    from mulligan.rows.transaction import Transaction


def redoable_entries(db: Transaction) -> Sequence[TimelineEntry]:
    """Return the entries that can be redone, the one that was undone last first."""
    cleared = {entry.number for entry in cleared_entries(db)}
    return [entry for entry in db.entries.to_redo() if entry.number not in cleared]


def cleared_entries(db: Transaction) -> Sequence[TimelineEntry]:
    """Return the entries that a prompt cleared since, because it changed something, and that are not recorded so."""
    redoable = db.entries.to_redo()
    gone: frozenset[str] = frozenset()
    for prompt in _later_prompts(db, redoable):
        if prompt.changed and changed_apart_from(db, prompt, acts_apart(db, prompt)):
            gone |= prompt.cleared_undos
    return [entry for entry in redoable if entry.undo_name in gone]


def open_prompts(db: Transaction) -> Sequence[TimelineEntry]:
    """Return the prompts with a call at work, or cut off, that may have changed what clears entries to redo."""
    return [prompt for prompt in _later_prompts(db, db.entries.to_redo()) if prompt.is_open]


def clear_redo(db: Transaction) -> None:
    """Record which entries cannot be redone any longer, because a prompt changed something since their undo."""
    for entry in cleared_entries(db):
        db.entries.clear_redo_of(entry.number)


def _later_prompts(db: Transaction, redoable: Sequence[TimelineEntry]) -> Sequence[TimelineEntry]:
    """Return the prompts that began after the undo of an entry that can be redone."""
    if not redoable:
        return ()
    names = {entry.undo_name for entry in redoable}
    prompts = db.entries.prompts_after(min(entry.number for entry in redoable))
    return [prompt for prompt in prompts if names & prompt.cleared_undos]
