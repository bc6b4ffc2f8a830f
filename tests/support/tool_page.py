"""The tools of `mulligan mcp` as `reference/mcp.md` has them, from the types that clients see schemas of."""

import json
from typing import Any

from mulligan.mcp_server.tool_table import TOOLS, Tool, schema_of


def the_tools() -> str:
    """Each tool with its hints, its arguments and the shape of its result."""
    return "\n".join(map(_section, TOOLS.values()))


def _section(tool: Tool) -> str:
    hints = {
        "only looks": tool.read_only,
        "asks the user": tool.ask is not None,
        "destructive": tool.destructive,
        "the same again changes nothing": tool.idempotent,
        "reaches other machines": tool.open_world,
    }
    schema = schema_of(tool.arguments)
    rows = "".join(
        _row(name, of, needed=name in schema.get("required", ())) for name, of in schema["properties"].items()
    )
    parts = [
        f"### {tool.name}",
        tool.description,
        "It "
        + ", ".join(hint for hint, on in hints.items() if on).replace("destructive", "is destructive")
        + ".",
        f"| argument | type | |\n|---|---|---|\n{rows}".rstrip(),
        "Its result:",
        f"```text\n{json.dumps(_shape(schema_of(tool.result)), indent=2)}\n```",
    ]
    return "\n\n".join(part for part in parts if part != "It .") + "\n"


def _row(name: str, of: dict[str, Any], *, needed: bool) -> str:
    default = (
        "required" if needed else "" if "default" not in of else f"default `{json.dumps(of['default'])}`"
    )
    about = ". ".join(filter(None, (of.get("description", "").rstrip("."), default)))
    return f"| `{name}` | {_kind(of)} | {about} |\n"


def _kind(of: dict[str, Any]) -> str:
    words = {
        "string": "text",
        "integer": "number",
        "number": "number",
        "boolean": "true or false",
        "array": "list of texts",
        "object": "texts by name",
    }
    limits = {
        "minimum": "from",
        "exclusiveMinimum": "above",
        "maximum": "to",
        "minItems": "at least",
        "maxItems": "at most",
        "maxProperties": "at most",
    }
    said = [f"{word} {of[name]}" for name, word in limits.items() if name in of]
    return " ".join([words[of["type"]], *([f"({', '.join(said)})"] if said else [])])


def _shape(of: dict[str, Any]) -> Any:
    """A value of this type, with the names of types in the place of values."""
    if "anyOf" in of:
        return " or ".join(str(_shape(each)) for each in of["anyOf"])
    match of["type"]:
        case "object":
            return {name: _shape(each) for name, each in of["properties"].items()}
        case "array":
            return [_shape(of["items"])]
        case kind:
            return {"string": "text", "integer": "number", "boolean": "true or false"}.get(kind, kind)
