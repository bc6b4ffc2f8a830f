"""The OpenAPI document of the HTTP API, made of the tables of looks and acts and of their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json
from msgspec.structs import fields

from mulligan.page.acts.act_table import ACTS
from mulligan.page.programs.answer_schemas import AnswerSchemas
from mulligan.page.programs.look_table import LOOKS
from mulligan.page.programs.problem_documents import PROBLEM_TYPE
from mulligan.page.request_guard import ACT_HEADER

if TYPE_CHECKING:
    from mulligan.page.acts.act_table import Act
    from mulligan.page.programs.look_table import Look

_PLACE = "#/components/schemas/{name}"
_PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "An error, as RFC 9457 has it.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "kind": {"type": "string"},
        "exit_code": {"type": "integer"},
        "facts": {"type": "object"},
        "hint": {"type": "string"},
        "next_steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "operation": {"type": "string"},
                    "arguments": {"type": "object"},
                    "command": {"type": "string"},
                },
                "required": ["operation", "arguments", "command"],
            },
        },
    },
    "required": ["type", "title", "status", "detail", "kind", "exit_code", "facts", "hint", "next_steps"],
}
_ENVELOPE: dict[str, Any] = {
    "command": {"type": "string"},
    "status": {"enum": ["ok", "warn", "error"]},
    "exit_code": {"type": "integer"},
    "timing": {"type": "object"},
    "messages": {"type": "array", "items": {"type": "string"}},
}


def openapi_document(version: str, cookie: str) -> dict[str, Any]:
    """Return the document of a page that is served to those who have that cookie."""
    answers = AnswerSchemas(_PLACE)
    paths: dict[str, Any] = {f"/api/{look.name}": {"get": _looked(look, answers)} for look in LOOKS.values()}
    arguments = [act.arguments for act in ACTS.values()]
    schemas, parts = json.schema_components(arguments, ref_template=_PLACE)
    paths |= {
        f"/api/acts/{act.name}": {"post": _acted(act, schema)}
        for act, schema in zip(ACTS.values(), schemas, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mulligan",
            "version": version,
            "description": "The operations of one project, on this machine. A GET changes nothing.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM, **answers.components, **_without_titles(parts)},
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
                "act": {"type": "apiKey", "in": "header", "name": ACT_HEADER},
            },
        },
        "security": [{"session": []}],
    }


def _looked(look: Look, answers: AnswerSchemas) -> dict[str, Any]:
    (schema,), parts = json.schema_components([look.parameters], ref_template=_PLACE)
    own = parts.pop(schema["$ref"].rpartition("/")[2])
    answers.components |= parts
    needed = own.get("required", [])
    data = answers.returned_by(look.answers)
    if look.within is not None:
        data = {"type": "object", "properties": {look.within: data}, "required": [look.within]}
    return {
        "operationId": look.name,
        "summary": look.about,
        "parameters": [
            {"name": name, "in": "query", "required": name in needed, "schema": kind}
            for name, kind in own["properties"].items()
        ],
        "responses": _responses(data),
    }


def _acted(act: Act, schema: Any) -> dict[str, Any]:
    preview = {"type": "boolean", "default": False, "description": "Only say what it would touch."}
    body = {
        "allOf": [schema, {"type": "object", "properties": {"dry_run": preview}}],
        "unevaluatedProperties": False,
    }
    touched = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("action", "where", "name")},
        "required": ["action", "where", "name"],
    }
    data = {
        "type": "object",
        "properties": {
            "act": {"const": act.name},
            "says": {"type": "string"},
            "touches": {"type": "array", "items": touched},
            "command": {"type": "string"},
            "result": {},
        },
        "required": ["act", "says", "touches", "command", "result"],
    }
    return {
        "operationId": f"act_{act.name}",
        "summary": act.about,
        "security": [{"session": [], "act": []}],
        "requestBody": {
            "required": any(field.required for field in fields(act.arguments)),
            "content": {"application/json": {"schema": body}},
        },
        "responses": _responses(data),
    }


def _responses(data: Any) -> dict[str, Any]:
    envelope = {
        "type": "object",
        "properties": {**_ENVELOPE, "data": data},
        "required": [*_ENVELOPE, "data"],
    }
    problem = {"$ref": _PLACE.format(name="Problem")}
    return {
        "200": {"description": "The answer.", "content": {"application/json": {"schema": envelope}}},
        "default": {"description": "An error.", "content": {PROBLEM_TYPE: {"schema": problem}}},
    }


def _without_titles(parts: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as bodies: `dry_run` comes beside them."""
    return {
        name: {key: value for key, value in part.items() if key not in ("title", "additionalProperties")}
        for name, part in parts.items()
    }
