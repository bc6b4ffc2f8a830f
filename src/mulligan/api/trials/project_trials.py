"""Tries: several variants of the same work beside each other, from one point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mulligan.api.queues.project_queues import ProjectQueues

if TYPE_CHECKING:
    from mulligan.api.trials.variant_words import Tried
    from mulligan.application.forks.variant_queries import Variant
    from mulligan.application.runs.plan_executor import Execution
    from mulligan.domain.resources.resource import Resource
    from mulligan.domain.trees.diff import Diff


class ProjectTrials(ProjectQueues):
    """The operations of `Project` on tries."""

    def try_variants(
        self,
        words: Sequence[str] = (),
        *,
        count: int | None = None,
        variants: Mapping[str, str] | None = None,
        check: str | None = None,
        start: str | None = None,
        keep_going: bool = False,
        timeout: float | None = None,
        name: str | None = None,
        resource: Resource | None = None,
        folder: str = ".",
    ) -> Tried:
        """Run a command `count` times (2 unless given), or `variants`, lines of shell by name, each in a sandbox.

        All start from `resource`, else the project folder, or from `start`, a checkpoint such as `tune@3`. `check` is a
        line of shell that says whether a variant passes; what it writes is dropped. The first variant that cannot be
        run keeps others from starting, unless with `keep_going`. `timeout` is in seconds. `pick_variant` chooses one.
        """
        from mulligan.api.trials.variant_words import TryWords, try_variants

        wanted = TryWords(
            words=words,
            count=count,
            variants=variants or {},
            check=check,
            start=start,
            keep_going=keep_going,
            timeout=timeout,
            name=name,
        )
        where = resource or self._services.adapters.default_resource
        return try_variants(self._services, wanted, where, folder, self._observer)

    def folder_in(self, checkpoint: str, folder: Path) -> str:
        """Return a folder as a command of a try from that checkpoint names it: relative to the first resource."""
        from mulligan.api.trials.variant_words import origin_of
        from mulligan.api.word_references import folder_inside

        plan_id, _ = origin_of(self._services, checkpoint)
        return folder_inside(self._services, plan_id, folder)

    def variants(self, plan: str | None = None) -> Tried:
        """Return a try with its variants as they are now; of the newest try unless named."""
        from mulligan.api.trials.variant_words import outcome

        services = self._services
        plan_id = services.variants.newest_try() if plan is None else services.queries.plan_id(plan)
        return outcome(services, plan_id)

    def variant(self, word: str, *, plan: str | None = None) -> tuple[Tried, Variant]:
        """Return a variant, which is named as in `pick_variant`, with its try."""
        from mulligan.api.trials.variant_words import find_variant, outcome

        services = self._services
        plan_id, found = find_variant(services, word, plan)
        return outcome(services, plan_id), found

    def tried(self, plan: str, execution: Execution) -> Tried | None:
        """Return what an execution, such as a resume, made of a try; None: the plan is not one, or stopped before."""
        from mulligan.api.trials.variant_words import outcome
        from mulligan.errors import QuestionOpen

        services = self._services
        plan_id = services.queries.plan_id(plan)
        asks = isinstance(execution.error, QuestionOpen)
        return outcome(services, plan_id, execution) if asks and services.variants.has(plan_id) else None

    def pick_variant(self, variant: str, *, plan: str | None = None, rationale: str | None = None) -> Tried:
        """Take over the result of a variant, to be applied; another one may be picked later.

        The variant is a name or number in that try, the newest one unless named, or the handle of a variant.
        """
        from mulligan.api.trials.variant_words import outcome, pick

        plan_id, execution = pick(self._services, variant, plan, rationale, self._observer)
        return outcome(self._services, plan_id, execution)

    def diff_of_variants(
        self,
        old: str,
        new: str,
        *,
        plan: str | None = None,
        binary: bool = False,
        hidden: bool = False,
        paths: Sequence[str] = (),
        folder: Path | None = None,
    ) -> Diff:
        """Compare the results of two variants, which are named as in `pick_variant`; `paths` are as in `diff`."""
        from mulligan.api.trials.variant_words import find_variant
        from mulligan.application.queries.checkpoint_diff import DiffWish

        sides = [f"{find_variant(self._services, word, plan)[1].handle}@-1" for word in (old, new)]
        wish = DiffWish(binary=binary, hidden=hidden, paths=paths, folder=folder)
        return self._services.diffs.between(sides[0], sides[1], wish)
