"""The answer of `accept` for people: the plan as it is taken, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.cli.answers.answer import Line
from mulligan.domain.plans.plan import Phase
from mulligan.domain.resources.resource import Strategy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.api.project import Project
    from mulligan.api.results import Acceptance, PlanStatus
    from mulligan.cli.invocation import Invocation


def acceptance_blocks(status: PlanStatus, accepted: Acceptance) -> Sequence[Line]:
    """Describe a plan that was accepted."""
    handle, taken = status.handle, status.execution.files_modified
    number = f" (@{accepted.number})" if accepted.number is not None else ""
    was = "is" if accepted.at is None else f"was at @{accepted.at}"
    blocks = [Line(f"{handle} is complete as it {was}{number}", title=True)]
    if accepted.taken:
        blocks.append(Line(f"with what this left: {', '.join(accepted.taken)}"))
    if accepted.not_run:
        blocks.append(Line(f"without: {', '.join(accepted.not_run)}"))
    if not taken:
        kept = f"; `mulligan checkpoint list {handle}` shows what other checkpoints hold"
        blocks.append(Line(f"nothing differs from what it began with{kept}"))
    elif status.phase is Phase.EXECUTE:
        blocks.append(Line(f"apply it:  mulligan apply {handle}"))
    return blocks


def ask_in_place(invocation: Invocation, project: Project, plan: str, checkpoint: str) -> None:
    """Show what going to a checkpoint changes in real files, and ask; a plan in sandboxes changes none."""
    from mulligan.cli.answers.rollback_answer import rollback_answer

    if all(sandbox.strategy is not Strategy.IN_PLACE for sandbox in project.status(plan).sandboxes):
        return
    invocation.show(rollback_answer(project.rollback(plan, checkpoint, dry_run=True)))
    otherwise = "look at it with `mulligan rollback --dry-run`, then repeat the command with --yes"
    invocation.confirm("Accept it as it was there?", otherwise)
