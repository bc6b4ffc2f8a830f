"""Lists of plans: all of them, or those that wait for someone, each with the command that continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mulligan.cli.answers.answer import Line, Table
from mulligan.cli.answers.plain_words import state_words
from mulligan.domain.plans.handle import plain_word
from mulligan.domain.plans.plan import Phase
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from mulligan.api.results import PlanLine
    from mulligan.domain.text.json_value import JsonObject


def plan_blocks(
    plans: Sequence[PlanLine], when: Callable[[datetime], str], *, of_state: bool
) -> list[Line | Table]:
    """Describe plans by their states, newest first; with `of_state` they are those of one state."""
    if not plans:
        return [Line("no plan is in that state" if of_state else "no plans yet")]
    plans = plans[::-1]
    names = ["" if plain_word(p.name) == p.name else p.name for p in plans]  # a plain word is in the handle
    rows = tuple(
        (
            p.plan_id,
            *([name] if any(names) else ()),
            state_words(p.phase, p.state),
            f"{p.steps_done}/{p.steps_total}",
            when(p.updated_at),
        )
        for p, name in zip(plans, names, strict=True)
    )
    named, shortened = (("NAME",), "NAME") if any(names) else ((), None)
    return [Table(("PLAN", *named, "STATE", "STEPS", "UPDATED"), rows, shortened)]


def waiting_blocks(plans: Sequence[PlanLine], when: Callable[[datetime], str]) -> list[Line | Table]:
    """Describe plans that wait for someone, newest first."""
    if not plans:
        return [Line("no plan waits for anyone")]
    rows = tuple((p.handle, _wanted(p.waiting or {}), _next(p), when(p.updated_at)) for p in plans[::-1])
    return [Table(("PLAN", "WAITS FOR", "THEN", "SINCE"), rows, shortened="WAITS FOR")]


def _wanted(waiting: JsonObject) -> str:
    if waiting.get("reason") == "question":
        known = ", ".join(map(str, cast("list[str]", waiting["alternatives"])))
        return f"{waiting['question']}{f' ({known})' if known else ''}"
    paths = cast("list[str]", waiting.get("paths", []))
    return f"{counted(len(paths), 'conflict')}: {', '.join(paths)}"


def _next(plan: PlanLine) -> str:
    if (plan.waiting or {}).get("reason") == "question":
        return f"mulligan answer {plan.handle} CHOICE"
    return f"mulligan {'apply' if plan.phase is Phase.APPLY else 'plan resolve'} {plan.handle}"
