"""The moments at which the contents of a real resource are known, and what mulligan itself did between two of them.

An undo, a restore or a run in place is an entry of its own, also where it happens while a call of an agent is open. So
it is cut out of what that call changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.domain.agents.agent_event import EventKind
from mulligan.domain.agents.agent_session import OWN_GROUP, KnownMoment
from mulligan.domain.checkpoints.snapshot import Snapshot
from mulligan.domain.history.timeline_entry import DeedKind
from mulligan.domain.plans.plan import State
from mulligan.domain.plans.trigger import CheckpointType
from mulligan.domain.resources.resource import Sandbox, Strategy

if TYPE_CHECKING:
    from mulligan.domain.history.timeline_entry import TimelineEntry
    from mulligan.domain.text.ids import PlanId
    from mulligan.rows.transaction import Transaction

# Between these two kinds of moments lies what mulligan did, and not a call that was open.
_OWN_ACTS = {
    f"{OWN_GROUP}{begin.value}": f"{OWN_GROUP}{end.value}"
    for begin, end in (
        (CheckpointType.PRE_ROLLBACK, CheckpointType.POST_UNDO),
        (CheckpointType.PRE_RESTORE, CheckpointType.POST_RESTORE),
    )
}


class Change(Struct, frozen=True, kw_only=True):
    """A change of one resource: the contents with it, and those without it."""

    base: Snapshot
    theirs: Snapshot


def known_moments(db: Transaction, sandbox: Sandbox, first: int) -> Sequence[KnownMoment]:
    """Return the known contents of a resource; without those of plans that leave out other paths."""
    same: dict[PlanId, bool] = {}
    found: list[KnownMoment] = []
    for moment in db.agents.known(sandbox.path, max(0, first)):
        if moment.plan_id not in same:
            theirs = [s for s in db.sandboxes.list(moment.plan_id) if s.path == sandbox.path]
            same[moment.plan_id] = all(
                (s.patterns, s.excluded) == (sandbox.patterns, sandbox.excluded) for s in theirs
            )
        if same[moment.plan_id]:
            found.append(moment)
    return found


def own_acts(moments: Sequence[KnownMoment]) -> Mapping[int, int]:
    """Return the moments at which undos and restores of mulligan began, with those at which they ended."""
    found: dict[int, int] = {}
    for begin, end in pairwise(moments):
        if _OWN_ACTS.get(begin.kind) == end.kind:
            found[begin.number] = end.number
    return found


def acts_apart(db: Transaction, entry: TimelineEntry) -> Mapping[str, Sequence[Change]]:
    """Return what mulligan did in each resource while calls of a prompt were open, the newest first.

    Other entries have no such calls.
    """
    if entry.kind is not DeedKind.PROMPT:
        return {}
    own = {
        call.call_id for call in db.tool_calls.list(entry.plan_id) if call.detail.get("entry") == entry.number
    }
    begun = [
        first
        for call_id, kind, first, _ in db.agents.reports(entry.plan_id)
        if call_id in own and kind == EventKind.BEFORE_CALL.value
    ]
    if not begun:
        return {}
    last = db.agents.last_with(entry.after_group) if entry.after_group is not None else None
    found: dict[str, Sequence[Change]] = {}
    for sandbox in db.sandboxes.list(entry.plan_id):
        if sandbox.strategy is not Strategy.IN_PLACE:
            continue
        moments = known_moments(db, sandbox, min(begun))
        snapshots = {moment.number: moment.snapshot for moment in moments}
        between = [(p, q) for p, q in _acts(db, moments) if p > min(begun) and (last is None or q <= last)]
        if between:
            found[sandbox.resource] = [
                Change(base=snapshots[q], theirs=snapshots[p]) for p, q in reversed(between)
            ]
    return found


def changes_around(base: Snapshot, theirs: Snapshot, apart: Sequence[Change]) -> Sequence[Change]:
    """Return the changes from `theirs` to `base`, the newest first, without those that are apart from them."""
    found: list[Change] = []
    for act in apart:
        found.append(Change(base=base, theirs=act.base))
        base = act.theirs
    return (*found, Change(base=base, theirs=theirs))


def changed_apart_from(db: Transaction, entry: TimelineEntry, apart: Mapping[str, Sequence[Change]]) -> bool:
    """Return whether a prompt changed anything apart from these acts."""
    if entry.before_group is None or entry.after_group is None:
        return True
    before, after = (db.checkpoints.get(group) for group in (entry.before_group, entry.after_group))
    return any(
        not change.base.same_as(change.theirs)
        for checkpoint in after.checkpoints
        for change in changes_around(
            checkpoint.snapshot, before.snapshot_of(checkpoint.resource), apart.get(checkpoint.resource, ())
        )
    )


def _acts(db: Transaction, moments: Sequence[KnownMoment]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last moments of undos, restores and runs in place, oldest first, none inside another."""
    spans = list(own_acts(moments).items())
    agents = set(db.agents.plans())
    runs: dict[PlanId, list[int]] = {}
    for moment in moments:
        if moment.plan_id not in agents:
            runs.setdefault(moment.plan_id, []).append(moment.number)
    spans += [
        (numbers[0], numbers[-1])
        for plan_id, numbers in runs.items()
        if db.plans.get(plan_id).state is not State.PROCESSING
    ]
    end = -1
    for first, last in sorted(spans, key=lambda span: (span[0], -span[1])):
        if last > end:  # what overlaps the one before begins where that ends
            yield max(first, end), last
            end = last
