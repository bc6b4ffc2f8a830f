"""The variants of a try for people: one table, and what can be done next."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from mulligan.api.replies import tried_reply
from mulligan.cli.answers.answer import Answer, Block, Line, Table
from mulligan.cli.answers.plain_words import state_words
from mulligan.cli.terminal.times import lasting
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.exit_status import brief_status
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import PlanStatus, Tried, Variant

_COLUMNS = ("VARIANT", "EXIT", "CHECK", "FILES", "LINES", "TIME")


def tried_answer(tried: Tried, status: PlanStatus | None = None) -> Answer:
    """Answer with the variants of a try, and in a document with the status of its plan, if that is given."""
    blocks: list[Block] = [Line(_title(tried), title=True), variant_table(tried)]
    finished = [v for v in tried.variants if v.finished]
    if finished and (tried.phase, tried.state) == (Phase.EXECUTE, State.CONSTRAINED):
        best = next((v for v in finished if v.passed), finished[0])
        blocks.append(Line(f"look at one:  mulligan diff {shlex.quote(best.handle)}"))
        if len(finished) > 1:
            other = next(v for v in finished if v is not best)
            pair = sorted((best, other), key=lambda v: v.number)
            words = " ".join(shlex.quote(v.variant) for v in pair)
            blocks.append(Line(f"compare:      mulligan try diff {words}"))
        blocks.append(Line(f"choose:       mulligan try pick {shlex.quote(best.variant)}"))
    elif tried.picked is not None and tried.state is State.COMPLETE:
        blocks.append(Line(f"apply it:  mulligan apply {tried.handle}"))
    return Answer.drawn(tried_reply(tried, status), blocks)


def picked_answer(tried: Tried) -> Answer:
    """Answer with the variant that was picked."""
    if tried.error is not None:
        return Answer.drawn(tried_reply(tried), [])
    picked = next(variant for variant in tried.variants if variant.picked)
    changed = f"{counted(picked.files or 0, 'file')}, {_lines(picked)}"
    return Answer.drawn(
        tried_reply(tried),
        [
            Line(f"{tried.handle}: picked {picked.variant} ({changed})", title=True),
            Line(f"look at it:  mulligan diff {tried.handle}"),
            Line(f"apply it:    mulligan apply {tried.handle}"),
        ],
    )


def variant_table(tried: Tried) -> Table:
    """Return the table of variants."""
    return Table(_COLUMNS, tuple(_row(variant) for variant in tried.variants), shortened="VARIANT")


def _row(variant: Variant) -> tuple[str, ...]:
    name = f"{variant.variant} (picked)" if variant.picked else variant.variant
    if not variant.finished:
        words = state_words(Phase.EXECUTE, variant.state) if variant.state is not State.COMPLETE else "to do"
        return (name, words, "", "", "", "")
    return (
        name,
        _end(variant),
        _check(variant),
        str(variant.files),
        _lines(variant),
        lasting(variant.duration_ms) if variant.duration_ms is not None else "",
    )


def _end(variant: Variant) -> str:
    if variant.timed_out:
        return "timed out"
    return "not started" if variant.exit_status is None else brief_status(variant.exit_status)


def _check(variant: Variant) -> str:
    if variant.check is None:
        return "-"
    status = variant.check_exit_status
    shown = "" if variant.passed or status is None else f" ({brief_status(status)})"
    return variant.check.value + shown


def _lines(variant: Variant) -> str:
    return f"+{variant.insertions} -{variant.deletions}"


def _title(tried: Tried) -> str:
    count = counted(len(tried.variants), "variant")
    passing = {0: "none passes", 1: "one passes"}.get(tried.passed, f"{tried.passed} pass")
    return f"{tried.handle}: {count}, {passing}"
