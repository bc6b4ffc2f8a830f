"""Edits of JSON that people wrote: comments, order, indentation, line ends and all other bytes stay as they are.

Comments and commas after the last entry are accepted, as most programs with such files do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NoReturn, TypeAlias, cast

from msgspec import Struct

from mulligan.domain.text.json_value import Json

_TRIVIA = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_IN_LINE = re.compile(r"(?:[ \t]|/\*[^\n]*?\*/)*(?://[^\r\n]*)?")  # after an entry, up to the end of its line
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_UNIT = "  "
_BOM = "\ufeff"
Path: TypeAlias = "Sequence[str | int]"  # keys of objects and positions in arrays


class JsonTextInvalid(Exception):
    """A text is not JSON, or not of the expected shape."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


class _Node(Struct, frozen=True):
    """A value, and where it is in the text."""

    start: int
    end: int
    value: Json
    entries: tuple[_Entry, ...] = ()  # of an object or array


class _Entry(Struct, frozen=True):
    """A member of an object or an element of an array."""

    key: str | None
    start: int  # of its key, where it has one
    node: _Node
    comma: int | None  # the position of the comma after it


def json_value(text: str) -> Json:
    """Return the value of a text."""
    return _parsed(text).value


def with_element(text: str, path: Sequence[str], value: Json) -> str:
    """Return the text with one element more in the array at a path; objects and the array are made where missing."""
    node, found = _deepest(text, path)
    missing = path[found:]
    if not missing:
        _require(text, node, list, path)
        return _added(text, node, None, value)
    _require(text, node, dict, path[:found])
    whole: Json = [value]
    for key in reversed(missing[1:]):
        whole = {key: whole}
    return _added(text, node, missing[0], whole)


def with_member(text: str, path: Sequence[str], value: Json) -> str:
    """Return the text with a member at a path, unless it is there; the objects above it are made where missing."""
    node, found = _deepest(text, path)
    if found == len(path):
        return text
    _require(text, node, dict, path[:found])
    whole: Json = value
    for key in reversed(path[found + 1 :]):
        whole = {key: whole}
    return _added(text, node, path[found], whole)


def without(text: str, path: Path, at: int) -> str:
    """Return the text without one element of the array at a path."""
    node, found = _deepest(text, path)
    assert found == len(path)  # the caller saw it there
    return _removed(text, node, at)


def without_empty(text: str, path: Path) -> str:
    """Return the text without the member at a path, if it is an empty object or array."""
    node, found = _deepest(text, path)
    if found < len(path) or node.entries or not isinstance(node.value, dict | list):
        return text
    return without_member(text, path)


def without_member(text: str, path: Path) -> str:
    """Return the text without the member at a path, which is there."""
    above, _ = _deepest(text, path[:-1])
    at = max(i for i, entry in enumerate(above.entries) if entry.key == path[-1])
    return _removed(text, above, at)


# --- reading -------------------------------------------------------------------------------------------------


def _parsed(text: str) -> _Node:
    if not text.removeprefix(_BOM).strip():
        return _Node(len(text), len(text), None)
    try:
        node = _value(text, _skip(text, len(_BOM) if text.startswith(_BOM) else 0))
    except RecursionError:
        raise JsonTextInvalid(1, "is nested too deeply") from None
    if _skip(text, node.end) != len(text):
        _refuse(text, _skip(text, node.end))
    return node


def _value(text: str, at: int) -> _Node:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _container(text, at, "}" if opening == "{" else "]")
    found = _STRING.match(text, at) or _PLAIN.match(text, at)
    if found is None:
        _refuse(text, at)
    try:
        return _Node(at, found.end(), cast("Json", json.loads(found.group())))
    except ValueError:
        _refuse(text, at)


def _container(text: str, start: int, closing: str) -> _Node:
    entries: list[_Entry] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        key, begin = None, at
        if closing == "}":
            word = _STRING.match(text, at)
            if word is None:
                _refuse(text, at)
            key = cast("str", json.loads(word.group()))
            at = _skip(text, word.end())
            if text[at : at + 1] != ":":
                _refuse(text, at)
            at = _skip(text, at + 1)
        node = _value(text, at)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else None
        if comma is None and text[at : at + 1] != closing:
            _refuse(text, at)
        entries.append(_Entry(key, begin, node, comma))
        at = at if comma is None else _skip(text, at + 1)
    values = [entry.node.value for entry in entries]
    value: Json = values
    if closing == "}":
        value = dict(zip((entry.key or "" for entry in entries), values, strict=True))
    return _Node(start, at + 1, value, tuple(entries))


