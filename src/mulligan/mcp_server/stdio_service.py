"""The protocol, with the official SDK: tools over stdin and stdout, until the client closes them."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from mulligan.errors import Interrupted
from mulligan.mcp_server.protocol_calls import ToolCalls
from mulligan.mcp_server.tool_table import INSTRUCTIONS

if TYPE_CHECKING:
    from mulligan.mcp_server.tool_work import Client


def serve(client: Client, version: str) -> None:
    """Answer one client. While it is served nothing else reaches stdout: what is printed goes to stderr."""
    anyio.run(_serve, client, version)


async def _serve(client: Client, version: str) -> None:
    calls = ToolCalls(client)
    server = server_of(calls, version)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_end_at_signal, calls)
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
            group.cancel_scope.cancel()
    except* OSError:
        pass  # the client is gone, and nobody is left to answer


def server_of(calls: ToolCalls, version: str) -> Server[Any]:
    """Return the server of a client, before it has a way to speak."""

    async def forget_folder(_context: object, _params: types.NotificationParams) -> None:
        calls.forget_folder()

    server: Server[Any] = Server(
        "mulligan",
        version=version,
        title="mulligan",
        instructions=INSTRUCTIONS,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call,
    )
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, forget_folder
    )
    return server


async def _end_at_signal(calls: ToolCalls) -> None:
    """End the work, then the process: a thread that waits for stdin cannot be ended otherwise."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            await calls.end_all()
            os._exit(Interrupted.exit_code)
