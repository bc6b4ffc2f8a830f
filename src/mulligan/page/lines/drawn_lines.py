"""Lines of a patch as they are drawn: in colours of their language, with the words that changed marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise, zip_longest
from typing import Any

from msgspec import Struct

from mulligan.page.lines.code_colours import Colours
from mulligan.page.lines.patch_windows import PatchRow

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 600  # characters of a line whose words are compared
_MOST_PAIRS = 200  # lines of one change whose words are compared
_ALIKE = 0.4


class Piece(Struct, frozen=True):
    """A piece of a line: its text, the colour that it has, and whether it changed."""

    text: str
    colour: str
    changed: bool = False


class DrawnLine(Struct, frozen=True, kw_only=True):
    """One line on one side."""

    kind: str
    number: int | None
    pieces: tuple[Piece, ...]
    cut: int = 0
    found: bool = False


class DrawnRow(Struct, frozen=True, kw_only=True):
    """A line of a hunk's head, or two lines beside each other; None: there is nothing on that side."""

    head: str | None = None
    old: DrawnLine | None = None
    new: DrawnLine | None = None
    head_found: bool = False

    @property
    def found(self) -> bool:
        """The line that was searched for is in it."""
        return self.head_found or any(side is not None and side.found for side in (self.old, self.new))


def side_by_side(rows: Sequence[PatchRow], path: str) -> list[DrawnRow]:
    """Return rows with the old lines on the left and the new ones on the right."""
    drawn: list[DrawnRow] = []
    for removed, added, other in _blocks(rows):
        left, right = _coloured(removed, added, path)
        drawn += [DrawnRow(old=old, new=new) for old, new in zip_longest(left, right)]
        drawn += _others(other, path)
    return drawn


def one_below_the_other(rows: Sequence[PatchRow], path: str) -> list[DrawnRow]:
    """Return rows as a patch has them."""
    drawn: list[DrawnRow] = []
    for removed, added, other in _blocks(rows):
        left, right = _coloured(removed, added, path)
        drawn += [DrawnRow(old=line) for line in left]
        drawn += [DrawnRow(new=line) for line in right]
        drawn += _others(other, path)
    return drawn


def _blocks(
    rows: Iterable[PatchRow],
) -> Iterable[tuple[list[PatchRow], list[PatchRow], list[PatchRow]]]:
    """Yield each change, its removed and its added lines, with what follows until the next."""
    removed, added, other = list[PatchRow](), list[PatchRow](), list[PatchRow]()
    for row in rows:
        changes = row.kind in ("removed", "added")
        if changes and (other or (row.kind == "removed" and added)):
            yield removed, added, other
            removed, added, other = [], [], []
        {"removed": removed, "added": added}.get(row.kind, other).append(row)
    yield removed, added, other


def _others(rows: Sequence[PatchRow], path: str) -> list[DrawnRow]:
    colours = Colours.of(path).lines([row.text if row.kind == "context" else "" for row in rows])
    drawn: list[DrawnRow] = []
    for row, spans in zip(rows, colours, strict=True):
        if row.kind != "context":
            drawn.append(DrawnRow(head=row.text, head_found=row.found))
            continue
        pieces = tuple(Piece(text, colour) for text, colour in spans)
        old, new = (
            DrawnLine(kind="context", number=number, pieces=pieces, cut=row.cut, found=row.found)
            for number in (row.old, row.new)
        )
        drawn.append(DrawnRow(old=old, new=new))
    return drawn


def _coloured(
    removed: Sequence[PatchRow], added: Sequence[PatchRow], path: str
) -> tuple[list[DrawnLine], list[DrawnLine]]:
    colours = Colours.of(path)
    marks = [_changed_words(old.text, new.text) for old, new in list(zip(removed, added))[:_MOST_PAIRS]]  # noqa: B905 - the others have no partner
    sides: list[list[DrawnLine]] = []
    for side, rows in enumerate((removed, added)):
        lines = list[DrawnLine]()
        for index, (row, spans) in enumerate(zip(rows, colours.lines([r.text for r in rows]), strict=True)):
            ranges = marks[index][side] if index < len(marks) else []
            number = row.old if side == 0 else row.new
            pieces = tuple(_divided(spans, ranges))
            lines.append(DrawnLine(kind=row.kind, number=number, pieces=pieces, cut=row.cut, found=row.found))
        sides.append(lines)
    return sides[0], sides[1]


def _changed_words(old: str, new: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the ranges of characters that differ, where the two lines are alike at all."""
    if len(old) > _LONGEST or len(new) > _LONGEST:
        return [], []
    words = _WORD.findall(old), _WORD.findall(new)
    matcher: SequenceMatcher[Any] = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if matcher.ratio() < _ALIKE:
        return [], []
    starts = [_starts(each) for each in words]
    left, right = list[tuple[int, int]](), list[tuple[int, int]]()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            left.append((starts[0][a], starts[0][b]))
            right.append((starts[1][c], starts[1][d]))
    return left, right


def _starts(words: Sequence[str]) -> list[int]:
    found = [0]
    for word in words:
        found.append(found[-1] + len(word))
    return found


def _divided(spans: Iterable[tuple[str, str]], ranges: Sequence[tuple[int, int]]) -> Iterable[Piece]:
    """Divide coloured spans where words that changed begin and end."""
    at = 0
    for text, colour in spans:
        cuts = sorted({0, len(text), *(e - at for r in ranges for e in r if 0 < e - at < len(text))})
        for begin, end in pairwise(cuts):
            inside = any(first <= at + begin and at + end <= last for first, last in ranges)
            if end > begin:
                yield Piece(text[begin:end], colour, inside)
        at += len(text)
