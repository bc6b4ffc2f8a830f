"""Excerpts of long texts for a page: the first and last lines, and how much is omitted between them."""

from msgspec import Struct

WIDEST = 2_000  # characters of a line


class Excerpt(Struct, frozen=True, kw_only=True):
    """A text, or its beginning and its end."""

    head: str
    tail: str
    lines_left_out: int  # between the two
    characters_left_out: int  # at the ends of lines that are too wide

    @property
    def lines(self) -> int:
        """The number of lines shown."""
        return sum(part.count("\n") + 1 for part in (self.head, self.tail) if part)


def excerpt(text: str, *, first: int, last: int) -> Excerpt:
    """The first and the last lines of a text; all of it where it has no more, and never what is too wide."""
    lines = text.split("\n")
    left_out = max(0, len(lines) - first - last)
    head, tail = (lines[:first], lines[first + left_out :]) if left_out else (lines, list[str]())
    too_wide = sum(max(0, len(line) - WIDEST) for line in (*head, *tail))
    return Excerpt(
        head="\n".join(line[:WIDEST] for line in head),
        tail="\n".join(line[:WIDEST] for line in tail),
        lines_left_out=left_out,
        characters_left_out=too_wide,
    )
