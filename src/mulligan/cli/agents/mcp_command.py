"""The command `mcp`, which agents start: tools over stdin and stdout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mulligan.cli.answers.answer import Answer
from mulligan.cli.commands.declaration import command
from mulligan.errors import UsageWrong

if TYPE_CHECKING:
    from mulligan.cli.invocation import Invocation

group = click.Group("mulligan")


@command(group, "mcp", example="mulligan mcp --help", codes=(0, 2, 3, 130))
def mcp(invocation: Invocation) -> Answer:
    """Offer checkpoints as tools to an agent, over stdin and stdout in the Model Context Protocol.

    Agents start this command; `mulligan agent install` writes it into their configuration. The tools work in the
    project of the folder that the agent names, else of the current one. It needs the extra mulligan[mcp].
    """
    from mulligan.api.operations.extras import require_extra

    require_extra("mcp", "`mulligan mcp`")
    if invocation.format_option is not None:
        raise UsageWrong(
            reason="stdout is for the protocol: there is no answer to format", hint="leave out --format"
        )
    from mulligan.api.operations.command_words import command_line
    from mulligan.cli.main import VERSION
    from mulligan.mcp_server.stdio_service import serve
    from mulligan.mcp_server.tool_words import ToolWords
    from mulligan.mcp_server.tool_work import Client

    if sys.stdin.isatty():
        sys.stderr.write("agents start this command, and speak to it over stdin; Ctrl-D ends it\n")
        sys.stderr.flush()
    client = Client(
        around=invocation.around,
        project=invocation.project_option,
        words=ToolWords(command_line),
        complain=sys.stderr.write,
    )
    serve(client, VERSION)
    return Answer(data=None, blocks=[], aside=True)
