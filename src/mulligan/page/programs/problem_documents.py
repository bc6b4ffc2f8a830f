"""Errors over HTTP: problem documents (RFC 9457) with the kind, the facts and the next steps of the error as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mulligan.api.document import encode, text_with_times
from mulligan.api.operations.command_words import command_line, in_commands

if TYPE_CHECKING:
    from mulligan.domain.text.json_value import Json, JsonObject
    from mulligan.errors import MulliganError, NextStep

PROBLEM_TYPE = "application/problem+json"


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


def _step(step: NextStep) -> Json:
    facts = {name: None if value is ... else encode(value) for name, value in step.facts.items()}
    return {"operation": step.verb, "arguments": facts, "command": encode(command_line(step))}
