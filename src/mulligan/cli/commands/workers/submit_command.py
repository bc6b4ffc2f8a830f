"""The command `plan submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line
from mulligan.cli.commands.declaration import command
from mulligan.cli.commands.plans.plan_group import group
from mulligan.domain.queues.submission import DEFAULT_QUEUE

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation


@command(group, "submit", example="mulligan plan submit upgrade.yaml --queue builds")
@click.argument("plan_or_file", metavar="FILE|PLAN")
@click.option(
    "--queue",
    "-q",
    metavar="Q",
    default=DEFAULT_QUEUE,
    show_default=True,
    help="The queue; `host:NAME` is that of one host.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    help="Start again from the first checkpoint, N times, where a step fails.",
)
def submit(invocation: Invocation, plan_or_file: str, queue: str, retries: int) -> Answer:
    """Hand the plan in FILE, or a recorded one, to a queue of a shared project, for any worker to run.

    The plan and its place in the queue are recorded together. `mulligan worker` starts a worker; `mulligan cancel`
    ends a plan wherever it runs.
    """
    project = invocation.project()
    done = invocation.trusting(project, lambda: project.submit(plan_or_file, queue=queue, retries=retries))
    status = project.status(done.plan_id)
    data = {
        "plan_id": done.plan_id,
        "handle": status.handle,
        "queue": done.queue,
        "number": done.number,
        "retries": done.retries,
        "submitted_at": done.submitted_at,
    }
    lines = [
        Line(f"{status.handle}: waits in queue {done.queue}", title=True),
        Line(f"next: `mulligan status {status.handle}` shows its steps"),
    ]
    return Answer(data=data, blocks=lines)
