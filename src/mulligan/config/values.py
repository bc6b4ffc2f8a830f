"""Types of setting values, which come typed from files or as text from the environment."""

import math
import re
from collections.abc import Callable, Sequence
from typing import cast

from msgspec import Struct

from mulligan.domain.text.duration import seconds_in
from mulligan.domain.text.json_value import Json
from mulligan.domain.text.names import nearest_word
from mulligan.domain.text.sizes import read_size


class Unfit(Exception):
    """A value that does not fit its type; becomes SettingInvalid where key and origin are known."""

    def __init__(self, reason: str, nearest: str | None = None) -> None:
        self.reason = reason
        self.nearest = nearest
        super().__init__(reason)


class ValueType(Struct, frozen=True, kw_only=True):
    """The type of a setting's values."""

    allowed: str | Sequence[str]  # the allowed words, or a description of the allowed values
    check: Callable[[object], Json]  # returns the canonical form of a typed value, or raises Unfit
    read: Callable[[str], object] = str.strip  # returns the typed value that a text spells, or raises Unfit
    separator: str = ""  # between the items of a list

    def parse(self, text: str) -> Json:
        """Return the canonical form of a value from the environment or a command line."""
        return self.check(self.read(text))


def one_word(words: Sequence[str]) -> ValueType:
    """One of some words."""

    def check(value: object) -> Json:
        if not isinstance(value, str) or value not in words:
            raise Unfit(f"{shown(value)} is not an allowed word", nearest_word(str(value), words))
        return value

    return ValueType(allowed=words, check=check)


def whole_number(lowest: int, highest: int | None = None) -> ValueType:
    """A whole number within bounds."""

    def check(value: object) -> Json:
        if isinstance(value, bool) or not isinstance(value, int):
            raise Unfit(f"{shown(value)} is not a whole number")
        if value < lowest or (highest is not None and value > highest):
            raise Unfit(f"{shown(value)} is out of range")
        return value

    def read(text: str) -> int:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text):  # more digits than any of these numbers needs
            raise Unfit(f"{shown(text)} is not a whole number")
        return int(text)

    bounds = f"from {lowest} to {highest}" if highest else f"from {lowest} up"
    return ValueType(allowed=f"a whole number {bounds}", check=check, read=read)


def size_in_bytes() -> ValueType:
    """A number of bytes; as text also with a unit, such as 20GB."""

    def check(value: object) -> Json:
        size = read_size(value) if isinstance(value, str) else value
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise Unfit(f"{shown(value)} is not a size")
        return size

    return ValueType(allowed="a number of bytes, or one with a unit such as 20GB", check=check)


def length_of_time(lowest: float, highest: float) -> ValueType:
    """A number of seconds within bounds; as text also with units, such as 90s or 5m."""

    def check(value: object) -> Json:
        seconds = _seconds(value)
        if seconds is None:
            raise Unfit(f"{shown(value)} is not a length of time")
        if not lowest <= seconds <= highest:
            raise Unfit(f"{shown(value)} is out of range")
        return int(seconds) if seconds == int(seconds) else seconds

    bounds = f"from {lowest:g} to {highest:g}"
    return ValueType(
        allowed=f"a number of seconds {bounds}, or one with units such as 90s or 5m", check=check
    )


def _seconds(value: object) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        return float(text) if re.fullmatch(r"[0-9]{1,18}(?:\.[0-9]{0,18})?", text) else seconds_in(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


_HOST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def true_or_false() -> ValueType:
    """True or false; as text also yes, on, 1, or their opposites."""

    def check(value: object) -> Json:
        if not isinstance(value, bool):
            raise Unfit(f"{shown(value)} is neither true nor false")
        return value

    def read(text: str) -> bool | str:
        word = text.strip().lower()
        return word in _TRUE if word in (*_TRUE, *_FALSE) else text

    return ValueType(allowed=("true", "false"), check=check, read=read)


def list_of(
    allowed: str | Sequence[str], separator: str, canonical: Callable[[Sequence[str]], list[str]]
) -> ValueType:
    """A list; as text separated by one character, or in brackets as in a file, or nothing for the empty list."""

    def check(value: object) -> Json:
        if not isinstance(value, list):
            raise Unfit(f"{shown(value)} is not a list")
        for item in cast("list[object]", value):
            if not isinstance(item, str):
                raise Unfit(f"{shown(item)} is not a text")
        return cast("Json", canonical(cast("list[str]", value)))

    def read(text: str) -> object:
        stripped = text.strip()
        if stripped.startswith("["):
            return _bracketed(stripped)
        return [item.strip() for item in stripped.split(separator)] if stripped else []

    return ValueType(allowed=allowed, check=check, read=read, separator=separator)


def _bracketed(text: str) -> object:
    import tomllib  # here, because hardly any command needs it

    try:
        document = tomllib.loads(f"list = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    if list(document) != ["list"]:  # more than one: the text had lines of its own
        raise Unfit(f"{shown(text)} is not a list")
    return document["list"]


def database_url() -> ValueType:
    """The address of a database. Messages do not repeat it: addresses may hold passwords."""

    def check(value: object) -> Json:
        if isinstance(value, str) and value.startswith("postgresql://") and "\0" not in value:
            from mulligan.config.database_address import parts_of  # here: most projects have a file

            try:
                parts_of(value)
            except ValueError as exc:
                raise Unfit(str(exc)) from exc
            return value
        if not isinstance(value, str) or not value.startswith("sqlite:///") or "\0" in value:
            raise Unfit("is neither the address of a SQLite file nor of a PostgreSQL database")
        if value.removeprefix("sqlite:///") in ("", ":memory:"):
            raise Unfit("names no file; a database in memory would forget every plan")
        return value

    return ValueType(allowed="sqlite:///PATH, postgresql://HOST/DATABASE", check=check)


def host_id() -> ValueType:
    """The id of a machine."""

    def check(value: object) -> Json:
        if not isinstance(value, str) or not _HOST_ID.fullmatch(value):
            raise Unfit(f"{shown(value)} is not a word of letters, digits, `.`, `_` and `-`")
        return value

    return ValueType(allowed="a word that no other machine has, at most 64 characters", check=check)


def command_line() -> ValueType:
    """A command for the shell."""

    def check(value: object) -> Json:
        if not isinstance(value, str) or "\0" in value:
            raise Unfit(f"{shown(value)} is not a command")
        return value

    return ValueType(allowed="a command, with its options", check=check)


def shown(value: object) -> str:
    """The value as messages quote it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
