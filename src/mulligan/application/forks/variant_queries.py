"""The variants of a try, for front doors: how each ended, and how much it changed. Named as in the JSON output."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct

from mulligan.application.queries.checkpoint_diff import DiffService, DiffWish
from mulligan.domain.plans.plan import Plan, State
from mulligan.domain.plans.step import Pick, StepRecord, StepStatus
from mulligan.domain.plans.subplan import Child
from mulligan.domain.plans.tool import CallStatus, ToolCall
from mulligan.domain.text.ids import PlanId
from mulligan.domain.text.names import nearest_word
from mulligan.domain.variants.variant_plan import CHECK, COMMAND, variants_of
from mulligan.domain.variants.verdict import CheckResult, check_result, passes
from mulligan.errors import Advice, Ambiguous, NextStep, PlanNotATry, PlanNotFound, VariantNotFound
from mulligan.rows.database import Database
from mulligan.rows.transaction import Transaction

_WISH = DiffWish(binary=False, hidden=False, paths=(), folder=None)


class Variant(Struct, frozen=True, kw_only=True):
    """One variant of a try."""

    variant: str
    number: int  # from 1, as in MULLIGAN_VARIANT
    plan_id: PlanId
    handle: str
    state: State
    finished: bool  # it ran to its end, and can be picked
    passed: bool
    picked: bool
    exit_status: int | None  # negative: the signal that ended it; None: it was not run to its end
    timed_out: bool
    check: CheckResult | None  # None: there is no check, or it was not run to its end
    check_exit_status: int | None
    files: int | None  # None: it is not finished, as the next two
    insertions: int | None
    deletions: int | None
    duration_ms: int | None  # of its command


class VariantQueries(Struct, kw_only=True, frozen=True, eq=False):
    """Reads variants; never waits for a running plan."""

    database: Database
    diffs: DiffService

    def newest_try(self) -> PlanId:
        """Return the newest try that was not cancelled; refuse where there is none."""
        with self.database.reading() as db:
            plans = db.plans.list(None)
        tries = [plan for plan in plans if variants_of(plan.definition) and plan.parent_plan_id is None]
        living = [plan for plan in tries if plan.state is not State.CANCELLED] or tries
        if not living:
            raise PlanNotATry(
                reason="nothing was tried yet",
                hint=Advice(
                    NextStep("try_variants", count=3, words=("make", "test")),
                    " tries `make test` three times",
                ),
            )
        return living[-1].plan_id

    def has(self, plan_id: PlanId) -> bool:
        """Return whether the plan is a try."""
        with self.database.reading() as db:
            return variants_of(db.plans.get(plan_id).definition) is not None

    def try_of(self, handle: str) -> PlanId | None:
        """Return the try of the variant with this handle or id; None: there is none."""
        with self.database.reading() as db:
            try:
                plan = db.plans.resolve(handle)
            except (PlanNotFound, Ambiguous):
                return None
        return plan.parent_plan_id if plan.definition.variant and handle != plan.name else None

    def of(self, plan_id: PlanId) -> tuple[Variant, ...]:
        """Return the variants of a try, in their order."""
        with self.database.reading() as db:
            plan = db.plans.get(plan_id)
            found = children_of(db, plan)
            facts = [(child, _calls(db, child), db.steps.list(child.plan_id)) for child in found]
        picked = picked_in(plan)
        return tuple(
            self._variant(child, calls, steps, picked=picked == child.name) for child, calls, steps in facts
        )

    def failures(self, plan_id: PlanId) -> tuple[str, ...]:
        """Say of each variant of a try that could not be run why that is."""
        with self.database.reading() as db:
            found = [child.plan for child in children_of(db, db.plans.get(plan_id))]
        return tuple(
            f"{p.name}: {p.failure.message}" for p in found if p.failure and p.state is State.ERRORED
        )

    def find(self, plan_id: PlanId, word: str) -> Variant:
        """Return the variant that a word means: its name, its number, or its handle."""
        variants = self.of(plan_id)
        for place in range(len(_words_of(variants[0])) if variants else 0):
            for variant in variants:
                if _words_of(variant)[place] == word:
                    return variant
        names = [variant.variant for variant in variants]
        near = nearest_word(word, names) or ...
        raise VariantNotFound(
            wanted=word,
            known=", ".join(names),
            hint=Advice("name one of them, as in ", NextStep("pick_variant", variant=near)),
        )

    def _variant(
        self, child: Child, calls: Mapping[int, ToolCall], steps: Sequence[StepRecord], *, picked: bool
    ) -> Variant:
        plan = child.plan
        ended = {step.index for step in steps if step.status in (StepStatus.DONE, StepStatus.FAILED)}
        command = calls.get(COMMAND) if COMMAND in ended else None
        checked = calls.get(CHECK) if CHECK in ended else None
        exit_status, check_status = _exit_status(command), _exit_status(checked)
        check = check_result(plan.definition, ran=checked is not None, exit_status=check_status)
        diff = self.diffs.of_plan(child.plan_id, None, None, _WISH) if child.is_done else None
        return Variant(
            variant=child.name,
            number=plan.definition.variant,
            plan_id=child.plan_id,
            handle=plan.handle,
            state=plan.state,
            finished=child.is_done,
            passed=child.is_done and passes(plan.definition, exit_status, check),
            picked=picked,
            exit_status=exit_status,
            timed_out=command is not None and exit_status is None and child.is_done,
            check=check,
            check_exit_status=check_status,
            files=len(diff.files) if diff else None,
            insertions=sum(file.insertions or 0 for file in diff.files) if diff else None,
            deletions=sum(file.deletions or 0 for file in diff.files) if diff else None,
            duration_ms=command.duration_ms if command else None,
        )


def children_of(db: Transaction, plan: Plan) -> list[Child]:
    """Return the variants of a try, as plans, in their order; refuse another plan."""
    if variants_of(plan.definition) is None:
        raise PlanNotATry(
            reason=f"{plan.handle} is not a try",
            hint=Advice(NextStep("plans"), " lists the plans; those of a try have variants"),
        )
    found = [c for c in db.children.list(plan.plan_id) if c.plan.definition.variant]
    kept = [c for c in found if c.plan.state is not State.CANCELLED] or found
    return sorted(kept, key=lambda child: child.plan.definition.variant)


def picked_in(plan: Plan) -> str | None:
    """Return the name of the variant that a try took over."""
    done = plan.definition.steps[: plan.progress.step_index]
    taken = [step.action for step in done if isinstance(step.action, Pick)]
    return cast("str | None", plan.progress.outputs.get(taken[0].chosen_in)) if taken else None


def _words_of(variant: Variant) -> tuple[str, ...]:
    """Return the words that may mean a variant, the strongest first."""
    return variant.variant, variant.handle, variant.plan_id, str(variant.number)


def _calls(db: Transaction, child: Child) -> dict[int, ToolCall]:
    """Return the newest ended call of each step."""
    ended = [c for c in db.tool_calls.each(child.plan_id) if c.status in (CallStatus.DONE, CallStatus.FAILED)]
    return {call.step_index: call for call in ended if not call.superseded}


def _exit_status(call: ToolCall | None) -> int | None:
    return cast("int | None", call.detail.get("exit_status")) if call is not None else None
