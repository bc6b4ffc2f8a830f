"""A value of the document, with its place: what it can be read as, and the error when it cannot.

Types are those of YAML's core schema, and asked for rather than guessed: where text is wanted `2.10` and
`yes` are text as written, and only where true or false is wanted does a value have to be one of them.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from mulligan.domain.text.duration import seconds_in
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import nearest_word
from mulligan.errors import PlanFileInvalid
from mulligan.planfile.yaml_document import Entries, Items, Node, Scalar, child_path, shorten

Word = TypeVar("Word", bound=StrEnum)

_NULL = ("", "~", "null", "Null", "NULL")
_FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_MEANT_FLAGS = {"true": ("yes", "on", "y", "1"), "false": ("no", "off", "n", "0")}
_WHOLE = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

# The words of other programs for keys and tools of a plan file.
_ALSO_CALLED = {
    **dict.fromkeys(("cmd", "command", "exec", "script", "sh", "shell"), ("run", "shell")),
    "bash": ("shell", "run"),
    "ask": ("decision",),
    "children": ("subplans",),
    "label": ("checkpoint",),
    "question": ("decision",),
    "retry": ("retries",),
    "tasks": ("steps",),
    "jobs": ("steps",),
    "title": ("name",),
    "with": ("args",),
}
_LONGEST_TIMEOUT = 1e9  # seconds; more than thirty years is not a timeout


class Value(Struct, frozen=True):
    """One value of a plan file and its position."""

    file: str
    path: str
    node: Node

    def wrong(self, reason: str, nearest: str | None = None) -> PlanFileInvalid:
        """The error that points here."""
        facts: dict[str, object] = {
            "file": self.file,
            "line": self.node.line,
            "column": self.node.column,
            "path": self.path,
            "reason": reason,
        }
        if nearest is not None:
            facts |= {
                "nearest": nearest,
                "reason": f"{reason}; did you mean `{nearest}`?",
                "hint": f"write `{nearest}` at that place if that was meant, and try again",
            }
        return PlanFileInvalid(**facts)

    def unexpected(self, wanted: str) -> PlanFileInvalid:
        """Return the error that names the expected and the actual kind of value."""
        return self.wrong(f"expected {wanted}, found {self._described()}")

    def unknown(self, what: str, word: str, allowed: Iterable[str]) -> PlanFileInvalid:
        """The error of a word that nobody knows, with the nearest that somebody does."""
        words = list(allowed)
        listed = f" (known: {', '.join(words[:20])})" if words else ""
        meant = [each for each in _ALSO_CALLED.get(word, ()) if each in words]
        near = meant[0] if meant else nearest_word(word, words)
        return self.wrong(f"there is no {what} {shorten(word)}{listed}", near)

    def _described(self) -> str:
        if isinstance(self.node, Items):
            return "a list"
        if isinstance(self.node, Entries):
            return "a mapping"
        if self.is_null:
            return "nothing"
        return shorten(self.node.text) if self.node.plain else f"the text {shorten(self.node.text)}"

    @property
    def is_null(self) -> bool:
        """Return whether the value is empty."""
        return isinstance(self.node, Scalar) and self.node.plain and self.node.text in _NULL

    def text(self) -> str:
        """Any value but a list, a mapping or nothing, as it is written."""
        if not isinstance(self.node, Scalar) or self.is_null:
            raise self.unexpected("text")
        return self.node.text

    def flag(self) -> bool:
        """True or false."""
        word = self._plain_text()
        flag = _FLAGS.get(word) if word is not None else None
        if flag is None:
            meant = next(
                (flag for flag, words in _MEANT_FLAGS.items() if (word or "").lower() in words), None
            )
            raise self.wrong(f"expected true or false, found {self._described()}", meant)
        return flag

    def whole(self, lowest: int, highest: int) -> int:
        """A whole number within bounds."""
        word = self._plain_text()
        if word is None or not _WHOLE.fullmatch(word):
            raise self.unexpected("a whole number")
        number = _whole(word)
        if not lowest <= number <= highest:
            raise self.unexpected(f"a whole number from {lowest} to {highest}")
        return number

    def seconds(self) -> float:
        """A length of time: a number of seconds, or one with units such as `5m`."""
        word = self._plain_text() or ""
        number = float(word) if _DECIMAL.fullmatch(word) else seconds_in(word)
        if number is None:
            raise self.unexpected("a number of seconds, or a duration such as 90s, 5m or 1h")
        if not 0 < number <= _LONGEST_TIMEOUT:
            raise self.unexpected(f"more than 0 and at most {_LONGEST_TIMEOUT:.0f} seconds")
        return number

    def word(self, words: Iterable[Word]) -> Word:
        """One of some words."""
        text, known = self.text(), tuple(words)
        found = next((word for word in known if word.value == text), None)
        if found is None:
            allowed = [word.value for word in known]
            reason = f"expected {', '.join(allowed)}; found {self._described()}"
            raise self.wrong(reason, nearest_word(text, allowed))
        return found

    def _plain_text(self) -> str | None:
        return self.node.text if isinstance(self.node, Scalar) and self.node.plain else None

    def items(self) -> "tuple[Value, ...]":
        """The values of a list."""
        if not isinstance(self.node, Items):
            raise self.unexpected("a list")
        nodes = self.node.nodes
        return tuple(Value(self.file, child_path(self.path, index), node) for index, node in enumerate(nodes))

    def entries(self) -> "tuple[tuple[Value, Value], ...]":
        """The keys and values of a mapping; both have the same path."""
        if not isinstance(self.node, Entries):
            raise self.unexpected("a mapping")
        return tuple(
            (Value(self.file, path, key), Value(self.file, path, node))
            for key, node in self.node.pairs
            for path in (child_path(self.path, key.text),)
        )

    def keys(self, known: Sequence[str], required: Sequence[str] = ()) -> "Mapping[str, Value]":
        """The values of a mapping whose keys are known, by key."""
        found: dict[str, Value] = {}
        for key, value in self.entries():
            name = key.key_text
            if name not in known:
                raise key.unknown("key", name, known)
            found[name] = value
        for name in required:
            if name not in found:
                raise self.wrong(f"the key `{name}` is missing")
        return found

    @property
    def key_text(self) -> str:
        """The text of a key, whatever it looks like."""
        assert isinstance(self.node, Scalar)
        return self.node.text

    def json(self) -> Json:
        """The value with the type it has in YAML's core schema."""
        if isinstance(self.node, Items):
            return [item.json() for item in self.items()]
        if isinstance(self.node, Entries):
            return {key.key_text: value.json() for key, value in self.entries()}
        return self._plain_json(self.node.text) if self.node.plain else self.node.text

    def _plain_json(self, text: str) -> Json:
        if text in _NULL:
            return None
        if text in _FLAGS:
            return _FLAGS[text]
        if _WHOLE.fullmatch(text):
            return _whole(text)
        if _DECIMAL.fullmatch(text) and math.isfinite(number := float(text)):
            return number
        if _DECIMAL.fullmatch(text) or _NOT_FINITE.fullmatch(text):
            raise self.wrong("a number without end cannot be recorded; quote it if it is text")
        return text


def _whole(text: str) -> int:
    return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
