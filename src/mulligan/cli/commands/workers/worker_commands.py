"""The command `worker`, and those on all workers: `list`, `limit`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Line, Table
from mulligan.cli.commands.command_groups import SuggestingGroup
from mulligan.cli.commands.declaration import closing_words, command, everywhere, pass_invocation
from mulligan.domain.queues.submission import DEFAULT_QUEUE
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mulligan.cli.invocation import Invocation

_CODES = (0, 1, 2, 3)


@everywhere
@click.group(
    cls=SuggestingGroup,
    name="worker",
    invoke_without_command=True,
    epilog=closing_words(["mulligan worker --queue builds --slots 2"], _CODES),
)
@click.option(
    "--queue",
    "-q",
    "queues",
    metavar="Q",
    multiple=True,
    help=f"A queue to take plans from; may be given several times; {DEFAULT_QUEUE} unless given.",
)
@click.option(
    "--slots",
    type=click.IntRange(min=1, max=64),
    metavar="N",
    help="Plans of a queue at once, here and on its other workers; what the queue has unless given, at first 4.",
)
@click.pass_context
@pass_invocation
def group(
    invocation: Invocation, context: click.Context, queues: Sequence[str], slots: int | None
) -> Answer | None:
    """Run plans that `mulligan plan submit` handed to a queue, until SIGTERM or Ctrl-C.

    A shared project has any number of workers; each takes plans of its queues and of `host:NAME`, its host's own. Plans
    of a worker that died go on in another one. A worker that is asked to stop lets each plan finish its step and hands
    it back; asked twice it cuts the steps off. Asked for JSON, it prints one line per event, and a last document.
    """
    if context.invoked_subcommand is not None:
        if queues or slots:
            raise UsageWrong(
                reason=f"the options before {context.invoked_subcommand!r} are those of a new worker",
                hint="leave them out",
            )
        return None
    from mulligan.cli.commands.workers.worker_lines import WorkerLines

    project = invocation.project()
    log = WorkerLines(
        document=invocation.format.is_document, host=project.host_name, spans=project.worker_spans()
    )
    worker = project.worker(queues=queues or (DEFAULT_QUEUE,), slots=slots, log=log)

    def stop(_signal: int, _frame: object) -> None:
        worker.stop()

    earlier = {number: signal.signal(number, stop) for number in _STOPPING}
    try:
        worker.work()
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
        log.close()
    return Answer(data={"worker": worker.line.worker, "plans": log.runs}, blocks=[])


_STOPPING = (signal.SIGTERM, signal.SIGINT)


@command(group, "list", example="mulligan worker list")
def list_workers(invocation: Invocation) -> Answer:
    """List the workers of the project, with the plans that each works on."""
    project = invocation.project()
    found = project.workers()
    handles = project.handles([plan for each in found for plan in each.plans])
    rows = [
        (
            f"{each.host}:{each.pid}",
            "stopping" if each.stopping and each.alive else "working" if each.alive else "gone",
            ", ".join(each.queues),
            str(each.slots),
            ", ".join(handles.get(plan, plan) for plan in each.plans),
        )
        for each in found
    ]
    table = Table(("WORKER", "STATE", "QUEUES", "SLOTS", "PLANS"), tuple(rows))
    blocks = [table] if rows else [Line("no worker: `mulligan worker` starts one")]
    return Answer(data={"workers": found}, blocks=blocks)


@command(group, "limit", example="mulligan worker limit builds 3")
@click.argument("queue", metavar="QUEUE")
@click.argument("plans", metavar="N|none")
def limit(invocation: Invocation, queue: str, plans: str) -> Answer:
    """Let at most N plans of QUEUE run at once on all workers together; `none` lifts the limit.

    Workers follow within two seconds.
    """
    if not (plans == "none" or (plans.isdecimal() and int(plans) > 0)):
        raise UsageWrong(reason=f"{plans!r} is neither a number of plans nor `none`", hint="name a number")
    size = invocation.project().limit_queue(queue, None if plans == "none" else int(plans))
    said = f"at most {size.plans} at once" if size.plans is not None else "no limit"
    return Answer(
        data={"queue": queue, "slots": size.slots, "plans": size.plans}, blocks=[Line(f"{queue}: {said}")]
    )
