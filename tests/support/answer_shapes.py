"""The tables of `json.md` as shapes that answers are held against.

A row is `| path | type | meaning |`; `steps[].name` is a field of every entry of `steps`. A type is one of the words
in `_TYPES`, with `or null` where that can be; `list of [nodes](#a-node)` names the shape of the entries, and
`only of …` says that a field is not always there. `object with facts` may hold more than is listed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.support.page_examples import REFERENCE

_ROW = re.compile(r"^\| `(?P<path>[\w.\[\]]+)` \| (?P<type>[^|]+) \|", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]+\]\(#(?P<shape>[\w-]+)\)")
_SECTION = re.compile(r"^##+ (?P<heading>[^\n]+)\n(?P<text>.*?)(?=^##+ |\Z)", re.MULTILINE | re.DOTALL)


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and value.endswith("Z") and bool(datetime.fromisoformat(value))


_TYPES = {
    "text": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "true or false": lambda value: isinstance(value, bool),
    "time": _is_time,
    "object": lambda value: isinstance(value, dict),
    "object with facts": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "list of texts": lambda value: isinstance(value, list) and all(isinstance(v, str) for v in value),
    "list of numbers": lambda value: isinstance(value, list) and all(isinstance(v, int) for v in value),
    "anything": lambda _: True,
}


@dataclass
class Field:
    """One field, or a whole shape: the field that has no name."""

    type: str = "object"
    nullable: bool = False
    optional: bool = False
    entries_of: str | None = None  # the shape of its entries, or of itself
    fields: "dict[str, Field]" = field(default_factory=dict)


def sections() -> dict[str, str]:
    """What stands under each heading of `json.md`, by its anchor."""
    text = (REFERENCE / "json.md").read_text(encoding="utf-8")
    return {found["heading"].lower().replace(" ", "-"): found["text"] for found in _SECTION.finditer(text)}


def shapes() -> dict[str, Field]:
    """The shape that each section tells."""
    return {anchor: _shape(text) for anchor, text in sections().items() if "| field | type |" in text}


def shapes_of_commands() -> dict[str, list[str]]:
    """Which shapes the data of each command may have."""
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", sections()["data-of-each-command"], re.MULTILINE)
    return {words: _LINK.findall(told) for names, told in rows for words in re.findall(r"`([^`]+)`", names)}


def _shape(text: str) -> Field:
    whole = Field()
    table = text.partition("| field | type |")[2].partition("\n\n")[0]
    for row in _ROW.finditer(table):
        *parents, name = row["path"].split(".")
        place = whole
        for parent in parents:
            place = place.fields[parent.removesuffix("[]")]
        place.fields[name] = _field(row["type"])
    return whole


def _field(told: str) -> Field:
    word, _, only = told.partition(", only of ")
    link = _LINK.search(word)
    nullable = word.endswith(" or null")
    word = word.removesuffix(" or null")
    type = ("list" if word.startswith("list of ") else "object") if link else word
    assert type in _TYPES, f"json.md: {told!r} is no type"
    return Field(
        type=type, nullable=nullable, optional=bool(only), entries_of=link["shape"] if link else None
    )


def differences(
    value: Any, shape: Field, known: dict[str, Field], seen: set[int], at: str = "data"
) -> Iterator[str]:
    """Where a value is not as its shape says; notes which fields were there with a value."""
    if value is None:
        if not shape.nullable and shape.type != "anything":
            yield f"{at} is null"
        return
    seen.add(id(shape))
    if not _TYPES[shape.type](value):
        yield f"{at} is no {shape.type}: {value!r}"
        return
    inner = known[shape.entries_of] if shape.entries_of else shape
    if shape.type == "list" and inner.fields:
        for entry in value:
            yield from _inside(entry, inner, known, seen, f"{at}[]")
    elif isinstance(value, dict) and shape.type.startswith("object"):
        yield from _inside(value, inner, known, seen, at)


def _inside(value: Any, shape: Field, known: dict[str, Field], seen: set[int], at: str) -> Iterator[str]:
    for name, part in shape.fields.items():
        if name in value:
            yield from differences(value[name], part, known, seen, f"{at}.{name}")
        elif not part.optional:
            yield f"{at}.{name} is missing"
    if shape.type != "object with facts":
        yield from (f"{at}.{name} is not told" for name in value if name not in shape.fields)


def never_seen(known: dict[str, Field], seen: set[int]) -> list[str]:
    """The fields that no answer had."""
    return [
        f"{anchor}: {path}"
        for anchor, shape in known.items()
        for path, part in _all(shape, "")
        if id(part) not in seen
    ]


def _all(shape: Field, at: str) -> Iterator[tuple[str, Field]]:
    for name, part in shape.fields.items():
        yield at + name, part
        yield from _all(part, f"{at}{name}.")
