"""Errors over HTTP: problem documents (RFC 9457) with the kind, the facts and the next steps of the error as data."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import json
from starlette.responses import PlainTextResponse, Response

from mulligan.api.document import encode, text_with_times
from mulligan.api.operations.command_words import command_line, in_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mulligan.domain.text.json_value import Json, JsonObject
    from mulligan.errors import MulliganError, NextStep

PROBLEM_TYPE = "application/problem+json"
_REFUSED = "request_refused"  # the kind of what is refused before any operation is asked
_EXIT_CODE = 3  # of refusals


def problem_document(error: MulliganError) -> JsonObject:
    """Return an error as a problem document."""
    return {
        "type": f"urn:mulligan:error:{error.kind}",
        "title": error.kind.replace("_", " "),
        "status": error.http_status,
        "detail": encode(text_with_times(error, lambda moment: str(encode(moment)))),
        "kind": error.kind,
        "exit_code": error.exit_code,
        "facts": {name: encode(value) for name, value in error.facts.items()},
        "hint": encode(error.next_step, in_commands),
        "next_steps": [_step(step) for step in error.next_step.steps],
    }


def refusal_document(status: int, reason: str) -> JsonObject:
    """Return the refusal of a request, which no operation has seen, as a problem document."""
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": reason,
        "kind": _REFUSED,
        "exit_code": _EXIT_CODE,
        "facts": {},
        "hint": "",
        "next_steps": [],
    }


def refusal(path: str, status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the refusal of a request: programs get a problem document, browsers a sentence."""
    if is_for_programs(path):
        content = json.encode(refusal_document(status, reason))
        return Response(content, status, headers, PROBLEM_TYPE)
    return PlainTextResponse(f"{reason}\n", status, headers)


def is_for_programs(path: str) -> bool:
    """Return whether an address belongs to the HTTP API."""
    return path == "/api" or path.startswith("/api/")


def _step(step: NextStep) -> Json:
    facts = {name: None if value is ... else encode(value) for name, value in step.facts.items()}
    return {"operation": step.verb, "arguments": facts, "command": encode(command_line(step))}
