"""Reading a call's arguments: the plan file was checked already, so a wrong one is a caller's mistake."""

from mulligan.domain.text.json_value import Json
from mulligan.errors import ToolFailed
from mulligan.ports import ToolRequest


def text(tool: str, request: ToolRequest, name: str) -> str:
    """A text that must be given."""
    value = request.args.get(name)
    if not isinstance(value, str):
        raise wrong(tool, name, "a text")
    return value


def text_map(tool: str, request: ToolRequest, name: str) -> dict[str, str]:
    """A mapping of texts; empty when it is not given."""
    value = request.args.get(name) or {}
    if not isinstance(value, dict):
        raise wrong(tool, name, "a mapping of texts")
    texts = {key: item for key, item in value.items() if isinstance(item, str)}
    if len(texts) < len(value):
        raise wrong(tool, name, "a mapping of texts")
    return texts


def text_list(tool: str, request: ToolRequest, name: str) -> list[str]:
    """A list of texts that must be given and not be empty."""
    value = request.args.get(name)
    texts = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or not texts or len(texts) < len(value):
        raise wrong(tool, name, "a list of texts")
    return texts


def mapping(tool: str, request: ToolRequest, name: str) -> dict[str, Json]:
    """A mapping of anything; empty when it is not given."""
    value = request.args.get(name) or {}
    if not isinstance(value, dict):
        raise wrong(tool, name, "a mapping")
    return value


def file_mode(tool: str, request: ToolRequest, name: str) -> int | None:
    """A file mode: octal digits as text, or the number that YAML made of them."""
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
    """The error for an argument that cannot be used."""
    return ToolFailed(tool=tool, reason=f"{name}: {wanted} is needed", argument=name)
