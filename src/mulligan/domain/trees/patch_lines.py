"""The lines of a patch, classified by position rather than by first character."""

from collections.abc import Iterator
from enum import Enum

from msgspec import Struct


class PatchLine(Enum):
    """The kind of a patch line."""

    HEADER = "header"
    HUNK = "hunk"
    ADDED = "added"
    REMOVED = "removed"
    CONTEXT = "context"
    REMARK = "remark"  # that a file does not end with a line break


class NumberedLine(Struct, frozen=True):
    """A line without its end, what it is, and which line of the old or new file it is."""

    text: str
    kind: PatchLine
    number: int | None  # in the new file, or of a line that is gone in the old one


def lines_of_patch(patch: bytes) -> Iterator[NumberedLine]:
    """Yield each line with its kind. Hunks are delimited by counting lines, as `git apply` does."""
    old = new = old_left = new_left = 0
    for raw in patch.split(b"\n")[:-1]:
        text = raw.decode("utf-8", "surrogateescape")
        sign = text[:1]
        if sign == "\\":
            yield NumberedLine(text, PatchLine.REMARK, None)
        elif old_left or new_left:
            kind = {"+": PatchLine.ADDED, "-": PatchLine.REMOVED}.get(sign, PatchLine.CONTEXT)
            yield NumberedLine(text, kind, old if kind is PatchLine.REMOVED else new)
            if kind is not PatchLine.ADDED:
                old, old_left = old + 1, old_left - 1
            if kind is not PatchLine.REMOVED:
                new, new_left = new + 1, new_left - 1
        elif text.startswith("@@ "):
            (old, old_left), (new, new_left) = (_range(part) for part in text.split(" ")[1:3])
            yield NumberedLine(text, PatchLine.HUNK, None)
        else:
            yield NumberedLine(text, PatchLine.HEADER, None)


def _range(part: str) -> tuple[int, int]:
    """Return the first line of a hunk on one side, and its number of lines there: the second number, or 1."""
    start, _, length = part[1:].partition(",")
    return int(start), int(length or 1)
