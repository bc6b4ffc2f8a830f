"""The operations of `Project` on the timeline of its folder: all that was done there, over all plans."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mulligan.api.project_upkeep import ProjectUpkeep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mulligan.application.queries.listing import Listing
    from mulligan.application.queries.plan_queries import PlanStatus
    from mulligan.application.timeline.attributions import CallView
    from mulligan.application.timeline.timeline_queries import EntryView
    from mulligan.application.timeline.timeline_windows import TimelineWindow
    from mulligan.domain.history.timeline_entry import DeedKind
    from mulligan.domain.trees.database_difference import DatabaseDifference


class FolderTimeline(ProjectUpkeep):
    """The timeline; `Project` adds the plans."""

    def timeline(self, *, limit: int | None = None) -> Listing[EntryView]:
        """Return what was done in the folder, newest first, over all plans; at most the newest `limit`."""
        return self._services.timeline.newest(limit)

    def cut_off_changes(self) -> Sequence[PlanStatus]:
        """Return the plans for which a killed process left real files half changed; each names what settles it."""
        return self._services.queries.cut_off_changes()

    def timeline_window(
        self,
        *,
        limit: int,
        before: int | None = None,
        kinds: Sequence[DeedKind] = (),
        agent: str | None = None,
        path: str | Path | None = None,
        found: bool = False,
    ) -> TimelineWindow:
        """Return the newest `limit` entries before a number that are of certain kinds, by an agent, and about a path.

        `agent` is `claude-code`, say, or the handle of a plan; a path is about all that changed it, or what is in it.
        What changed between the entries outside of any call of an agent comes with them, unless kinds or an agent are
        given; with `found` it comes alone.
        """
        from mulligan.api.project_paths import path_in_project
        from mulligan.application.timeline.timeline_windows import WindowWish

        inside = None if path is None else path_in_project(self.folder, path)
        wish = WindowWish(before=before, limit=limit, kinds=kinds, agent=agent, path=inside, found=found)
        return self._services.timeline_windows.window(wish)

    def entry_number(self, word: str) -> int | None:
        """Return the entry of the timeline that a word names by its number; None: it names none."""
        from mulligan.api.word_references import entry_named

        return entry_named(self._services, word)

    def entry(self, number: int) -> EntryView:
        """Return an entry of the timeline."""
        return self._services.timeline.entry(number)

    def calls(self, number: int, path: str | Path | None = None) -> Sequence[CallView]:
        """Return the calls of the agent that answered a prompt, which is an entry of the timeline.

        With a path only those that changed it, or what is in it.
        """
        place = None if path is None else os.path.normpath(self.folder / path)
        return self._services.attributions.calls(number, place)

    def database_changes(
        self, old: tuple[str, str | Path] | None, new: tuple[str, str | Path] | None
    ) -> DatabaseDifference:
        """Compare an SQLite database that two checkpoints hold at a path; None: it was, or is, not there."""
        from mulligan.adapters.sandboxes.sqlite.table_changes import LARGEST, table_changes
        from mulligan.api.project_paths import path_in_project
        from mulligan.domain.trees.database_difference import DatabaseDifference

        states: list[bytes | None] = []
        for place in (old, new):
            pieces: list[bytes] = []
            if place is not None:
                checkpoint, path = place[0], path_in_project(self.folder, place[1])
                found = self._services.tree_queries.find(checkpoint, path)
                if (found.line.size_bytes or 0) > LARGEST:
                    return DatabaseDifference(tables=(), problem="it is too large to be looked at")
                self._services.tree_queries.copy(checkpoint, path, pieces.append)
            states.append(None if place is None else b"".join(pieces))
        return table_changes(*states)
