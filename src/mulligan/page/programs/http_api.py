"""The HTTP API: the operations of the page for programs, with JSON in and out."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

from msgspec import DecodeError, ValidationError, convert, json
from starlette.responses import Response
from starlette.routing import Route

from mulligan.api.document import Reply, document, encode
from mulligan.api.operations.command_words import command_line, in_commands
from mulligan.errors import UsageWrong
from mulligan.page.acts.act_table import ACTS
from mulligan.page.programs.look_table import LOOKS
from mulligan.page.programs.openapi_document import openapi_document
from mulligan.page.programs.problem_documents import PROBLEM_TYPE, problem_document
from mulligan.page.request_guard import ACT_COOKIE, ACT_HEADER, ACT_TOKEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from mulligan.domain.text.json_value import JsonObject
    from mulligan.errors import MulliganError
    from mulligan.page.acts.act_jobs import ActJobs
    from mulligan.page.acts.act_outcomes import ActOutcome
    from mulligan.page.acts.act_table import Act
    from mulligan.page.project_desk import ProjectDesk


class HttpApi:
    """The addresses below `/api`."""

    def __init__(self, desk: ProjectDesk, jobs: ActJobs, version: str) -> None:
        self._desk, self._jobs, self._version = desk, jobs, version

    def routes(self) -> list[Route]:
        """Return all of them."""
        return [
            Route("/api/openapi.json", self._described, methods=["GET"]),
            Route("/api/session", self._session, methods=["GET"]),
            Route("/api/{name}", self._looked, methods=["GET"]),
            Route("/api/acts/{name}", self._acted, methods=["POST"]),
        ]

    def problem(self, error: MulliganError) -> Response:
        """Return an error."""
        return Response(json.encode(problem_document(error)), error.http_status, media_type=PROBLEM_TYPE)

    async def _described(self, request: Request) -> Response:
        cookie = cast("str", request.scope[ACT_COOKIE])
        made = await asyncio.to_thread(openapi_document, self._version, cookie)
        return Response(json.encode(made), media_type="application/json")

    async def _session(self, request: Request) -> Response:
        """Return what the acts of a program with a cookie have to bring along."""
        facts = {"header": ACT_HEADER, "token": cast("str", request.scope[ACT_TOKEN])}
        return Response(json.encode(facts), media_type="application/json")

    async def _looked(self, request: Request) -> Response:
        look = LOOKS.get(str(request.path_params["name"]))
        if look is None:
            raise UsageWrong(reason="there is no such look", hint="/api/openapi.json lists them")
        try:
            wanted = convert(dict(request.query_params), look.parameters, strict=False)
        except ValidationError as exc:
            raise UsageWrong(
                reason=f"{look.name}: {exc}", hint="/api/openapi.json has its parameters"
            ) from exc
        started, clock = datetime.now(UTC), time.monotonic()
        reply = await self._desk.look(lambda project: look.look(project, wanted))
        return self._answered(reply, look.name, started, clock)

    async def _acted(self, request: Request) -> Response:
        act = ACTS.get(str(request.path_params["name"]))
        if act is None:
            raise UsageWrong(reason="there is no such act", hint="/api/openapi.json lists them")
        try:
            given = json.decode(await request.body() or b"{}", type=dict[str, object])
            dry_run = convert(given.pop("dry_run", False), bool)
            wish = convert(given, act.arguments)
        except DecodeError as exc:
            raise UsageWrong(reason=f"{act.name}: {exc}", hint="/api/openapi.json has its body") from exc
        started, clock = datetime.now(UTC), time.monotonic()
        if dry_run:
            outcome = await self._desk.look(lambda project: act.perform(project, wish, dry_run=True))
        else:
            job = self._jobs.start(act, wish)
            await job.ended()
            if job.outcome is None:
                assert job.error is not None
                raise job.error
            outcome = job.outcome
        data = _data(act, outcome, command_line(act.command(wish)))
        reply = Reply(
            data=data, messages=outcome.reply.messages, error=outcome.reply.error, warn=outcome.reply.warn
        )
        return self._answered(reply, act.name, started, clock)

    def _answered(self, reply: Reply, command: str, started: datetime, clock: float) -> Response:
        took = timedelta(seconds=time.monotonic() - clock)
        made: JsonObject = document(reply, command, started, took, in_commands)
        if reply.error is None:
            return Response(json.encode(made), media_type="application/json")
        problem: Mapping[str, object] = {**problem_document(reply.error), "data": made["data"]}
        return Response(json.encode(problem), reply.error.http_status, media_type=PROBLEM_TYPE)


def _data(act: Act, outcome: ActOutcome, command: str) -> Mapping[str, object]:
    return {
        "act": act.name,
        "says": outcome.says,
        "touches": encode(outcome.touches),
        "command": command,
        "result": outcome.reply.data,
    }
