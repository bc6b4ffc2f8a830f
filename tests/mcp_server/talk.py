"""A client of the tools, as agents have one: the SDK's own, with a server in this process."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp import Client as SdkClient
from msgspec.structs import replace

from mulligan.api.entrance import look_around
from mulligan.api.operations.command_words import command_line
from mulligan.mcp_server.protocol_calls import ERROR, ToolCalls
from mulligan.mcp_server.stdio_service import server_of
from mulligan.mcp_server.tool_words import ToolWords
from mulligan.mcp_server.tool_work import Client

MODERN, LEGACY = "2026-07-28", "legacy"
ERAS = (MODERN, LEGACY)
_Result = TypeVar("_Result")


class Talk:
    """A conversation with the tools; `answers` are given to their questions, one after the other."""

    def __init__(self, client: SdkClient, questions: list[str]) -> None:
        self.client = client
        self.questions = questions

    async def call(self, tool: str, **arguments: object) -> Any:
        """Call a tool that should succeed; gives its structured result."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert json.loads(text_of(result)) == result.structured_content
        return result.structured_content

    async def refused(self, tool: str, **arguments: object) -> Any:
        """Call a tool that should be refused; gives the error."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        assert result.meta is not None
        error: dict[str, Any] = result.meta[ERROR]
        assert text_of(result) == f"{error['kind']}: {error['message']}\nnext step: {error['next_step']}"
        return error


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


def talk(
    folder: Path,
    body: Callable[[Talk], Awaitable[_Result]],
    *,
    answers: Callable[[int], str] | None = lambda _: "accept",
    era: str = MODERN,
    roots: Callable[[], Path] | None = None,
    project: str | None = None,
    complaints: list[str] | None = None,
) -> _Result:
    """Talk to a server that was started in a folder; without `answers` the client cannot ask its user."""
    questions: list[str] = []
    complaints = [] if complaints is None else complaints

    async def elicit(_context: object, params: types.ElicitRequestParams) -> types.ElicitResult:
        questions.append(params.message)
        assert answers is not None
        return types.ElicitResult.model_validate({"action": answers(len(questions))})

    async def list_roots(_context: object) -> types.ListRootsResult:
        assert roots is not None
        return types.ListRootsResult.model_validate({"roots": [{"uri": roots().as_uri()}]})

    async def main() -> _Result:
        around = replace(look_around({}), folder=folder)
        words = ToolWords(command_line)
        calls = ToolCalls(Client(around=around, project=project, words=words, complain=complaints.append))
        async with SdkClient(
            server_of(calls, "1"),
            mode=era,
            elicitation_callback=elicit if answers is not None else None,
            list_roots_callback=list_roots if roots is not None else None,
        ) as client:
            return await body(Talk(client, questions))

    assert os.environ.get("MULLIGAN_HOME")  # that of the tests
    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:  # the client's own groups hide what failed
        failed: BaseException = group
        while isinstance(failed, BaseExceptionGroup) and len(failed.exceptions) == 1:
            failed = failed.exceptions[0]
        raise failed from None
