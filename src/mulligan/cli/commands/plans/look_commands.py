"""The commands that look at plans in a line or a table: `plan status`, `list`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan import errors
from mulligan.cli.answers.answer import Answer
from mulligan.cli.answers.status_answer import status_answer
from mulligan.cli.commands.declaration import (
    command,
    in_state,
    newest,
    not_shown,
)
from mulligan.cli.commands.plans.plan_group import group
from mulligan.domain.plans.plan import State

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(group, "status", example="mulligan plan status --watch", codes=(0, 1, 2, 3, 130))
@click.argument("plan", default="latest", metavar="[PLAN]")
@click.option("--watch", is_flag=True, help="Show it again whenever it changes, until the plan ends.")
def status(invocation: Invocation, plan: str, watch: bool) -> Answer:
    """Show the status of a plan; the newest one unless named.

    With --watch a terminal shows it in place: steps with their running time, child plans, the newest checkpoints.
    Elsewhere each change is a line, and with json or yaml the document comes when the plan has ended. Ctrl-C leaves
    the plan alone (exit code 130); however the plan ends, the exit code is 0.
    """
    project = invocation.project()
    if watch:
        from mulligan.cli.terminal.watch_screen import watched  # here: a single look needs no screen

        return watched(invocation, project, plan)
    return status_answer(project.status(plan), None, when=invocation.when)


@command(group, "list", example="mulligan plan list --state failed")
@click.argument("checkpoint", required=False, metavar="[CHECKPOINT]")
@click.argument("stored", required=False, metavar="[PATH]")
@in_state
@click.option(
    "--waiting", is_flag=True, help="Only plans that wait for someone: with a question, or conflicts."
)
@click.option("--recursive", "-r", is_flag=True, help="Of a checkpoint: all below PATH.")
@newest
def list_plans(
    invocation: Invocation,
    checkpoint: str | None,
    stored: str | None,
    state: str | None,
    waiting: bool,
    recursive: bool,
    limit: int | None,
) -> Answer:
    """List the plans, newest first; with CHECKPOINT what it holds at PATH: names, modes, sizes.

    CHECKPOINT is a number (`tune@3`, `@3`), a label, an id, `first`, `latest`, a plan, or the number of an entry of
    `mulligan log`; PATH is relative to the current folder.
    """
    if checkpoint is not None:
        if state is not None or waiting or limit is not None:
            raise errors.UsageWrong(
                reason="--state, --waiting and --limit are for the list of plans",
                hint="leave CHECKPOINT or the option out",
            )
        from mulligan.cli.answers.paths.stored_path_answer import tree_answer_of  # here: seldom asked for

        return tree_answer_of(invocation, checkpoint, stored, recursive=recursive)
    if recursive:
        raise errors.UsageWrong(reason="--recursive is for a checkpoint", hint="name one, such as `@3`")
    plans = invocation.project().plans(State(state) if state else None, limit=limit, waiting=waiting)
    from mulligan.cli.answers.plans.plan_list_blocks import plan_blocks, waiting_blocks

    when = invocation.when
    return Answer(
        data={"plans": plans},
        blocks=waiting_blocks(plans, when)
        if waiting
        else plan_blocks(plans, when, of_state=state is not None),
        names={p.plan_id: p.handle for p in plans},
        messages=not_shown(plans.older, "plan"),
        paged=not waiting,
    )


@command(group, "log", example="mulligan plan log upgrade-api")
@click.argument("plan", default="latest", metavar="[PLAN]")
@newest
def log(invocation: Invocation, plan: str, limit: int | None) -> Answer:
    """Show what happened to a plan, in order, with its child plans; the newest one unless named.

    Records that a rollback, a correction or a failed step left behind are on a branch beside the line.
    """
    return log_of_plan(invocation, plan, limit)


def log_of_plan(invocation: Invocation, plan: str, limit: int | None) -> Answer:
    """Answer with the log of a plan."""
    project = invocation.project()
    if invocation.format.is_document:
        from mulligan.api.replies import log_reply

        events = project.log(plan, limit=limit)
        return Answer.drawn(log_reply(events, not_shown(events.older, "entry", "entries")), ())
    from mulligan.cli.answers.history_blocks import history_blocks

    history = project.history(plan, limit=limit)
    older = not_shown(history.older, "entry", "entries")
    blocks = history_blocks(history, invocation.when)
    return Answer(
        data=None, blocks=blocks, names={history.plan_id: history.handle}, messages=older, paged=True
    )
