"""The answer of forgetting plans for people: what goes with each, and what that takes away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Answer, Line
from mulligan.domain.text.plural import counted

if TYPE_CHECKING:
    from mulligan.api.results import PlanRemoval, RemovedPlan


def removal_answer(removal: PlanRemoval) -> Answer:
    """Answer with what was forgotten, or would be."""
    lines = [line for plan in removal.removed for line in _lines(plan, dry_run=removal.dry_run)]
    if removal.bytes_freed is not None:
        lines.append(Line(f"{counted(removal.bytes_freed, 'byte')} freed in the store"))
    return Answer(data=removal, blocks=lines, messages=removal.messages)


def _lines(plan: RemovedPlan, *, dry_run: bool) -> list[Line]:
    verb = "would be forgotten" if dry_run else "is forgotten"
    parts = [
        counted(plan.checkpoints, "checkpoint"),
        *([counted(len(plan.sandboxes), "sandbox", "sandboxes")] if plan.sandboxes else ()),
        *([counted(plan.child_plans, "child plan")] if plan.child_plans else ()),
    ]
    lines = [Line(f"plan {plan.handle} {verb}, with {', '.join(parts)}", title=True)]
    if not dry_run:
        return lines
    if plan.unapplied:
        lines.append(Line("  its result was not applied, and would be lost"))
    if plan.can_be_taken_back:
        lines.append(Line("  what it applied would stay; `mulligan unapply` could no longer take it back"))
    return lines
