"""Windows of the timeline: some entries before a number, of certain kinds, by an agent, or that changed a path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.application.agents.found_changes import FoundChange, FoundChanges, KnownCalls
from mulligan.application.timeline.timeline_queries import EntryView, TimelineQueries
from mulligan.domain.resources.placement import lies_in, parts_of
from mulligan.domain.text.ids import PlanId
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from mulligan.domain.history.timeline_entry import DeedKind, TimelineEntry
    from mulligan.domain.plans.plan import Plan
    from mulligan.ports import StoredTrees
    from mulligan.rows.database import Database
    from mulligan.rows.transaction import Transaction

_MOST = 20_000  # entries that one window looks at
_PAGE = 200


class WindowWish(Struct, frozen=True, kw_only=True):
    """The wanted part of the timeline."""

    before: int | None  # entries with a lower number; None: from the newest
    limit: int
    kinds: Sequence[DeedKind]  # none: all
    agent: str | None  # `claude-code`, or the handle of a plan; None: of all
    path: str | None  # relative to the project folder; None: whatever they changed
    found: bool = False  # only what changed outside of any call, and no entries


class TimelineWindow(Struct, frozen=True, kw_only=True):
    """Some entries, newest first, and the number before which the search goes on; None: there are no more."""

    entries: tuple[EntryView, ...]
    found: tuple[FoundChange, ...]  # what changed between them outside of any call, newest first
    before: int | None

    @property
    def rows(self) -> Sequence[EntryView | FoundChange]:
        """Return the entries with what was found between them, newest first."""
        return sorted((*self.found, *self.entries), key=_place, reverse=True)


class TimelineWindows(Struct, kw_only=True, frozen=True, eq=False):
    """Reads windows of the timeline; of the two trees of an entry only what leads to a path is read."""

    database: Database
    trees: StoredTrees
    timeline: TimelineQueries
    known_calls: KnownCalls

    def window(self, wish: WindowWish) -> TimelineWindow:
        """Return the entries that are wanted, and what was found between them."""
        found: list[TimelineEntry] = []
        plans: dict[PlanId, Plan] = {}
        before, looked, more = wish.before, 0, True
        if wish.found:
            return self._found_alone(wish)
        with self.trees.hold(), self.database.reading() as db:
            while more and len(found) < wish.limit and looked < _MOST:
                page = db.entries.before(before, _PAGE)
                more = len(page) == _PAGE
                for entry in page:
                    before, looked = entry.number, looked + 1
                    if self._wanted(db, entry, wish, plans):
                        found.append(entry)
                        if len(found) == wish.limit:
                            more = more or entry is not page[-1]
                            break
            views = self.timeline.views(db, found)
            low, changes = (before or 0) if more else 0, ()
            if not wish.kinds and wish.agent is None:  # they are of no kind, and nobody's
                changes = tuple(
                    FoundChanges(db, self.trees, self.known_calls).between(low, wish.before, wish.path)
                )
        return TimelineWindow(entries=tuple(views), found=changes, before=before if more else None)

    def _found_alone(self, wish: WindowWish) -> TimelineWindow:
        found: list[FoundChange] = []
        before, looked, more = wish.before, 0, wish.agent is None and not wish.kinds
        with self.trees.hold(), self.database.reading() as db:
            changes = FoundChanges(db, self.trees, self.known_calls)
            while more and len(found) < wish.limit and looked < _MOST:
                page = db.entries.before(before, _PAGE)
                more = len(page) == _PAGE
                low = page[-1].number if more else 0
                found += changes.between(low, before, wish.path)
                before, looked = low, looked + len(page)
        if len(found) > wish.limit:  # those beside the same entry stay together
            least = found[wish.limit - 1].entry
            more = more or found[-1].entry < least
            found, before = [change for change in found if change.entry >= least], least
        return TimelineWindow(entries=(), found=tuple(found), before=before if more else None)

    def _wanted(
        self, db: Transaction, entry: TimelineEntry, wish: WindowWish, plans: dict[PlanId, Plan]
    ) -> bool:
        if wish.kinds and entry.kind not in wish.kinds:
            return False
        if wish.agent is None and wish.path is None:
            return True
        if entry.plan_id not in plans:
            plans[entry.plan_id] = db.plans.get(entry.plan_id)
        plan = plans[entry.plan_id]
        if wish.agent is not None and wish.agent not in (plan.definition.agent, plan.handle):
            return False
        return wish.path is None or self._changed(db, entry, plan, wish.path)

    def _changed(self, db: Transaction, entry: TimelineEntry, plan: Plan, path: str) -> bool:
        """Return whether what is at the path differs between the two sides of an entry."""
        sides = self.timeline.groups(db, entry)
        if sides is None:
            return False
        before, after = sides
        names = {checkpoint.resource for checkpoint in before.checkpoints}
        try:
            return any(
                lies_in(f"/{difference.path}", f"/{part.path}") or part.path == "."
                for part in parts_of(path, plan.definition.resources)
                if part.resource.name in names
                for difference in self.trees.difference(
                    before.snapshot_of(part.resource.name).roots[0],
                    after.snapshot_of(part.resource.name).roots[0],
                    () if part.path == "." else (part.path,),
                )
            )
        except MulliganError:  # damage to the store prevents no look
            return False


def _place(row: EntryView | FoundChange) -> tuple[int, int]:
    return (row.entry, row.moment) if isinstance(row, FoundChange) else (row.number, 0)