def _skip(text: str, at: int) -> int:
    found = _TRIVIA.match(text, at)
    assert found is not None  # it matches nothing, too
    return found.end()


def _refuse(text: str, at: int) -> NoReturn:
    what = "ends too early" if at >= len(text) else f"is not JSON at {text[at : at + 12].splitlines()[0]!r}"
    raise JsonTextInvalid(text.count("\n", 0, at) + 1, what)


def _deepest(text: str, path: Path) -> tuple[_Node, int]:
    """Return the innermost value on a path that is there, and how many keys lead to it."""
    node = _parsed(text)
    for depth, key in enumerate(path):
        members = [entry for at, entry in enumerate(node.entries) if key in (entry.key, at)]
        if not members:
            return node, depth
        node = members[-1].node  # of several with one name programs take the last
    return node, len(path)


def _require(text: str, node: _Node, type: type, path: Path) -> None:
    if not isinstance(node.value, type) and not (node.value is None and node.start == node.end):
        name = ".".join(map(str, path)) or "it"
        kind = "an object" if type is dict else "a list"
        raise JsonTextInvalid(text.count("\n", 0, node.start) + 1, f"{name} is not {kind}")


# --- writing -------------------------------------------------------------------------------------------------


def _added(text: str, node: _Node, key: str | None, value: Json) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    if node.start == node.end:  # an empty file
        return text + _spelled(value, key, "", _UNIT, "\n", whole=True) + "\n"
    unit = _indentation(text)
    lines = newline in text.strip()
    inner = text[node.start + 1 : node.end - 1]
    margin = _margin(text, node.start)
    if not node.entries and not inner.strip():
        if not lines and text.removeprefix(_BOM).strip() != text[node.start : node.end]:
            item = _spelled(value, key, "", None, "")
            return f"{text[: node.start + 1]}{item}{text[node.end - 1 :]}"
        item = _spelled(value, key, margin + unit, unit, newline)
        filled = f"{newline}{margin}{unit}{item}{newline}{margin}"
        return f"{text[: node.start + 1]}{filled}{text[node.end - 1 :]}"
    last = node.entries[-1] if node.entries else None
    anchor = node.start + 1
    if last is not None:
        anchor = last.node.end if last.comma is None else last.comma + 1
    end_of_line = _IN_LINE.match(text, anchor)
    assert end_of_line is not None  # it matches nothing, too
    place = end_of_line.end()
    comma = "," if last is not None and last.comma is None else ""
    before, after = text[:anchor] + comma + text[anchor:place], text[place:]
    if text[place : place + 1] in ("\r", "\n"):
        first = node.entries[0].start if node.entries else _skip(text, node.start + 1)
        own_line = not text[text.rfind("\n", 0, first) + 1 : first].strip()
        indent = _margin(text, first) if node.entries and own_line else margin + unit
        return f"{before}{newline}{indent}{_spelled(value, key, indent, unit, newline)}{after}"
    item = _spelled(value, key, "", None, "")
    return f"{before}{' ' if last is not None else ''}{item}{after}"


def _spelled(
    value: Json, key: str | None, margin: str, unit: str | None, newline: str, *, whole: bool = False
) -> str:
    """Return an entry as text, on one line or on several that begin with the margin."""
    shown: Json = {key: value} if whole and key is not None else value
    if unit is None:
        body = json.dumps(shown, ensure_ascii=False)
    else:
        body = json.dumps(shown, ensure_ascii=False, indent=unit).replace("\n", f"{newline}{margin}")
    return body if key is None or whole else f"{json.dumps(key, ensure_ascii=False)}: {body}"


def _removed(text: str, node: _Node, at: int) -> str:
    """Return the text without an entry, its comma and its line; comments stay."""
    entry, before = node.entries[at], text[: node.entries[at].start]
    start = len(before.rstrip(" \t\r\n"))
    end = entry.node.end
    if len(node.entries) == 1 and not text[node.start + 1 : start].strip():
        tail = text[end : node.end - 1]
        if not tail.replace(",", "", 1).strip():  # nothing else is in it
            return f"{text[: node.start + 1]}{text[node.end - 1 :]}"
    if entry.comma is not None:
        return text[:start] + text[end : entry.comma] + text[entry.comma + 1 :]
    if at > 0:
        comma = node.entries[at - 1].comma
        assert comma is not None  # an entry follows
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _margin(text: str, at: int) -> str:
    """Return the indentation of the line that a position is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))].lstrip(_BOM)


def _indentation(text: str) -> str:
    """Return how far the text is indented for each level."""
    found = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return found.group(1) if found else _UNIT
