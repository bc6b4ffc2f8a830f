"""Calls of tools as the protocol has them: arguments in, questions to the user, progress, and a result or an error."""

from __future__ import annotations

import itertools
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct, ValidationError, convert, json, to_builtins
from pydantic import ValidationError as AnswerInvalid

from mulligan.api.document import encode, harmless_lines
from mulligan.api.operations.foreign_errors import our_error
from mulligan.errors import (
    Advice,
    ConfirmationMissing,
    Declined,
    InternalError,
    Interrupted,
    MulliganError,
    UsageWrong,
)
from mulligan.mcp_server.call_progress import CallProgress
from mulligan.mcp_server.tool_table import TOOLS, Tool, schema_of
from mulligan.mcp_server.tool_work import Question, ToolWork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp.server.context import ServerRequestContext

    from mulligan.mcp_server.tool_work import Client

    Context = ServerRequestContext[Any, Any]

ERROR = "mulligan/error"  # in the metadata of a result: the error for programs
_AT_ONCE = 16  # calls; more wait
_PACE = 0.2  # seconds between two notifications of progress
_PATIENCE = 5.0  # seconds: for a client to list its roots
_ROUNDS = 5  # of questions, where what was agreed to changes meanwhile
_CONFIRM = "confirm"
# The user agrees by accepting: there is nothing to fill in.
_FORM: dict[str, Any] = {"type": "object", "properties": {}}


class ToolCalls:
    """The calls of one client. Each runs in a thread, so that others, and their ends, are heard meanwhile."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._placed: Client | None = None  # in the folder that it names
        self._running: set[ToolWork] = set()
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def list_tools(
        self, _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return all tools."""
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Answer one call."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {params.name!r}")
        try:
            arguments = convert(params.arguments or {}, tool.arguments)
        except ValidationError as exc:
            return self._failed(
                UsageWrong(reason=f"{tool.name}: {exc}", hint="the tool's input schema says what it takes")
            )
        try:
            return await self._answered(context, params, tool, arguments)
        except MulliganError as error:
            return self._failed(error)

    async def end_all(self) -> None:
        """Interrupt all calls, and wait for their ends."""
        while self._running:
            for work in self._running:
                work.interrupt()
            await anyio.sleep(_PACE / 10)

    async def _answered(
        self, context: Context, params: types.CallToolRequestParams, tool: Tool, arguments: Struct
    ) -> types.CallToolResult | types.InputRequiredResult:
        client = await self._in_folder(context)
        agreed, numbers = None, itertools.count(1)
        responses = params.input_responses or {}
        for _ in range(_ROUNDS):
            outcome = await self._performed(context, client, tool, arguments, agreed, numbers)
            if isinstance(outcome, MulliganError):
                raise outcome
            if not isinstance(outcome, Question):
                return _succeeded(outcome)
            if not _can_be_asked(context):
                raise ConfirmationMissing(hint=self._typed("the user can type ", outcome))
            if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
                answer = await context.session.elicit_form(outcome.text, _FORM, context.request_id)
            elif (response := responses.pop(_CONFIRM, None)) is None:
                return _asking(outcome)
            elif isinstance(response, types.ElicitResult):
                answer = response
                if answer.action == "accept" and params.request_state != outcome.seen:
                    return _asking(outcome)  # what would be done is not what the user saw
            else:
                raise MCPError(code=types.INVALID_PARAMS, message="the answer to the question is not one")
            if answer.action != "accept":
                raise Declined(hint=self._typed("the user can still type ", outcome))
            agreed = outcome.seen
        raise ConfirmationMissing(hint="what would change differs each time; try again when it is quiet")

    def _typed(self, before: str, question: Question) -> str:
        return self._client.words.commands(Advice(before, question.command))

    async def _performed(
        self,
        context: Context,
        client: Client,
        tool: Tool,
        arguments: Struct,
        agreed: str | None,
        numbers: Iterator[int],
    ) -> Struct | MulliganError:
        """Run a tool in a thread, up to a question that is not agreed to; a cancelled call ends its work first."""
        progress = CallProgress()
        work = ToolWork(client, progress)
        outcome: Struct | MulliganError = Interrupted()
        self._running.add(work)
        try:
            async with anyio.create_task_group() as group:
                beside = anyio.CancelScope()
                group.start_soon(_beside, beside, context, work, progress, numbers)
                # It is waited for even if the call is cancelled.
                outcome = await anyio.to_thread.run_sync(
                    _worked, work, tool, arguments, agreed, limiter=self._limiter
                )
                beside.cancel()
        finally:
            self._running.discard(work)
        return outcome

    async def _in_folder(self, context: Context) -> Client:
        """Return the client in the folder that it names as its root, unless the user named the project."""
        if self._placed is None:
            named = self._client.project or self._client.around.environ.get("MULLIGAN_PROJECT")
            folder = None if named else await _root(context, self._client.around.folder)
            self._placed = self._client if folder is None else self._client.within(folder)
        return self._placed

    def forget_folder(self) -> None:
        """Ask for the roots again: they changed."""
        self._placed = None

    def _failed(self, error: MulliganError) -> types.CallToolResult:
        facts = {
            **{name: encode(value) for name, value in error.facts.items()},
            "kind": error.kind,
            "message": encode(error.text),
            "next_step": encode(error.next_step, self._client.words.text),
        }
        # Plain text: some clients take a text in JSON for a result, and compare it with the schema of one.
        text = f"{facts['kind']}: {facts['message']}\nnext step: {facts['next_step']}"
        return types.CallToolResult(
            content=[types.TextContent(text=text)], is_error=True, _meta={ERROR: facts}
        )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema_of(tool.arguments),
        output_schema=schema_of(tool.result),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
    )


