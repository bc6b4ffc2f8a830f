"""JSON values, and the one canonical way to write them."""

import json
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]


def canonical_json(value: Json) -> str:
    """Write the value so that equal values give equal text on any machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
