"""The plan of a try: a step that runs the variants, a question which one to take, and a step that takes it over."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from mulligan.domain.plans.command_plan import (
    command_step,
    cut_title,
    program_of,
    refuse_unfit,
    shown,
    typed,
)
from mulligan.domain.plans.decision import Question
from mulligan.domain.plans.plan import PlanDefinition, RollbackPolicy
from mulligan.domain.plans.step import ChildPlan, MergeStrategy, Pick, Step, SubplanMode, Subplans, ToolUse
from mulligan.domain.resources.resource import Resource
from mulligan.domain.text.names import plan_name_problem
from mulligan.domain.text.plural import counted
from mulligan.errors import Advice, NextStep, UsageWrong

MOST_VARIANTS = 100
COMMAND, CHECK = 0, 1  # the steps of a variant, by their index
_QUESTION = "Which variant?"
_NAME = "try"  # of a plan whose variants are different commands


class VariantCommand(Struct, frozen=True, kw_only=True):
    """One way to try: a program with its words, or a line of shell."""

    name: str
    words: Sequence[str] = ()
    line: str = ""


class TryWish(Struct, frozen=True, kw_only=True):
    """The variants to try, and their check."""

    variants: tuple[VariantCommand, ...]
    check: str | None  # a line of shell that says whether a variant is good
    keep_going: bool  # start the others although one could not be run
    timeout: float | None  # seconds for the command of a variant, and as many for its check
    name: str | None  # of the plan


def same_command(words: Sequence[str], count: int) -> tuple[VariantCommand, ...]:
    """Return so many variants of one command, named by their numbers."""
    return tuple(VariantCommand(name=str(number + 1), words=tuple(words)) for number in range(count))


def different_commands(lines: Mapping[str, str]) -> tuple[VariantCommand, ...]:
    """Return variants that are lines of shell, by their names."""
    return tuple(VariantCommand(name=name, line=line) for name, line in lines.items())


def refuse_unfit_variants(wish: TryWish) -> None:
    """Refuse what cannot be tried."""
    if not 1 <= len(wish.variants) <= MOST_VARIANTS:
        raise UsageWrong(
            reason=f"{counted(len(wish.variants), 'variant')}: there can be 1 to {MOST_VARIANTS}",
            hint=Advice("name a command, as in ", NextStep("try_variants", count=3, words=("make", "test"))),
        )
    for variant in wish.variants:
        if problem := plan_name_problem(variant.name):
            raise UsageWrong(
                reason=f"the name of a variant, {variant.name!r}, {problem}", hint="choose another name"
            )
        if not variant.line:
            refuse_unfit(variant.words, wish.name)
        if variant.line.isspace():
            raise UsageWrong(reason=f"the variant {variant.name!r} has no command", hint="write NAME=COMMAND")
    if wish.check is not None and not wish.check.strip():
        raise UsageWrong(reason="the check is empty", hint="leave it out, or name a command")
    if wish.timeout is not None and wish.timeout <= 0:
        raise UsageWrong(reason="a timeout is more than 0 seconds", hint="leave it out, or give another")


def try_steps(wish: TryWish, folder: str) -> tuple[Step, ...]:
    """Return the steps of a try, whose commands run in this folder of its first resource."""
    plans = tuple(
        _child(variant, number, wish, folder) for number, variant in enumerate(wish.variants, start=1)
    )
    names = tuple(variant.name for variant in wish.variants)
    first = Subplans(
        mode=SubplanMode.PARALLEL,
        max_parallel=None,
        merge_strategy=MergeStrategy.PICK,
        fail_fast=not wish.keep_going,
        max_retries=0,
        plans=plans,
    )
    variants, choice, pick = cut_title(_title(wish)), "which variant", "pick"
    return (
        _step(variants, first),
        _step(choice, Question(question=_QUESTION, alternatives=names)),
        _step(pick, Pick(variants=variants, chosen_in=choice)),
    )


def try_definition(wish: TryWish, resource: Resource, folder: str) -> PlanDefinition:
    """Return the plan that tries these variants on a resource."""
    return PlanDefinition(
        name=try_name(wish),
        description=_described(wish),
        resources=(resource,),
        config={},
        rollback_policy=RollbackPolicy(),
        variables={},
        command=True,
        steps=try_steps(wish, folder),
    )


def try_name(wish: TryWish) -> str:
    """Return the name of the plan: that of the program where all variants are the same command."""
    if wish.name is not None:
        return wish.name
    words = wish.variants[0].words
    return program_of(words[0]) if words else _NAME


def variants_of(definition: PlanDefinition) -> Subplans | None:
    """Return what a try runs; None: the plan is not a try."""
    first = definition.steps[0].action if definition.steps else None
    picks = isinstance(first, Subplans) and first.merge_strategy is MergeStrategy.PICK
    return first if picks and isinstance(first, Subplans) else None


def has_check(child: PlanDefinition) -> bool:
    """Return whether a variant is judged by a check."""
    return len(child.steps) > CHECK and child.steps[CHECK].check


def _child(variant: VariantCommand, number: int, wish: TryWish, folder: str) -> ChildPlan:
    variables: dict[str, str] = {}
    if variant.words:
        command, variables = command_step(variant.words, folder, {}, keep=True)
    else:
        command = _shell_step(cut_title(shown(variant.line)), variant.line, folder, keep=True, check=False)
    steps = [command]
    if wish.check is not None:
        title = cut_title(f"check: {shown(wish.check)}")
        steps.append(_shell_step(title, wish.check, folder, keep=False, check=True))
    return ChildPlan(
        name=variant.name,
        depends_on=(),
        steps=tuple(_limited(step, wish.timeout) for step in steps),
        description=shown(typed(variant.words)) if variant.words else shown(variant.line),
        variables=variables,
        variant=number,
    )


def _shell_step(name: str, line: str, folder: str, *, keep: bool, check: bool) -> Step:
    args = {"command": line, **({"cwd": folder} if folder != "." else {})}
    use = ToolUse(tool="shell", resource=None, args=args)
    return Step(name=name, action=use, label=None, timeout=None, retries=0, keep=keep, check=check)


def _limited(step: Step, timeout: float | None) -> Step:
    return replace(step, timeout=timeout)


def _step(name: str, action: Subplans | Question | Pick) -> Step:
    return Step(name=name, action=action, label=None, timeout=None, retries=0)


def _described(wish: TryWish) -> str:
    words = wish.variants[0].words
    return shown(typed(words)) if words else ", ".join(variant.name for variant in wish.variants)


def _title(wish: TryWish) -> str:
    if wish.variants[0].words:
        return f"{counted(len(wish.variants), 'variant')} of {_described(wish)}"
    return f"variants {_described(wish)}"
