"""Lines that are broken between words where the terminal is too narrow for them.

Neither a word, which could be a path to be copied, nor a command between backticks, which could be pasted, is broken:
the terminal itself wraps what is too long.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mulligan.cli.answers.answer import Span

_WORD = r"\s*(?:`[^`\s][^`]*`|\S)+"


def columns(text: str) -> int:
    """Return the terminal columns of a text: some characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    import unicodedata  # here: most text is ASCII

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def breaks(text: str, room: int) -> Iterator[int]:
    """Yield where to break a line."""
    used = 0
    for word in re.finditer(_WORD, text):
        width = columns(word.group())
        if used and used + width > room:
            begun = word.end() - len(word.group().lstrip())
            yield begun
            width, used = columns(text[begun : word.end()]), 0
        used += width


def folded(text: str, room: int) -> list[str]:
    """Return a text as lines."""
    if columns(text) <= room:
        return [text]
    places = [0, *breaks(text, room), len(text)]
    return [text[start:end].rstrip() for start, end in pairwise(places)]


def folded_spans(spans: Sequence[Span], room: int) -> list[list[Span]]:
    """Return words with styles as lines."""
    text = "".join(span.text for span in spans)
    if columns(text) <= room:
        return [list(spans)]
    places, lines, at = [*breaks(text, room), len(text)], list[list[Span]]([[]]), 0
    for span in spans:
        rest = span.text
        while at + len(rest) > places[0]:
            taken = places.pop(0) - at
            lines[-1].append(Span(rest[:taken].rstrip(), span.style))
            lines.append([])
            at, rest = at + taken, rest[taken:]
        lines[-1].append(Span(rest, span.style))
        at += len(rest)
    return lines
