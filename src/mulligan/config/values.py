"""Types of setting values, which come typed from files or as text from the environment."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol, cast

from msgspec import Struct

from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import nearest_word


class Unfit(Exception):
    """A value that does not fit its type; becomes SettingInvalid where key and origin are known."""

    def __init__(self, reason: str, nearest: str | None = None) -> None:
        self.reason = reason
        self.nearest = nearest
        super().__init__(reason)


class ValueType(Protocol):
    """The type of a setting's values."""

    @property
    def allowed(self) -> str | Sequence[str]:
        """The allowed words, or a description of the allowed values."""
        ...

    def check(self, value: object) -> Json:
        """The value, canonical, from one that already has a type of its own."""
        ...

    def parse(self, text: str) -> Json:
        """The value, canonical, from the environment or a command line."""
        ...


class OneWord(Struct, frozen=True):
    """One of some words."""

    allowed: tuple[str, ...]

    def check(self, value: object) -> Json:
        """Take one of the words."""
        if not isinstance(value, str) or value not in self.allowed:
            raise Unfit(f"{shown(value)} is not an allowed word", nearest_word(str(value), self.allowed))
        return value

    def parse(self, text: str) -> Json:
        """Take one of the words."""
        return self.check(text.strip())


class WholeNumber(Struct, frozen=True):
    """A whole number within bounds."""

    lowest: int
    highest: int | None = None

    @property
    def allowed(self) -> str:
        """The bounds."""
        return f"a whole number from {self.lowest}" + (f" to {self.highest}" if self.highest else " up")

    def check(self, value: object) -> Json:
        """Take a number; true and false are none, though Python counts them so."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unfit(f"{shown(value)} is not a whole number")
        if value < self.lowest or (self.highest is not None and value > self.highest):
            raise Unfit(f"{shown(value)} is out of range")
        return value

    def parse(self, text: str) -> Json:
        """Take decimal digits; eighteen of them are more than any of these numbers needs."""
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text):
            raise Unfit(f"{shown(text)} is not a whole number")
        return self.check(int(text))


_FLAG_WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class TrueOrFalse(Struct, frozen=True):
    """Yes or no."""

    allowed: tuple[str, ...] = ("true", "false")

    def check(self, value: object) -> Json:
        """Take true or false."""
        if not isinstance(value, bool):
            raise Unfit(f"{shown(value)} is neither true nor false")
        return value

    def parse(self, text: str) -> Json:
        """Take true, yes, on, 1, or their opposites."""
        flag = _FLAG_WORDS.get(text.strip().lower())
        if flag is None:
            raise Unfit(f"{shown(text)} is neither true nor false")
        return flag


class ListOf(Struct, frozen=True):
    """A list; as text separated by one character, or in brackets as in a file."""

    allowed: str | Sequence[str]
    separator: str
    canonical: Callable[[Sequence[str]], list[str]]

    def check(self, value: object) -> Json:
        """Take a list of texts."""
        if not isinstance(value, list):
            raise Unfit(f"{shown(value)} is not a list")
        for item in cast("list[object]", value):
            if not isinstance(item, str):
                raise Unfit(f"{shown(item)} is not a text")
        return cast("Json", self.canonical(cast("list[str]", value)))

    def parse(self, text: str) -> Json:
        """Take `a,b`, `["a", "b"]`, or nothing for the empty list."""
        stripped = text.strip()
        if stripped.startswith("["):
            return self.check(_bracketed(stripped))
        return self.check([item.strip() for item in stripped.split(self.separator)] if stripped else [])


def _bracketed(text: str) -> object:
    import tomllib  # here, because hardly any command needs it

    try:
        document = tomllib.loads(f"list = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    if list(document) != ["list"]:  # more than one: the text had lines of its own
        raise Unfit(f"{shown(text)} is not a list")
    return document["list"]


class DatabaseUrl(Struct, frozen=True):
    """The address of a database; null is the one in the project home."""

    allowed: str = "sqlite:///PATH"

    def check(self, value: object) -> Json:
        """Take the address of a file. The message does not repeat it: addresses may hold passwords."""
        if not isinstance(value, str) or not value.startswith("sqlite:///") or "\0" in value:
            raise Unfit("is not the address of a SQLite file")
        if value.removeprefix("sqlite:///") in ("", ":memory:"):
            raise Unfit("names no file; a database in memory would forget every plan")
        return value

    def parse(self, text: str) -> Json:
        """Take the address of a file."""
        return self.check(text.strip())


def shown(value: object) -> str:
    """The value as messages quote it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
