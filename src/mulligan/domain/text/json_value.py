"""JSON values, and how they are read and written; the module `json` is loaded for what is seldom in them."""

from typing import Any, TypeAlias, cast

from msgspec import MsgspecError
from msgspec.json import decode, encode, format

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]

_DELETE = "\x7f"  # which `json` spells, although it is ASCII
_SHORT = 2**63  # integers below are written the same everywhere


def canonical_json(value: Json) -> str:
    """Write the value so that equal values give equal text on any machine."""
    import json

    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_json(text: str | bytes) -> Any:
    """Read a value exactly as `json.loads` does."""
    try:
        return decode(text)
    except (MsgspecError, UnicodeError):  # half characters, NaN, numbers without bounds, and what is not JSON
        import json

        return json.loads(text)


def indented_json(value: Json) -> str:
    """Write the value in lines and in ASCII, exactly as `json.dumps` does."""
    if _is_plain(value):
        return format(encode(value), indent=2).decode()
    import json

    return json.dumps(value, indent=2)


def _is_plain(value: Json) -> bool:
    """Return whether there is one way to write a value: no floats, and text that needs no spelling."""
    if isinstance(value, str):
        return value.isascii() and _DELETE not in value
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or (isinstance(value, int) and -_SHORT <= cast("int", value) < _SHORT)
