"""The command `log`: the timeline of a folder, or what happened to a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan import errors
from mulligan.cli.commands.declaration import command, newest

if TYPE_CHECKING:
    from mulligan.cli.answers.answer import Answer
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")

_SHORT = 20  # entries


@command(group, "log", example="mulligan log")
@click.argument("plan", required=False, metavar="[PLAN|NUMBER]")
@newest
@click.option(
    "--all", "everything", is_flag=True, help="Show all entries of the timeline, not the newest 20."
)
def log(invocation: Invocation, plan: str | None, limit: int | None, everything: bool) -> Answer:
    """Show what was done in this folder, newest first: its timeline. With PLAN: what happened to that plan.

    With the NUMBER of a prompt: the calls of the agent that answered it, with the names that `undo --only` accepts.

    The timeline has an entry for each run, step, apply, unapply and restore of paths, over all plans, with a
    number that `undo`, `diff` and `restore` accept. What was undone is marked.
    """
    if plan is not None:
        from mulligan.cli.commands.plans.look_commands import log_of_plan  # here: it has commands of its own

        number = invocation.project().entry_number(plan)
        if number is not None and not (everything or limit):
            from mulligan.cli.answers.entry_answer import calls_answer

            project = invocation.project()
            return calls_answer(project.entry(number), project.calls(number), invocation.when)
        if everything:
            raise errors.UsageWrong(
                reason="--all is for the timeline: a plan is named", hint="leave one of them out"
            )
        return log_of_plan(invocation, plan, limit)
    from mulligan.cli.answers.entry_answer import timeline_answer

    shown = None if everything else limit or _SHORT
    project = invocation.project()
    return timeline_answer(project.timeline(limit=shown), project.cut_off_changes(), invocation.when)
