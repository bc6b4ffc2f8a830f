"""HTML that its content cannot break: everything that is not markup already is escaped on insertion."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from mulligan.domain.text.inert_text import harmless

_VOID = frozenset({"meta"})


class Markup(str):
    """Text that is HTML; all other text is just text."""

    __slots__ = ()


Content: TypeAlias = "str | Iterable[Content] | None"


def element(tag: str, /, *content: Content, **attributes: str | bool | None) -> Markup:
    """An element; of its attributes those that are None or False are left out, and `class_` is `class`."""
    spelled = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_text(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in _VOID:
        return Markup(f"<{tag}{spelled}>")
    return Markup(f"<{tag}{spelled}>{joined(*content)}</{tag}>")


def joined(*content: Content) -> Markup:
    """Contents one after the other; None is nothing."""
    return Markup("".join(map(_one, content)))


def several_lines(text: str) -> Markup:
    """Text with its line breaks and tabs kept; every other character that cannot be seen is spelled."""
    return Markup("\n".join("\t".join(_text(part) for part in line.split("\t")) for line in _lines(text)))


def _one(content: Content) -> str:
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return _text(content)
    return "".join(map(_one, content))


def _text(text: str) -> str:
    return escape(harmless(text))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")
