"""Three-way merges of texts, line by line, byte for byte: line ends and a missing last one stay as they are.

Changes of the two sides that neither overlap nor touch are both taken, as git has it; equal changes are one.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct

from mulligan.domain.trees.line_diff import Change, changed_lines, lines_of

_MARK = 7  # how often a marker's character is repeated


class Labels(Struct, frozen=True):
    """The names of the sides, for the markers of a conflict."""

    ours: str
    theirs: str


class TextMerge(Struct, frozen=True, kw_only=True):
    """A merged text; where the sides overlap it has ours, or both between markers."""

    text: bytes
    overlaps: tuple[tuple[int, int], ...]  # lines of our text, counted from 1, that both sides changed

    @property
    def reason(self) -> str:
        """Describe where the sides overlap."""
        places = [f"{first}" if first >= last else f"{first}-{last}" for first, last in self.overlaps]
        word = "line" if len(places) == 1 and "-" not in places[0] else "lines"
        return f"both sides changed {word} {', '.join(places)}"


class _Region(Struct, frozen=True):
    """Lines of the base and what each side has in their place; half-open ranges."""

    base: tuple[int, int]
    ours: tuple[int, int]
    theirs: tuple[int, int]
    by_ours: bool
    by_theirs: bool


def merge_texts(base: bytes, ours: bytes, theirs: bytes, markers: Labels | None) -> TextMerge:
    """Merge what two sides made of a text; with `markers`, overlaps are marked in the text."""
    lines = [lines_of(text) for text in (base, ours, theirs)]
    merged: list[bytes] = []
    overlaps: list[tuple[int, int]] = []
    for region in _regions(lines):
        mine = lines[1][slice(*region.ours)]
        other = lines[2][slice(*region.theirs)]
        if not region.by_ours:
            merged += other
        elif not region.by_theirs or mine == other:
            merged += mine
        else:
            overlaps.append((region.ours[0] + 1, region.ours[1]))
            merged += mine if markers is None else _marked(mine, other, markers)
    return TextMerge(text=b"".join(merged), overlaps=tuple(overlaps))


def without_middle(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Take lines out of a text that both sides only appended to, as logs are; None: they did something else.

    The base is theirs with lines appended, and ours is the base with more of them: what was appended first goes.
    """
    whole_lines = all(text.endswith(b"\n") for text in (base, theirs) if text)
    if whole_lines and base.startswith(theirs) and ours.startswith(base):
        return theirs + ours[len(base) :]
    return None


def has_markers(text: bytes) -> bool:
    """Return whether a text has lines that begin like conflict markers."""
    starts = (b"<" * _MARK + b" ", b">" * _MARK + b" ")
    return any(line.startswith(starts) for line in text.split(b"\n"))


def ours_of_marked(text: bytes) -> bytes:
    """Return a marked text with our lines in the place of each overlap; one without markers is returned as it is."""
    taken: list[bytes] = []
    side = "both"
    for line in lines_of(text):
        if side == "both" and line.startswith(b"<" * _MARK + b" "):
            side = "ours"
        elif side == "ours" and line.rstrip(b"\r\n") == b"=" * _MARK:
            side = "theirs"
        elif side == "theirs" and line.startswith(b">" * _MARK + b" "):
            side = "both"
        elif side != "theirs":
            taken.append(line)
    return b"".join(taken)


def _regions(lines: Sequence[list[bytes]]) -> Iterator[_Region]:
    """All of the texts in order: what nobody changed, and what one side did or both."""
    base, ours, theirs = lines
    mine, others = deque(changed_lines(base, ours)), deque(changed_lines(base, theirs))
    at = [0, 0, 0]
    while mine or others:
        start = min(changes[0].old_start for changes in (mine, others) if changes)
        end = start
        taken: tuple[list[Change], list[Change]] = ([], [])
        grew = True
        while grew:  # until no change of either side touches what was taken
            grew = False
            for changes, found in zip((mine, others), taken, strict=True):
                while changes and changes[0].old_start <= end:
                    found.append(changes.popleft())
                    end = max(end, found[-1].old_end)
                    grew = True
        yield _region(at, [place + start - at[0] for place in at])
        at = [start, at[1] + start - at[0], at[2] + start - at[0]]
        after = [
            end,
            *(place + _grown(found, end - start) for place, found in zip(at[1:], taken, strict=True)),
        ]
        yield _region(at, after, by_ours=bool(taken[0]), by_theirs=bool(taken[1]))
        at = after
    yield _region(at, [place + len(base) - at[0] for place in at])


def _grown(changes: Sequence[Change], length: int) -> int:
    """Return the number of lines a side has where the base has `length`."""
    return length + sum((c.new_end - c.new_start) - (c.old_end - c.old_start) for c in changes)


def _region(
    start: Sequence[int], end: Sequence[int], *, by_ours: bool = False, by_theirs: bool = False
) -> _Region:
    base, ours, theirs = zip(start, end, strict=True)
    return _Region(base, ours, theirs, by_ours, by_theirs)


def _marked(mine: Sequence[bytes], other: Sequence[bytes], labels: Labels) -> list[bytes]:
    end = b"\r\n" if any(line.endswith(b"\r\n") for line in (*mine, *other)) else b"\n"
    return [
        b"<" * _MARK + b" " + labels.ours.encode("utf-8", "surrogateescape") + end,
        *_ended(mine, end),
        b"=" * _MARK + end,
        *_ended(other, end),
        b">" * _MARK + b" " + labels.theirs.encode("utf-8", "surrogateescape") + end,
    ]


def _ended(lines: Sequence[bytes], end: bytes) -> list[bytes]:
    """Return the lines, each with an end: a marker needs a line of its own."""
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + end]
    return list(lines)
