"""Notes of the newest event of each agent, for people who want to know whether hooks arrive and how long they take."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from mulligan.osfiles.folders import make_private_folder


class EventNote(msgspec.Struct, frozen=True, kw_only=True):
    """The newest event of an agent that arrived."""

    agent: str
    kind: str
    session: str
    folder: str
    at: datetime
    took_ms: int  # in mulligan, without the start of its process
    problem: str | None  # what went wrong with it


class EventNotes(msgspec.Struct, frozen=True):
    """The notes of one user."""

    root: Path

    def leave(self, note: EventNote) -> None:
        """Replace the note of an agent; it may be lost."""
        with suppress(OSError):
            make_private_folder(self.root)
            draft = self.root / f".{note.agent}.{os.getpid()}"
            draft.write_bytes(msgspec.json.encode(note))
            draft.replace(self._file(note.agent))

    def newest(self, agent: str) -> EventNote | None:
        """Return the newest event of an agent; None where none ever arrived."""
        try:
            return msgspec.json.decode(self._file(agent).read_bytes(), type=EventNote)
        except (OSError, msgspec.DecodeError):
            return None

    def _file(self, agent: str) -> Path:
        return self.root / f"newest-{agent}.json"
