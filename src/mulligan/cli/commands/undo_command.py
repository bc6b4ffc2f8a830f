"""The command `undo`: one step back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.rollback_answer import rollback_answer
from mulligan.cli.commands.declaration import command
from mulligan.cli.trust_question import trusting

if TYPE_CHECKING:
    from mulligan.cli.answers.answer import Answer
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "undo", example="mulligan undo --yes", codes=(0, 1, 2, 3, 130))
@click.argument("plan", default="latest", metavar="[PLAN_ID]")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def undo(invocation: Invocation, plan: str, yes: bool) -> Answer:
    """Roll a plan back to the state before its last completed step; the newest plan unless named.

    A step that failed or was cut off, and whose changes are still there, goes first. Again: one step further back. The
    current state is kept in a pre_rollback checkpoint. A plan that was applied is taken back with `plan unapply`.
    """
    project = invocation.project()
    preview = project.undo(plan, dry_run=True)
    plan_id, checkpoint = preview.plan_id, preview.rollback_summary.checkpoint
    if not yes:
        invocation.show(rollback_answer(preview))
        look = f"`mulligan plan rollback --dry-run {plan_id} {checkpoint}` shows what it would do"
        invocation.confirm("Undo?", otherwise=f"{look}; repeat the command with --yes")
    # What was shown is what is done, whatever happened to the plan meanwhile.
    done = rollback_answer(trusting(invocation, project, lambda: project.rollback(plan_id, checkpoint)))
    return done if yes else done.without_tables()