def _worked(work: ToolWork, tool: Tool, arguments: Struct, agreed: str | None) -> Struct | MulliganError:
    """Do the work of a call, in its thread."""

    def act() -> Struct:
        question = tool.ask(work, arguments) if tool.ask is not None else None
        if question is not None and question.seen != agreed:
            return question
        return tool.act(work, arguments)

    try:
        return work.perform(act)
    except Exception as exc:  # noqa: BLE001 - an agent gets an error from a bug too
        error = our_error(exc)
        if isinstance(error, InternalError):
            work.client.complain(harmless_lines("".join(traceback.format_exception(exc))))
        return error


async def _beside(
    scope: anyio.CancelScope,
    context: Context,
    work: ToolWork,
    progress: CallProgress,
    numbers: Iterator[int],
) -> None:
    """Notify the client of progress until the work of a call is done; a call that is cancelled interrupts it."""
    with scope:
        try:
            await _report(context, progress, numbers)
        finally:
            work.interrupt()


async def _report(context: Context, progress: CallProgress, numbers: Iterator[int]) -> None:
    """Notify the client of progress, if it asked for that; each notification has a higher number."""
    while True:
        await anyio.sleep(_PACE)
        if (text := progress.take()) is not None:
            await context.session.report_progress(next(numbers), message=text)


async def _root(context: Context, here: Path) -> Path | None:
    """Return the folder that the client works in, where that is not the current one."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.roots is None or not context.session.can_send_request:
        return None
    with anyio.move_on_after(_PATIENCE):
        try:
            listed = await context.session.send_request(types.ListRootsRequest(), types.ListRootsResult)
        except (MCPError, AnswerInvalid):
            return None
        places = [urlsplit(str(root.uri)) for root in listed.roots]
        folders = [Path(unquote(place.path)) for place in places if place.scheme == "file"]
        if any(here.is_relative_to(folder) for folder in folders):
            return None
        return next((folder for folder in folders if folder.is_absolute() and folder.is_dir()), None)
    return None


def _can_be_asked(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _asking(question: Question) -> types.InputRequiredResult:
    form = types.ElicitRequestFormParams(message=question.text, requested_schema=_FORM)
    return types.InputRequiredResult(
        input_requests={_CONFIRM: types.ElicitRequest(params=form)}, request_state=question.seen
    )


def _succeeded(result: Struct) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(json.encode(result))], structured_content=to_builtins(result))


def _text(data: bytes) -> types.TextContent:
    return types.TextContent(text=data.decode())
