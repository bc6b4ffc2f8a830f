"""Words of users that may name one of several things: an entry of the timeline, a plan, a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.domain.plans.handle import entry_reference
from mulligan.errors import CheckpointNotFound, EntryNotFound, PlanNotFound

if TYPE_CHECKING:
    from mulligan.domain.text.ids import PlanId
    from mulligan.wiring.services import Services


def entry_named(services: Services, word: str) -> int | None:
    """Return the entry of the timeline that a word names by its number; None: it names a plan, or may name one.

    Digits alone that name neither are refused as a number.
    """
    number = entry_reference(word)
    if number is not None and services.timeline.has(number):
        return number
    if word.isascii() and word.isdecimal():
        try:
            services.queries.plan_id(word)  # plans of earlier versions may be called so
        except PlanNotFound:
            raise EntryNotFound(number=word) from None
    return None


def checkpoint_named(services: Services, word: str) -> str:
    """Return the word for the checkpoint that a user means: that checkpoint, or the newest group of a plan.

    The number of an entry of the timeline means the group right after that entry.
    """
    try:
        services.checkpoint_queries.find(word)
    except CheckpointNotFound:
        number = entry_named(services, word)
        if number is not None:
            return services.timeline.sides(number)[2]
        try:
            plan_id = services.queries.plan_id(word)
        except PlanNotFound:
            plan_id = None
        if plan_id is None:
            raise
        return services.checkpoint_queries.newest(plan_id)
    return word


def folder_inside(services: Services, plan_id: PlanId, folder: Path | None) -> str:
    """Return a folder relative to the first resource of a plan, or to its sandbox; `.` where it lies in neither."""
    resource, sandbox = services.queries.first_place(plan_id)
    roots = [services.adapters.project / resource.location, *([Path(sandbox)] if sandbox else [])]
    here = folder.resolve() if folder is not None else None
    found = [here.relative_to(r.resolve()) for r in roots if here and here.is_relative_to(r.resolve())]
    return str(found[0]) if found else "."
