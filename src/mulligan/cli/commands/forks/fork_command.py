"""The command `plan fork`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.commands.declaration import command
from mulligan.cli.commands.plans.plan_group import group
from mulligan.domain.plans.handle import group_reference

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(group, "fork", example="mulligan plan fork upgrade-api@2 --name other")
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.argument("checkpoint", required=False, metavar="[CP]")
@click.option("--name", metavar="N", help="The name of the fork; that of the plan unless given.")
def fork(invocation: Invocation, plan: str, checkpoint: str | None, name: str | None) -> Answer:
    """Make a plan that starts from a checkpoint of PLAN: its files, decisions, and the steps that are left to run.

    `tune@3` names plan and checkpoint in one word; without a checkpoint the fork starts where a resume of the plan
    would go on. PLAN may be running, and is left alone; it is the newest one unless named. A fork always works in
    sandboxes of its own, and applying it merges against what the real files were when PLAN began; against the
    checkpoint, where PLAN was applied or works in place, since the real files have the rest already.
    """
    reference = group_reference(plan) if checkpoint is None else None
    if reference is not None:
        plan, checkpoint = reference.plan or "latest", plan
    return status_answer(
        invocation.project().fork(plan, at=checkpoint, name=name), None, when=invocation.when
    )
