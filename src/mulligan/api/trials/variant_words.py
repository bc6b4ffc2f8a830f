"""Begins tries, finds their variants by the words of users, and picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from mulligan.api.operations.command_run import with_next
from mulligan.application.forks.variant_queries import Variant
from mulligan.domain.plans.handle import group_reference
from mulligan.domain.plans.plan import Phase, State
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.plural import counted
from mulligan.domain.variants.variant_plan import (
    TryWish,
    VariantCommand,
    different_commands,
    same_command,
)
from mulligan.errors import (
    MulliganError,
    NoVariantPassed,
    QuestionOpen,
    UsageWrong,
    VariantNotFound,
)

if TYPE_CHECKING:
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.domain.resources.resource import Resource
    from mulligan.ports import Observer
    from mulligan.wiring.services import Services

USUAL_COUNT = 2


class Tried(Struct, frozen=True, kw_only=True):
    """A try: its plan, and its variants in their order."""

    plan_id: PlanId
    handle: str
    name: str
    phase: Phase
    state: State
    variants: tuple[Variant, ...]
    passed: int  # how many pass
    picked: str | None
    messages: tuple[str, ...]
    error: MulliganError | None


class TryWords(Struct, frozen=True, kw_only=True):
    """A wish to try something, in the words of users."""

    words: Sequence[str]
    count: int | None
    variants: Mapping[str, str]
    check: str | None
    start: str | None  # a plan and a checkpoint of it, such as `tune@3`
    keep_going: bool
    timeout: float | None
    name: str | None


def try_variants(
    services: Services, wanted: TryWords, resource: Resource, folder: str, observer: Observer
) -> Tried:
    """Record a try, and run its variants."""
    wish = TryWish(
        variants=_commands(wanted),
        check=wanted.check,
        keep_going=wanted.keep_going,
        timeout=wanted.timeout,
        name=wanted.name,
    )
    if wanted.start is None:
        plan_id = services.tries.create(wish, resource, folder)
    else:
        origin, word = origin_of(services, wanted.start)
        plan_id = services.tries.create_from(wish, origin, word, folder)
    execution = services.executor.execute(plan_id, None, observer, None, None)
    if execution.error is None or execution.error.facts.get("started") is not False:
        return outcome(services, plan_id, execution)
    # No command could be started: there is nothing to look at, nor to resume.
    error = with_next(execution.error, wanted.words)
    services.plan_removals.remove([plan_id], observer)
    raise error


def origin_of(services: Services, word: str) -> tuple[PlanId, str | None]:
    """Return the plan that a word such as `tune@3` names, and the word for the group in it; None: it names none."""
    named = group_reference(word)
    if named is None:
        return services.queries.plan_id(word), None
    return services.queries.plan_id(named.plan or "latest"), word


def _commands(wanted: TryWords) -> tuple[VariantCommand, ...]:
    if wanted.variants and wanted.words:
        raise UsageWrong(
            reason="a command and variants of their own exclude each other",
            hint="leave out what follows `--`, or the variants",
        )
    if wanted.variants and wanted.count is not None:
        raise UsageWrong(
            reason="the number of variants is that of the commands that are named",
            hint="leave out the number, or name one command",
        )
    if wanted.variants:
        return different_commands(wanted.variants)
    return same_command(wanted.words, USUAL_COUNT if wanted.count is None else wanted.count)


def outcome(services: Services, plan_id: PlanId, execution: Execution | None = None) -> Tried:
    """Return a try as it is now; after an execution with what stopped it."""
    status = services.queries.status(plan_id, None)
    variants = services.variants.of(plan_id)
    error = execution.error if execution else None
    if isinstance(error, QuestionOpen):  # which is how it ends
        error = None if any(v.passed for v in variants) else _none_passed(variants)
    return Tried(
        plan_id=plan_id,
        handle=status.handle,
        name=status.name,
        phase=status.phase,
        state=status.state,
        variants=variants,
        passed=sum(variant.passed for variant in variants),
        picked=next((variant.variant for variant in variants if variant.picked), None),
        messages=(
            *status.messages,
            *services.variants.failures(plan_id),
            *(execution.messages if execution else ()),
        ),
        error=error,
    )


def _none_passed(variants: Sequence[Variant]) -> NoVariantPassed:
    example = next(variant.handle for variant in variants if variant.finished)
    return NoVariantPassed(count=counted(len(variants), "variant"), variant=example)


def find_variant(services: Services, word: str, plan: str | None = None) -> tuple[PlanId, Variant]:
    """Find a variant by its handle, or by its name or number in a try: the newest one unless named."""
    plan_id = services.variants.newest_try() if plan is None else services.queries.plan_id(plan)
    try:
        return plan_id, services.variants.find(plan_id, word)
    except VariantNotFound:
        other = services.variants.try_of(word) if plan is None else None
        if other is None:
            raise
        return other, services.variants.find(other, word)


def pick(
    services: Services, word: str, plan: str | None, rationale: str | None, observer: Observer
) -> tuple[PlanId, Execution | None]:
    """Take over a variant; None: it was picked already."""
    plan_id, variant = find_variant(services, word, plan)
    return plan_id, services.tries.pick(plan_id, variant.variant, rationale, observer)
