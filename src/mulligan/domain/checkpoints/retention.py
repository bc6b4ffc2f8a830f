"""Retention: which groups of a plan stay, and why."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from mulligan.domain.text.ids import GroupId

UNFINISHED = "an unfinished operation depends on it"
CURRENT = "the plan is at it"
TURNABLE = "a redo or an unapply needs it"
OF_A_GRAPH = "a graph goes on from it"
UNDOABLE = "an undo needs it"  # a user may delete it by name all the same


class Kept(Struct, frozen=True, kw_only=True):
    """A group that stays, and why."""

    group_id: GroupId
    reason: str


class RetentionPlan(Struct, frozen=True, kw_only=True):
    """The groups that a prune keeps and those that it removes, oldest first."""

    keep: tuple[Kept, ...]
    prune: tuple[GroupId, ...]


class GroupSummary(Struct, frozen=True, kw_only=True):
    """As much of a group as retention needs to know."""

    group_id: GroupId
    attempt: int
    superseded: bool
    labelled: bool
    between_steps: bool
    at_work: bool = False  # taken while programs were at work, and no run starts from it


class AgedGroup(Struct, frozen=True, kw_only=True):
    """As much of a group of an agent's session as retention needs to know."""

    group_id: GroupId
    created_at: datetime
    size_bytes: int  # that it added to the store
    labelled: bool  # by a user
    of_prompt: bool  # a prompt begins or ends with it


def too_old_or_large(
    groups: Sequence[AgedGroup], *, since: datetime, limit: int, needed: Mapping[GroupId, str]
) -> tuple[GroupId, ...]:
    """Return the groups of an agent's session, given oldest first, that retention prunes: by age, then by bytes.

    Groups of calls go before those of prompts, the oldest first. What a user labelled, the first, the newest and
    `needed` ones stay. A limit of 0 is none.
    """
    stay = {*needed, *(g.group_id for g in (*groups[:1], *groups[-1:]))}
    willing = [g for g in groups if g.group_id not in stay and not g.labelled]
    pruned = [g for g in willing if g.created_at < since]
    excess = sum(g.size_bytes for g in groups) - sum(g.size_bytes for g in pruned) - limit
    young = [g for g in willing if g.created_at >= since]
    for group in sorted(young, key=lambda g: g.of_prompt) if limit else ():  # stable: oldest first
        if excess <= 0:
            break
        pruned.append(group)
        excess -= group.size_bytes
    gone = {g.group_id for g in pruned}
    return tuple(g.group_id for g in groups if g.group_id in gone)


def plan_retention(
    groups: Sequence[GroupSummary], *, limit: int, needed: Mapping[GroupId, str]
) -> RetentionPlan:
    """Divide a plan's groups, oldest first, into those to keep (with the reason) and to prune.

    `needed` are the groups that something depends on, each with the reason. Groups that must stay do so even when they
    exceed the limit: it bounds waste and never costs a way back, nor another group its label. Groups that were taken
    while programs were at work are the first to go: no other group goes because of them.
    """
    lasting = [g for g in groups if not g.at_work]
    pruned, reasons = _divide(lasting, limit=limit, needed=needed)
    passing = [g for g in groups if g.at_work]
    excess = len(passing) - room_at_work(limit, len(lasting) - len(pruned))
    pruned |= set(oldest_at_work(passing, excess=excess, needed=needed))
    reasons |= {g.group_id: needed[g.group_id] for g in passing if g.group_id in needed}
    return RetentionPlan(
        keep=tuple(
            Kept(group_id=g.group_id, reason=reasons.get(g.group_id, "within the limit"))
            for g in groups
            if g.group_id not in pruned
        ),
        prune=tuple(g.group_id for g in groups if g.group_id in pruned),
    )


def room_at_work(limit: int, others: int) -> int:
    """Return how many groups that were taken while programs were at work may stay beside the others."""
    return max(1, limit - others)


def oldest_at_work(
    passing: Sequence[GroupSummary], *, excess: int, needed: Mapping[GroupId, str]
) -> tuple[GroupId, ...]:
    """Return so many of such groups, given oldest first, that go: those that were left behind before live ones."""
    in_order = sorted((g for g in passing if g.group_id not in needed), key=lambda g: not g.superseded)
    return tuple(g.group_id for g in in_order[: max(excess, 0)])


def _divide(
    groups: Sequence[GroupSummary], *, limit: int, needed: Mapping[GroupId, str]
) -> tuple[set[GroupId], dict[GroupId, str]]:
    """Return the groups to prune, and for others the reason to keep them."""
    always = reasons_to_stay(groups, needed=needed)
    reluctant = {g.group_id: "labelled" for g in groups if g.labelled}
    last_of_attempt = {g.attempt: g.group_id for g in groups}
    for group_id in last_of_attempt.values():
        reluctant.setdefault(group_id, "the last of its attempt")

    def cost(group: GroupSummary) -> tuple[bool, bool]:
        # What goes first: unlabelled before labelled, left-behind before live; age decides the rest.
        return (group.group_id in reluctant, not group.superseded)

    excess = max(0, len(groups) - limit)
    outstanding = reasons_to_stay(groups, needed={})
    in_order = sorted((g for g in groups if g.group_id not in outstanding), key=cost)  # stable: oldest first
    # What is needed costs no label: as many of the reluctant go as would without it.
    labels = sum(g.group_id in reluctant for g in in_order[:excess])
    willing = [g for g in in_order if g.group_id not in reluctant and g.group_id not in always][:excess]
    unwilling = [g for g in in_order if g.group_id in reluctant and g.group_id not in always]
    pruned = {g.group_id for g in (*willing, *unwilling[: min(labels, excess - len(willing))])}
    return pruned, {**reluctant, **always}


def reasons_to_stay(groups: Sequence[GroupSummary], *, needed: Mapping[GroupId, str]) -> dict[GroupId, str]:
    """Return the groups of a plan, given oldest first, that must stay whatever the limit, each with the reason."""
    reasons: dict[GroupId, str] = {}
    lasting = [group for group in groups if not group.at_work]
    if lasting:
        reasons[lasting[0].group_id] = "the first"
        reasons.setdefault(lasting[-1].group_id, "the most recent")
    resting_place = next((g for g in reversed(groups) if g.between_steps and not g.superseded), None)
    if resting_place:
        reasons.setdefault(resting_place.group_id, "the newest live one between two steps")
    for group in groups:
        if group.group_id in needed:
            reasons.setdefault(group.group_id, needed[group.group_id])
    return reasons
