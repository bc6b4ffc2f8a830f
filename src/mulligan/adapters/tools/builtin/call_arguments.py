"""Reading a call's arguments: the plan file was checked already, so a wrong one is a caller's mistake."""

from typing import Any, TypeVar

from msgspec import ValidationError, convert

from mulligan.errors import ToolFailed
from mulligan.ports import ToolRequest

_Type = TypeVar("_Type")


def text(tool: str, request: ToolRequest, name: str) -> str:
    """Return a text that must be given."""
    return _checked(tool, name, request.args.get(name), str, "a text")


def text_map(tool: str, request: ToolRequest, name: str) -> dict[str, str]:
    """Return a mapping of texts; empty when it is not given."""
    return _checked(tool, name, request.args.get(name) or {}, dict[str, str], "a mapping of texts")


def text_list(tool: str, request: ToolRequest, name: str) -> list[str]:
    """Return a list of texts that must be given and not be empty."""
    return _checked(tool, name, request.args.get(name) or None, list[str], "a list of texts")


def mapping(tool: str, request: ToolRequest, name: str) -> dict[str, Any]:
    """Return a mapping of anything; empty when it is not given."""
    return _checked(tool, name, request.args.get(name) or {}, dict[str, Any], "a mapping")


def _checked(tool: str, name: str, value: object, type: type[_Type], wanted: str) -> _Type:
    try:
        return convert(value, type)
    except ValidationError:
        raise wrong(tool, name, wanted) from None


def file_mode(tool: str, request: ToolRequest, name: str) -> int | None:
    """Return a file mode: octal digits as text, or the number that YAML made of them."""
    value = request.args.get(name)
    if value is None:
        return None
    try:
        mode = int(value, 8) if isinstance(value, str) else value
    except ValueError:
        mode = None
    # A number above 0777 is most likely 644 written without its leading zero, which means something else.
    highest = 0o7777 if isinstance(value, str) else 0o777
    if not isinstance(mode, int) or isinstance(mode, bool) or not 0 <= mode <= highest:
        raise wrong(tool, name, "a file mode in octal, such as '0644'")
    return mode


def wrong(tool: str, name: str, wanted: str) -> ToolFailed:
    """Return the error for an argument that cannot be used."""
    return ToolFailed(tool=tool, reason=f"{name}: {wanted} is needed", argument=name)
