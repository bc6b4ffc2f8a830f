"""Finds what changed in a folder outside of any call of its agents, between the entries of the timeline.

An event of an agent finds such changes: the files differ from those of the moment before, no call was open, and
mulligan did nothing there. They are not entries: nobody who is known did them, and an undo leaves them alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.application.timeline.attributions import actors_of
from mulligan.application.timeline.known_moments import own_acts
from mulligan.application.timeline.timeline_queries import EntryPoint, point_of
from mulligan.domain.agents.agent_event import EventKind
from mulligan.domain.agents.agent_session import OWN_GROUP, KnownMoment
from mulligan.domain.agents.attribution import Actor, Span, candidates
from mulligan.domain.plans.event import EventType
from mulligan.domain.plans.plan import State
from mulligan.domain.resources.placement import Part, lies_in, path_shown
from mulligan.domain.text.ids import PlanId
from mulligan.domain.trees.tree_difference import without_hidden
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from mulligan.domain.agents.agent_session import PlacedMoment
    from mulligan.domain.plans.plan import Plan
    from mulligan.domain.resources.resource import Sandbox
    from mulligan.ports import StoredTrees
    from mulligan.rows.transaction import Transaction

_NAMED = 20  # paths of one change


class FoundChange(Struct, frozen=True, kw_only=True):
    """Files that changed outside of any call. The fields are named as in the JSON output."""

    moment: int  # rising with time; no number of an entry
    entry: int  # the newest entry that began before it was found; 0: none did
    files: int
    paths: tuple[str, ...]  # the first of them, relative to the project folder
    plan_id: PlanId  # the session that found it
    before: EntryPoint  # the last state that was known before
    after: EntryPoint  # the state in which it was found
    created_at: datetime  # when it was found

    @property
    def place(self) -> str:
        """Return where it lies among the numbers of entries, as a decimal number."""
        return f"{self.entry}.{self.moment:09}"


class _Intervals:
    """Actors by the times at which they were at work, found without a look at all of them."""

    def __init__(self, actors: Iterable[Actor]) -> None:
        by_begin = sorted(actors, key=lambda actor: actor.first)
        self._open = [actor for actor in by_begin if actor.last is None]
        self._ended = [(actor, actor.last) for actor in by_begin if actor.last is not None]
        self._begins = [actor.first for actor, _ in self._ended]
        # The last end up to each of them.
        self._ends = list(accumulate((last for _, last in self._ended), max))

    def during(self, first: int, last: int) -> Sequence[Actor]:
        """Return those that were at work at some time between two moments."""
        found = [actor for actor in self._open if actor.first < last]
        index = bisect_left(self._begins, last)
        while index and self._ends[index - 1] > first:
            index -= 1
            actor, end = self._ended[index]
            if end > first:
                found.append(actor)
        return found


class KnownCalls:
    """The calls of all agents, read again once something happened: windows of one timeline follow each other."""

    def __init__(self) -> None:
        self._held: tuple[tuple[int, int], _Intervals] | None = None

    def of(self, db: Transaction) -> _Intervals:
        """Return the calls as they are now."""
        plans = db.agents.plans()
        mark, held = (db.agents.last(), len(plans)), self._held
        if held is not None and held[0] == mark:
            return held[1]
        found: list[Actor] = []
        for plan_id in plans:
            resources = db.sandboxes.list(plan_id)
            if resources:
                found += actors_of(db, plan_id, resources[0].path)
        calls = _Intervals(found)
        self._held = mark, calls
        return calls


class FoundChanges:
    """The found changes of a project, as long as one look at it takes. The caller holds the trees."""

    def __init__(self, db: Transaction, trees: StoredTrees, calls: KnownCalls) -> None:
        self._db, self._trees, self._known_calls = db, trees, calls
        self._sandboxes: dict[PlanId, Sequence[Sandbox]] = {}
        self._plans: dict[PlanId, Plan] = {}

    def between(self, low: int, before: int | None, path: str | None) -> Sequence[FoundChange]:
        """Return what was found after the entry `low` began and before the entry `before` did, newest first."""
        if not self._db.agents.any():
            return ()
        began = self._db.entries.began
        since, until = began(low), None if before is None else began(before)
        begun = sorted(self._db.entries.begun(low, before))
        kept: dict[str, list[PlacedMoment]] = {}
        for moment in self._db.agents.placed(since, until):
            kept.setdefault(moment.path, []).append(moment)
        found = [change for moments in kept.values() for change in self._found(moments, since, begun, path)]
        return sorted(found, key=lambda change: (change.entry, change.moment), reverse=True)

    def _found(
        self,
        moments: Sequence[PlacedMoment],
        since: datetime | None,
        begun: Sequence[tuple[datetime, int]],
        path: str | None,
    ) -> Iterable[FoundChange]:
        own = own_acts([_known(moment) for moment in moments])
        last: dict[object, PlacedMoment] = {}
        runs = self._runs(moments)
        for new in moments:
            shape = self._shape(new)
            old = last.get(shape)
            last[shape] = new
            if old is None or old.snapshot.same_as(new.snapshot) or (since and new.created_at <= since):
                continue
            if new.kind == EventKind.AFTER_CALL.value or own.get(old.number) == new.number:
                continue
            try:
                change = self._change(old, new, runs, _newest(begun, new.created_at), path)
            except MulliganError:  # damage to the store prevents no look
                continue
            if change is not None:
                yield change

    def _change(
        self, old: PlacedMoment, new: PlacedMoment, runs: _Intervals, entry: int, path: str | None
    ) -> FoundChange | None:
        plan = self._plan(new.plan_id)
        part = Part(plan.definition.resource(new.resource), "", "")
        differences = self._trees.difference(old.snapshot.roots[0], new.snapshot.roots[0])
        shown = {
            each.path: path_shown(part, each.path)
            for each in without_hidden(differences, plan.hidden)[0]
            if each.of_files
        }
        if path not in (None, "."):
            shown = {key: name for key, name in shown.items() if lies_in(f"/{name}", f"/{path}")}
        if not shown:
            return None
        at_work = (*self._calls.during(old.number, new.number), *runs.during(old.number, new.number))
        span = Span(first=old.number, last=new.number, open=at_work)
        paths = [name for key, name in shown.items() if not candidates(key, span)]
        applied = self._applied(old, new) if paths else set[str]()
        if applied is None:
            return None
        paths = [each for each in paths if each not in applied]
        if not paths:
            return None
        before, after = (point_of(self._db.checkpoints.get(moment.group_id)) for moment in (old, new))
        assert before is not None, "the moment has a group"
        assert after is not None, "the moment has a group"
        return FoundChange(
            moment=new.number,
            entry=entry,
            files=len(paths),
            paths=tuple(paths[:_NAMED]),
            plan_id=new.plan_id,
            before=before,
            after=after,
            created_at=new.created_at,
        )

    # --- what was at work ----------------------------------------------------------------------------------

    @cached_property
    def _calls(self) -> _Intervals:
        return self._known_calls.of(self._db)

    def _runs(self, moments: Sequence[PlacedMoment]) -> _Intervals:
        """Return the plans without an agent that worked in the folder."""
        agents, spans = set(self._db.agents.plans()), dict[PlanId, list[int]]()
        for moment in moments:
            if moment.plan_id not in agents and moment.kind.startswith(OWN_GROUP):
                spans.setdefault(moment.plan_id, []).append(moment.number)
        found = [
            Actor(
                name=self._plan(plan_id).handle,
                key=plan_id,
                first=numbers[0],
                last=None if self._plan(plan_id).state is State.PROCESSING else numbers[-1],
            )
            for plan_id, numbers in spans.items()
        ]
        return _Intervals(found)

    def _applied(self, old: PlacedMoment, new: PlacedMoment) -> set[str] | None:
        """Return the paths that plans with sandboxes wrote meanwhile; None: these are not known."""
        paths: set[str] = set()
        for plan_id, type in self._db.agents.written_meanwhile(old.created_at, new.created_at):
            plan, first = self._plan(plan_id), self._db.checkpoints.first(plan_id)
            if type == EventType.PATHS_RESTORED.value or first is None or plan.current_group_id is None:
                return None
            for checkpoint in self._db.checkpoints.get(plan.current_group_id).checkpoints:
                roots = first.snapshot_of(checkpoint.resource).roots[0], checkpoint.snapshot.roots[0]
                part = Part(plan.definition.resource(checkpoint.resource), "", "")
                paths |= {path_shown(part, each.path) for each in self._trees.difference(*roots)}
        return paths

    # --- rows ----------------------------------------------------------------------------------------------

    def _shape(self, moment: PlacedMoment) -> object:
        """Return what makes the contents of two moments comparable: the paths that they leave out."""
        theirs = (each for each in self._of_plan(moment.plan_id) if each.resource == moment.resource)
        return next(((tuple(each.patterns), tuple(sorted(each.excluded))) for each in theirs), None)

    def _of_plan(self, plan_id: PlanId) -> Sequence[Sandbox]:
        if plan_id not in self._sandboxes:
            self._sandboxes[plan_id] = self._db.sandboxes.list(plan_id)
        return self._sandboxes[plan_id]

    def _plan(self, plan_id: PlanId) -> Plan:
        if plan_id not in self._plans:
            self._plans[plan_id] = self._db.plans.get(plan_id)
        return self._plans[plan_id]


def _known(moment: PlacedMoment) -> KnownMoment:
    return KnownMoment(
        number=moment.number, kind=moment.kind, plan_id=moment.plan_id, snapshot=moment.snapshot
    )


def _newest(begun: Sequence[tuple[datetime, int]], moment: datetime) -> int:
    """Return the newest of some entries that began before a time; 0: none of them did."""
    index = bisect_left(begun, (moment, 0))
    return begun[index - 1][1] if index else 0
