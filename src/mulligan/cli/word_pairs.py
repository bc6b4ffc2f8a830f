"""Words that name a plan, a checkpoint of it, or two checkpoints to compare."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan import errors
from mulligan.domain.plans.handle import group_reference
from mulligan.domain.text.plural import counted
from mulligan.errors import Advice, NextStep, UsageWrong

if TYPE_CHECKING:
    from mulligan.api.project import Project

_NAMED = 3  # plans that a hint lists


class ComparedWords(Struct, frozen=True, kw_only=True):
    """The plan whose checkpoints are compared, with the sides that are named; or two groups of any plans."""

    plan: str | None
    old: str | None
    new: str | None
    groups: tuple[str, str] | None = None


def compared_words(
    project: Project, word: str | None, other: str | None, old: str | None, new: str | None
) -> ComparedWords:
    """Read `tune`, `tune@3`, `tune @3` and `tune@1 tune@3`, with what --from and --to name; refuse other pairs.

    A checkpoint may be a label or an id, too.
    """
    if word == "":
        raise errors.PlanNotFound(wanted=word)
    numbered = group_reference(word) if word is not None else None
    second = group_reference(other) if other is not None else None
    if word is not None and ".." in word and other is None and numbered is None:
        _refuse_range(project, word)
    if word is None or (numbered is None and other is None):
        return ComparedWords(plan=word, old=old, new=new)
    by_words = other is not None and (second is None or (numbered is None and bool(second.plan)))
    if other is not None and by_words:
        _refuse_others(project, word, other)
    if new is not None or (old is not None and numbered is not None and other is not None):
        raise UsageWrong(
            reason=f"{' and '.join(filter(None, (word, other)))} names what --from and --to name",
            hint="leave out the options",
        )
    if other is None:
        assert numbered is not None
        return ComparedWords(plan=numbered.plan or "latest", old=old, new=word)
    if by_words and not names_a_plan(project, word):
        return ComparedWords(plan=None, old=None, new=None, groups=(word, other))
    if numbered is None:
        return ComparedWords(plan=word, old=old, new=other)
    assert second is not None
    of_the_same = f"{numbered.plan}{other}" if not second.plan else other
    return ComparedWords(plan=None, old=None, new=None, groups=(word, of_the_same))


def _refuse_range(project: Project, word: str) -> None:
    """Refuse two words in one, as git takes them, unless a plan is called so."""
    import shlex

    old, _, new = word.partition("..")
    both = [each for each in (old, new.lstrip(".")) if each]
    if both and not names_a_plan(project, word):
        hint = f"the two sides are words of their own: `mulligan diff {shlex.join(both)}`"
        raise errors.PlanNotFound(wanted=word, hint=hint)


def _refuse_others(project: Project, word: str, other: str) -> None:
    """Refuse two words that do not name two groups: plans, or paths without the sign before them."""
    import shlex

    if os.path.lexists(other) and not names_a_plan(project, other):
        alone = f"mulligan diff {shlex.quote(word)} -- {shlex.quote(other)}"
        raise UsageWrong(
            reason=f"{other!r} is a path, not a checkpoint", hint=f"paths follow `--`: `{alone}`"
        )
    if names_a_plan(project, word) and names_a_plan(project, other):
        newest = f"mulligan diff {word}@-1 {other}@-1"
        raise UsageWrong(
            reason="`diff` shows what one plan changed, and two are named",
            hint=f"`mulligan diff {word}` shows it of one; `{newest}` compares the newest checkpoints of both",
        )


def plan_and_checkpoint(project: Project, first: str, second: str | None) -> tuple[str, str]:
    """Return the plan and the checkpoint that one or two words name: `tune @3`, `tune@3`, `@3`."""
    if second is not None:
        return first, second
    reference = group_reference(first)
    named = reference.plan if reference else ""
    return named or project.newest_for("rollback"), first


def names_a_plan(project: Project, word: str) -> bool:
    """Return whether a word names a plan."""
    try:
        project.status(word)
    except errors.PlanNotFound:
        return False
    return True


def only_waiting(project: Project, choice: str) -> str:
    """Return the only plan that waits for an answer; refuse where there are more."""
    asking = [p for p in project.plans(waiting=True) if p.waiting and p.waiting["reason"] == "question"]
    if len(asking) > 1:
        named = [NextStep("answer", plan=each.handle, choice=choice) for each in asking[:_NAMED]]
        pieces = [piece for step in named for piece in (step, " or ")][:-1]
        raise UsageWrong(
            reason=f"{counted(len(asking), 'plan waits', 'plans wait')} for an answer",
            hint=Advice("name the plan: ", *pieces),
        )
    return asking[0].plan_id if asking else project.newest_for("answer")
