"""The colours of code, by Pygments: of lines, as words that the style sheet knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 400_000  # characters that are looked at for colours
# The first of these that a token is, names its colour.
_CLASSES = (
    ("Token.Comment", "c"),
    ("Token.Keyword", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"),
    ("Token.Name.Function", "f"),
    ("Token.Name.Class", "f"),
    ("Token.Name.Tag", "k"),
    ("Token.Name.Attribute", "f"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Decorator", "b"),
    ("Token.Generic.Heading", "k"),
    ("Token.Operator.Word", "k"),
)


class Colours:
    """The colours for files with a name."""

    def __init__(self, lexer: Any) -> None:
        self._lexer = lexer

    @staticmethod
    def of(path: str) -> Colours:
        """Return the colours of a language, by the name of a file."""
        return _for(path.rpartition("/")[2])

    def lines(self, lines: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return each line as spans of text with a colour; together they are the line, character by character."""
        plain = [[(line, "")] if line else [] for line in lines]
        if self._lexer is None or sum(map(len, lines)) > _MOST:
            return plain
        text = "\n".join(line.replace("\r", " ") for line in lines) + "\n"
        found: list[list[tuple[str, str]]] = [[]]
        tokens = cast("Iterable[tuple[Any, str]]", self._lexer.get_tokens(text))
        for kind, value in tokens:
            colour = _class_of(str(kind))
            first, *more = value.split("\n")
            if first:
                found[-1].append((first, colour))
            found += [[(part, colour)] if part else [] for part in more]
        exact = ["".join(text for text, _ in spans) for spans in found[: len(lines)]]
        # A lexer that changes the text (some drop or add characters) has no say.
        wanted = [line.replace("\r", " ") for line in lines]
        return found[: len(lines)] if exact == wanted else plain


@lru_cache(maxsize=256)
def _for(name: str) -> Colours:
    from pygments.lexers import get_lexer_for_filename  # pyright: ignore[reportUnknownVariableType] - no types
    from pygments.util import ClassNotFound

    try:
        return Colours(get_lexer_for_filename(name, stripnl=False, ensurenl=False))
    except (ClassNotFound, ValueError):
        return Colours(None)


@lru_cache(maxsize=1024)
def _class_of(kind: str) -> str:
    return next((word for name, word in _CLASSES if kind.startswith(name)), "")


def shown_lines(text: str, path: str) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield the numbered lines of a file, in colours."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    yield from enumerate(Colours.of(path).lines(lines), 1)
