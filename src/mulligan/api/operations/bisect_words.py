"""Finds the plan and the ends of a bisection by the words of users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.api.word_references import folder_inside
from mulligan.application.bisection.bisect_service import BisectWish, Following
from mulligan.domain.plans.handle import entry_reference, group_reference
from mulligan.errors import Advice, NextStep, UsageWrong

if TYPE_CHECKING:
    from mulligan.application.bisection.bisect_service import Bisection, Trial
    from mulligan.domain.text.ids import PlanId
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services


class BisectWords(Struct, frozen=True, kw_only=True):
    """A command, and words for a plan and the ends of the search in it."""

    words: Sequence[str]
    plan: str | None
    good: str | None
    bad: str | None
    folder: Path | None  # where the command is to run


def bisect(
    services: Services,
    wanted: BisectWords,
    following: tuple[Callable[[Trial], None] | None, Callable[[bytes], None] | None],
    observer: Observer,
) -> Bisection:
    """Find the first group at which a command fails; `following` are called as `Following` says, if they are given."""
    if not wanted.words:
        again = NextStep("bisect", words=...)
        raise UsageWrong(reason="the command is missing", hint=Advice("name it after `--`: ", again))
    plan, good, bad = wanted.plan, wanted.good, wanted.bad
    if plan is not None and (named := group_reference(plan)) is not None:
        if bad is not None:
            raise UsageWrong(reason=f"{plan} and {bad} are both the bad end", hint="leave one of them out")
        plan, bad = named.plan or None, plan
    (good_plan, good), (bad_plan, bad) = _end(services, good), _end(services, bad)
    if plan is not None:
        plan_id = services.queries.plan_id(plan)
    else:
        plan_id = good_plan or bad_plan or services.queries.newest_for("bisect")
    tried, printed = following
    return services.bisections.bisect(
        plan_id,
        BisectWish(
            words=wanted.words, folder=folder_inside(services, plan_id, wanted.folder), good=good, bad=bad
        ),
        Following(tried=tried or _nothing, printed=printed or _nothing),
        observer,
    )


def _end(services: Services, word: str | None) -> tuple[PlanId | None, str | None]:
    """Return the plan that a word for a group names, if it names one, and the word to look for in it.

    The number of an entry of the timeline means the group right after that entry.
    """
    if word is None:
        return None, None
    number = entry_reference(word)
    if number is not None and services.timeline.has(number):
        plan_id, _, after = services.timeline.sides(number)
        return plan_id, after
    named = group_reference(word)
    return services.queries.plan_id(named.plan) if named is not None and named.plan else None, word


def _nothing(_what: object) -> None:
    """Do nothing: nobody follows."""
