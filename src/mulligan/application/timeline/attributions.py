"""Finds what sessions, prompts and calls of agents changed, and what others did: the facts behind `undo --only`.

The moments of all agents, and the groups that mulligan takes in place on its own, are one sequence over a folder. What
lies between two of them is divided by the rules of `domain/agents/attribution.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from mulligan.application.timeline.known_moments import Change, known_moments, own_acts
from mulligan.domain.agents.agent_event import EventKind
from mulligan.domain.agents.agent_session import OWN_GROUP, KnownMoment
from mulligan.domain.agents.attribution import (
    Actor,
    Owner,
    Span,
    candidates,
    inside,
    owner_of,
    shares_of,
    spans_of,
)
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.timeline_entry import DeedKind, TimelineEntry
from mulligan.domain.plans.handle import entry_reference
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.domain.resources.placement import location_within
from mulligan.domain.resources.resource import MergeUnit, Sandbox, Strategy
from mulligan.domain.text.ids import CallId, GroupId, PlanId
from mulligan.domain.trees.tree_difference import TreeEntry, path_and_around
from mulligan.errors import (
    Advice,
    CallNotFound,
    EntryNotFound,
    MulliganError,
    NextStep,
    NothingToUndo,
    UndoShared,
    UsageWrong,
)
from mulligan.ports import SandboxKinds, SnapshotStore
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

_CALL = re.compile(r"([1-9][0-9]{0,8})\.([1-9][0-9]{0,8})")
_ENCLOSING = frozenset(
    {"Agent", "Task", "spawn_agent", "invoke_agent", "task"}
)  # calls whose work subagents do


class NamedCall(Struct, frozen=True, kw_only=True):
    """A call of an agent with the name that people type."""

    name: str  # the number of its entry and its own in that, such as 3.2
    call: ToolCall
    entry: TimelineEntry

    @property
    def is_command(self) -> bool:
        """Return whether it works by processes: it names no files, and no subagent does its work."""
        return "paths" not in self.call.detail and self.call.tool not in _ENCLOSING

    @property
    def may_hold_others(self) -> bool:
        """Return whether it was cut off, and when it ended is not known: what others did then counts as its work."""
        is_cut_off = self.call.status in (CallStatus.RUNNING, CallStatus.INTERRUPTED)
        return is_cut_off and self.is_command and "over" not in self.call.detail


class Asked(Struct, frozen=True, kw_only=True):
    """The sessions, prompts and calls that an undo is for."""

    words: tuple[str, ...]  # as people typed them, each once
    plan: Plan  # of the newest of them
    calls: tuple[NamedCall, ...]
    entries: tuple[TimelineEntry, ...]  # those that are asked for as a whole

    @property
    def keys(self) -> frozenset[str]:
        """The ids of the calls."""
        return frozenset(named.call.call_id for named in self.calls)


class CallView(Struct, frozen=True, kw_only=True):
    """A call of an agent for front doors. The fields are named as in the JSON output."""

    name: str  # as `undo --only` accepts it
    call_id: CallId
    tool: str
    summary: str | None  # the first line of its command, or the paths of its edit
    subagent: str | None
    status: CallStatus
    background: bool  # it left something running
    undone: bool
    files: int | None  # that it changed; None: not known any longer, or not yet
    shared: int  # further ones that others may have changed
    started_at: datetime
    duration_ms: int | None


class _Files(Struct, frozen=True, kw_only=True):
    """Files of a resource that a call changed, relative to it, and those that others may have changed instead."""

    resource: str
    mine: frozenset[str]
    shared: frozenset[str]


class _Work(Struct, frozen=True, kw_only=True):
    """All that worked in a folder, and what is known of its contents."""

    sandboxes: tuple[Sandbox, ...]
    actors: tuple[Actor, ...]
    known: Mapping[str, Sequence[KnownMoment]]  # by resource


class Attributions(Struct, kw_only=True, frozen=True, eq=False):
    """Attributes changes to calls."""

    database: Database
    store: SnapshotStore
    kinds: SandboxKinds

    # --- words ---------------------------------------------------------------------------------------------

    def find(self, words: Sequence[str]) -> Asked:
        """Return what these words name: `3` a prompt, `3.2` a call of it, `claude-code` a session; live work only."""
        with self.database.reading() as db:
            found: dict[CallId, NamedCall] = {}
            entries: dict[int, TimelineEntry] = {}
            for word in words:
                calls, whole = _named(db, word)
                found |= {named.call.call_id: named for named in calls}
                entries |= {entry.number: entry for entry in whole}
            newest = max(entries.keys() | {named.entry.number for named in found.values()}, default=0)
            if not found or not newest:
                raise NothingToUndo(plan_id=None, reason=f"no call of {', '.join(words)} still counts")
            plan = db.plans.get(db.entries.get(newest).plan_id)
        return Asked(
            words=tuple(dict.fromkeys(words)),
            plan=plan,
            calls=tuple(found.values()),
            entries=tuple(entries.values()),
        )

    def calls(self, number: int, place: str | None = None) -> Sequence[CallView]:
        """Return the calls of a prompt, oldest first, with the number of files that each changed.

        With a place, an absolute path, only those that changed it or what is in it, alone or perhaps.
        """
        with self.store.hold(), self.database.reading() as db:
            entry = db.entries.get(number)
            named = _calls_of(db, entry)
            asked = Asked(words=(), plan=db.plans.get(entry.plan_id), calls=tuple(named), entries=())
            work = self._work(db, asked)
            chosen = named if place is None else [n for n in named if self._has_changed(n.call, work, place)]
            return [self._view(db, each, work) for each in chosen]

    def _view(self, db: Transaction, named: NamedCall, work: _Work) -> CallView:
        call = named.call
        summary, subagent = call.arguments.get("summary"), call.detail.get("subagent")
        mine, shared = self._counts(call, work)
        return CallView(
            name=named.name,
            call_id=call.call_id,
            tool=call.tool,
            summary=summary if isinstance(summary, str) else None,
            subagent=subagent if isinstance(subagent, str) else None,
            status=call.status,
            background=bool(call.detail.get("background")),
            undone=not (named.entry.is_live and counts(db, call)),
            files=mine,
            shared=shared,
            started_at=call.started_at,
            duration_ms=call.duration_ms,
        )

    def _counts(self, call: ToolCall, work: _Work) -> tuple[int | None, int]:
        """Return how many files a call changed, and how many others may have; None: that is not held any longer."""
        files = self._files_of(call, work)
        if files is None:
            return None, 0
        return sum(len(each.mine) for each in files), sum(len(each.shared) for each in files)

    def _has_changed(self, call: ToolCall, work: _Work, place: str) -> bool:
        """Return whether a call changed a place of the folder, or perhaps did."""
        roots = {sandbox.resource: sandbox.path for sandbox in work.sandboxes}
        for each in self._files_of(call, work) or ():
            inside = location_within(roots[each.resource], place)
            if inside is not None and any(_is_in(path, inside) for path in each.mine | each.shared):
                return True
        return False

    def _files_of(self, call: ToolCall, work: _Work) -> Sequence[_Files] | None:
        """Return the files of each resource that a call changed; None: they are not held any longer."""
        found: list[_Files] = []
        asked = {call.call_id}
        try:
            for resource, moments in work.known.items():
                snapshots = {moment.number: moment.snapshot for moment in moments}
                actor = next((actor for actor in work.actors if actor.key == call.call_id), None)
                if actor is not None and not {actor.first, actor.last or actor.first} <= snapshots.keys():
                    return None
                for span in spans_of(list(snapshots), work.actors, asked, own_acts(moments)):
                    if span.last is None:
                        return None
                    old, new = snapshots[span.first].roots[0], snapshots[span.last].roots[0]
                    differences = self.store.difference(old, new)
                    files = frozenset(each.path for each in differences if each.of_files)
                    if not span.others(asked):
                        found.append(_Files(resource=resource, mine=files, shared=frozenset()))
                        continue
                    shares = shares_of(differences, span, asked)
                    found.append(
                        _Files(
                            resource=resource,
                            mine=files.intersection(shares.mine),
                            shared=files.intersection(shares.shared),
                        )
                    )
        except MulliganError:  # damage to the store prevents no look
            return None
        return found

    def named_calls(self, db: Transaction, number: int) -> Sequence[NamedCall]:
        """Return the calls of a prompt, oldest first, with their names alone."""
        return _calls_of(db, db.entries.get(number))

    # --- changes -------------------------------------------------------------------------------------------

    def changes(self, asked: Asked, present: Mapping[str, Snapshot]) -> Mapping[str, Sequence[Change]]:
        """Return what they changed of each resource of their plan, the newest first. The caller holds the store.

        `present` are the contents now. Raise UndoShared where others may have made a change of theirs.
        """
        found: dict[str, Sequence[Change]] = {}
        shared: dict[str, tuple[str, ...]] = {}
        with self.database.reading() as db:
            work = self._work(db, asked)
        actors = work.actors
        for sandbox in work.sandboxes:
            moments = work.known[sandbox.resource]
            snapshots = {moment.number: moment.snapshot for moment in moments}
            self._refuse_pruned(asked, actors, snapshots)
            pairs: list[Change] = []
            for span in spans_of(list(snapshots), actors, asked.keys, own_acts(moments)):
                old = snapshots[span.first]
                new = present[sandbox.resource] if span.last is None else snapshots[span.last]
                if not new.same_as(old):
                    theirs, mixed = self._without(sandbox, span, asked.keys, old, new)
                    shared |= mixed
                    pairs.append(Change(base=new, theirs=theirs))
            found[sandbox.resource] = pairs[::-1]
        if shared:
            raise _shared(asked, shared)
        return found

    def _without(
        self, sandbox: Sandbox, span: Span, asked: Collection[str], old: Snapshot, new: Snapshot
    ) -> tuple[Snapshot, Mapping[str, tuple[str, ...]]]:
        """Return the later contents of a span without the work of those asked for, and what is shared with others."""
        if not span.others(asked):
            return old, {}
        kind = self.kinds.of(sandbox)
        if sandbox.type.traits.merged_by is MergeUnit.WHOLE:
            name = sandbox.path.rpartition("/")[2]
            if kind.same(sandbox, old, new):
                return new, {}
            return self._whole(name, span, asked, old, new)
        shares = shares_of(self.store.difference(old.roots[0], new.roots[0]), span, asked)
        edits: dict[str, TreeEntry | None] = {}
        for path in shares.mine:
            for around in path_and_around(path):
                if around == path or self.store.item(new.roots[0], around) is None:
                    edits[around] = self.store.item(old.roots[0], around)
        gone = {path for path, entry in edits.items() if entry is None}
        edits = {path: entry for path, entry in edits.items() if not _below(path, gone)}
        files = self.store.graft(new.roots[0], edits, 0) if edits else new.roots[0]
        shared = dict(shares.shared)
        rest = new.roots[1:]
        if moved := kind.moved(sandbox, old, new):
            position, mixed = self._whole(moved[0].removeprefix(f"{sandbox.path}/"), span, asked, old, new)
            rest, shared = position.roots[1:], shared | dict(mixed)
        return Snapshot((files, *rest)), shared

    def _whole(
        self, name: str, span: Span, asked: Collection[str], old: Snapshot, new: Snapshot
    ) -> tuple[Snapshot, Mapping[str, tuple[str, ...]]]:
        """Decide about what is not divided by paths: a database, or the position of a checkout."""
        able = candidates(name, span)
        match owner_of(able, asked):
            case Owner.ASKED:
                return old, {}
            case Owner.OTHERS:
                return new, {}
            case Owner.SHARED:
                return new, {name: tuple(actor.name for actor in able)}

    def _refuse_pruned(self, asked: Asked, actors: Sequence[Actor], held: Collection[int]) -> None:
        for actor in actors:
            sides = (actor.first, actor.last)
            if actor.key in asked.keys and any(side is not None and side not in held for side in sides):
                reason = f"the checkpoints around call {actor.name} were pruned"
                raise NothingToUndo(plan_id=asked.plan.plan_id, reason=reason)

    def _work(self, db: Transaction, asked: Asked) -> _Work:
        sandboxes = [s for s in db.sandboxes.list(asked.plan.plan_id) if s.strategy is Strategy.IN_PLACE]
        actors = self._actors(db, asked, sandboxes[0].path if sandboxes else "")
        first = min((actor.first for actor in actors if actor.key in asked.keys), default=0)
        known = {s.resource: known_moments(db, s, first) for s in sandboxes}
        return _Work(sandboxes=tuple(sandboxes), actors=tuple(actors), known=known)

    # --- actors --------------------------------------------------------------------------------------------

    def _actors(self, db: Transaction, asked: Asked, folder: str) -> Sequence[Actor]:
        """Return all that worked in the folder since the first call that was asked for began."""
        found: list[Actor] = []
        agents = db.agents.plans()
        for plan_id in agents:
            resources = db.sandboxes.list(plan_id)
            if any(_overlap(folder, sandbox.path) for sandbox in resources):
                found += actors_of(db, plan_id, resources[0].path)
        first = min((actor.first for actor in found if actor.key in asked.keys), default=0)
        found = [a for a in found if a.last is None or a.last > first]
        spans: dict[PlanId, list[int]] = {}
        for moment in db.agents.since(first):
            if moment.plan_id not in agents and moment.kind.startswith(OWN_GROUP):
                spans.setdefault(moment.plan_id, []).append(moment.number)
        for plan_id, numbers in spans.items():
            plan = db.plans.get(plan_id)
            last = None if plan.state is State.PROCESSING else numbers[-1]
            found.append(Actor(name=plan.handle, key=plan_id, first=numbers[0], last=last))
        return found


def _named(db: Transaction, word: str) -> tuple[Sequence[NamedCall], Sequence[TimelineEntry]]:
    """Return the calls that a word names, and the prompts that it names as a whole."""
    if match := _CALL.fullmatch(word):
        number, index = int(match[1]), int(match[2])
        calls = _calls_of(db, _prompt(db, number))
        if index > len(calls):
            raise CallNotFound(call=word, entry=number, count=len(calls))
        named = calls[index - 1]
        _refuse_dead(db, named)
        return _with_subagents(db, named, calls), ()
    if (number := entry_reference(word)) is not None and word.isdecimal():
        entry = _prompt(db, number)
        if not entry.is_live:
            raise NothingToUndo(plan_id=entry.plan_id, reason=f"entry {number} is undone already")
        return [each for each in _calls_of(db, entry) if counts(db, each.call)], [entry]
    plan = db.plans.resolve(word)
    if not plan.definition.agent:
        raise UsageWrong(
            reason=f"{plan.handle} is not a session of an agent",
            hint="name a session, the number of a prompt, or a call such as 3.2",
        )
    entries = [e for e in db.entries.live_of(plan.plan_id) if e.kind is DeedKind.PROMPT]
    calls = [named for entry in entries for named in _calls_of(db, entry) if counts(db, named.call)]
    return calls, entries


def _prompt(db: Transaction, number: int) -> TimelineEntry:
    entry = db.entries.get(number)
    if entry.kind is not DeedKind.PROMPT:
        hint = Advice(NextStep("undo", what=str(number)), " takes it back")
        raise UsageWrong(reason=f"entry {number} is not a prompt of an agent", hint=hint)
    return entry


def _calls_of(db: Transaction, entry: TimelineEntry) -> Sequence[NamedCall]:
    calls = [call for call in db.tool_calls.list(entry.plan_id) if call.detail.get("entry") == entry.number]
    return [
        NamedCall(name=f"{entry.number}.{index}", call=call, entry=entry)
        for index, call in enumerate(calls, 1)
    ]


def _with_subagents(db: Transaction, named: NamedCall, calls: Sequence[NamedCall]) -> Sequence[NamedCall]:
    """Return a call, and if a subagent did its work, the calls of that one; refuse where several ran at once."""
    if named.call.tool not in _ENCLOSING:
        return [named]
    end = _ended(named.call)
    inside_it = [
        each
        for each in calls
        if each.call.detail.get("subagent")
        and each.call.started_at >= named.call.started_at
        and (end is None or each.call.started_at.timestamp() <= end)
    ]
    agents = {str(each.call.detail["subagent"]) for each in inside_it}
    own = named.call.detail.get("delegate")
    if own is not None:
        inside_it = [each for each in inside_it if each.call.detail["subagent"] == own]
    elif len(agents) > 1:
        raise UsageWrong(
            reason=f"several subagents worked during call {named.name}",
            hint=Advice(
                "name their own calls: ", NextStep("log", plan=str(named.entry.number)), " lists them"
            ),
        )
    return [named, *(each for each in inside_it if counts(db, each.call))]


def _ended(call: ToolCall) -> float | None:
    return None if call.duration_ms is None else call.started_at.timestamp() + call.duration_ms / 1000


def counts(db: Transaction, call: ToolCall) -> bool:
    """Return whether what a call did is there: no undo of it counts."""
    if call.superseded:
        return False
    number = call.detail.get("undone")
    try:
        return not (isinstance(number, int) and db.entries.get(number).is_live)
    except EntryNotFound:  # its plan was forgotten
        return True


def _refuse_dead(db: Transaction, named: NamedCall) -> None:
    if not (counts(db, named.call) and named.entry.is_live):
        raise NothingToUndo(plan_id=named.call.plan_id, reason=f"call {named.name} is undone already")


def actors_of(db: Transaction, plan_id: PlanId, folder: str) -> Sequence[Actor]:
    """Return the calls of a session as actors, without those whose work is that of calls inside them."""
    actors = list(_all_of(db, plan_id, folder))
    return [
        actor
        for actor, tool in actors
        if tool not in _ENCLOSING
        or not any(actor.first < other.first and _is_before(other, actor.last) for other, _ in actors)
    ]


def _is_before(actor: Actor, last: int | None) -> bool:
    return last is None or (actor.last is not None and actor.last <= last)


def _all_of(db: Transaction, plan_id: PlanId, folder: str) -> Iterator[tuple[Actor, str]]:
    began: dict[str, int] = {}
    ended: dict[str, int] = {}
    for call_id, kind, first, last in db.agents.reports(plan_id):
        if kind == EventKind.BEFORE_CALL.value:
            began[call_id] = first
        elif kind == EventKind.AFTER_CALL.value:
            ended[call_id] = last
    ends = db.agents.ends(plan_id)
    counts: dict[object, int] = {}
    for call in db.tool_calls.list(plan_id):
        entry = call.detail.get("entry")
        counts[entry] = counts.get(entry, 0) + 1
        first = began.get(call.call_id, ended.get(call.call_id, 1) - 1)
        cut_off = call.call_id not in ended
        last = None if call.detail.get("background") else ended.get(call.call_id)
        if last is None and (over := call.detail.get("over")):
            last = db.agents.first_with(GroupId(str(over)), first)
        if last is None:
            last = next((number for number in ends if number > max(first, ended.get(call.call_id, 0))), None)
        named = call.detail.get("paths")
        cwd = call.detail.get("folder")
        texts = [str(path) for path in named] if isinstance(named, list) else []
        yield (
            Actor(
                name=f"{entry}.{counts[entry]}",
                key=call.call_id,
                first=first,
                last=last,
                paths=inside(texts, cwd if isinstance(cwd, str) else folder, folder),
                cut_off=cut_off and call.status in (CallStatus.INTERRUPTED, CallStatus.RUNNING),
            ),
            call.tool,
        )


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _below(path: str, folders: Collection[str]) -> bool:
    return any(around in folders for around in list(path_and_around(path))[:-1])


def _shared(asked: Asked, shared: Mapping[str, tuple[str, ...]]) -> UndoShared:
    names = sorted({name for each in shared.values() for name in each})
    own = {named.name for named in asked.calls}
    others = tuple(name for name in names if name not in own)
    return UndoShared(
        plan_id=asked.plan.plan_id,
        paths=", ".join(sorted(shared)),
        others=", ".join(others),
        shared=[{"path": path, "calls": list(each)} for path, each in sorted(shared.items())],
        hint=_way_out(asked, others),
    )


def _is_in(path: str, place: str) -> bool:
    return place in (".", path) or path.startswith(f"{place}/")


def _way_out(asked: Asked, others: Sequence[str]) -> Advice:
    plans = [name for name in others if not _CALL.fullmatch(name)]
    if not plans:
        together = NextStep("undo", only=(*asked.words, *others))
        return Advice("nothing was changed; ", together, " takes back all of them together")
    numbers = sorted({named.entry.number for named in asked.calls}, reverse=True)
    prompts: list[str | NextStep] = []
    for number in numbers:
        prompts += [", then " if prompts else "", NextStep("undo", what=str(number))]
    whole = " takes back the whole prompt" if len(numbers) == 1 else " take back the whole prompts"
    return Advice("nothing was changed; ", *prompts, f"{whole}, and nothing of {', '.join(plans)}")
