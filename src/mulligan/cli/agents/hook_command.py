"""The command `hook`, which coding agents call: a payload comes in, and an answer in the agent's protocol goes out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer, Format, Output
from mulligan.cli.commands.declaration import command
from mulligan.domain.agents.agent_table import AGENTS
from mulligan.errors import MulliganError

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "hook", example="mulligan hook claude-code SessionStart", codes=(0, 1, 2))
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.argument("event", required=False)
@click.option("--strict", is_flag=True, help="Block the agent where the event cannot be recorded.")
@click.option(
    "--everywhere", "in_checkouts", is_flag=True, help="Make a project where a git checkout has none."
)
def hook(invocation: Invocation, agent: str, event: str | None, strict: bool, in_checkouts: bool) -> Answer:
    """Record an event of a coding agent: its hooks call this, with their payload on stdin.

    EVENT is the agent's name for it, where the payload does not have it. The answer on stdout is for the agent. A
    failure never blocks the agent, unless --strict: the exit code is 0, and the user gets a message once per session.
    Code 2 asks the agent not to go on.
    """
    from mulligan.api.agents.agent_hook import HookCall, answer_hook

    if invocation.format_option is None:
        invocation.format_option = Format.PLAIN.value  # whatever is set for people: the agent reads this
    call = HookCall(agent=AGENTS[agent], event=event, strict=strict, everywhere=in_checkouts)
    try:
        around = invocation.around
    except MulliganError as exc:  # the folder is gone: nothing of it can be recorded, and the agent goes on
        return _unheard(exc, strict=strict)
    reply = answer_hook(around, call, sys.stdin.buffer)
    return Answer(
        data={"stdout": reply.stdout.decode(), "stderr": reply.stderr.decode()},
        blocks=[Output(stdout=reply.stdout, stderr=reply.stderr)],
        exit_code=reply.exit_code,
    )


def _unheard(exc: MulliganError, *, strict: bool) -> Answer:
    said = f"{exc.text}\n".encode()
    return Answer(
        data={"stdout": "", "stderr": said.decode()},
        blocks=[Output(stdout=b"", stderr=said)],
        exit_code=2 if strict else 0,
    )
