"""Unified diffs: their parts, and what hunks do to a text."""

from collections.abc import Sequence

from msgspec import Struct, field

from mulligan.domain.trees.line_diff import lines_of


class DiffMalformed(Exception):
    """A text that is not a unified diff this module understands, with the place and the reason."""


class HunkMismatch(Exception):
    """A hunk whose lines are not in the file."""


class Hunk(Struct, frozen=True):
    """One change: lines that must be in the file, and lines that replace them, each with its line break."""

    old_start: int  # counted from 1; with no old lines: the line after which the new ones come
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


class FilePatch(Struct):
    """All changes to one file."""

    old_path: str | None = None  # None: the file is new
    new_path: str | None = None  # None: the file is deleted
    executable: bool | None = None  # None: stays as it is
    copy: bool = False  # the old file stays too
    may_create: bool = False  # a plain diff does not distinguish a new file from an empty one
    hunks: list[Hunk] = field(default_factory=list[Hunk])

    @property
    def name(self) -> str:
        return self.new_path or self.old_path or "?"


def apply_hunks(data: bytes, hunks: Sequence[Hunk]) -> tuple[bytes, list[str]]:
    """Return the text after all hunks, and a remark on each that matched at another line than it names.

    A hunk's lines must match exactly. The search starts at the line it names and goes outwards, behind the
    hunk before it.
    """
    lines = lines_of(data)
    result: list[bytes] = []
    remarks: list[str] = []
    done = shift = 0
    for number, hunk in enumerate(hunks, 1):
        stated = hunk.old_start - 1 if hunk.old else hunk.old_start
        at = _position(lines, hunk, stated + shift, done)
        if at is None:
            raise HunkMismatch(f"hunk {number}, line {hunk.old_start}: {_why_not(lines, hunk)}")
        if at - stated != shift:
            shift = at - stated
            remarks.append(f"hunk {number} stands {abs(shift)} lines further {'down' if shift > 0 else 'up'}")
        result += lines[done:at]
        result += hunk.new
        done = at + len(hunk.old)
    return b"".join(result + lines[done:]), remarks


def _position(lines: list[bytes], hunk: Hunk, expected: int, first: int) -> int | None:
    last = len(lines) - len(hunk.old)
    if not hunk.old:  # nothing to find it by: there or nowhere
        return expected if first <= expected <= last else None
    wanted = list(hunk.old)
    for distance in range(max(abs(expected - first), abs(last - expected)) + 1):
        for at in (expected + distance, expected - distance):
            if first <= at <= last and lines[at : at + len(wanted)] == wanted:
                return at
    return None


def _why_not(lines: list[bytes], hunk: Hunk) -> str:
    bare = [line.rstrip(b"\r\n") for line in lines]
    wanted = [line.rstrip(b"\r\n") for line in hunk.old]
    if not wanted:
        return "there is no such line"
    if any(bare[at : at + len(wanted)] == wanted for at in range(len(bare))):
        return "its lines are there only with other line breaks (CRLF, or none at the end of the file)"
    return f"its lines are not there, {wanted[0].decode(errors='replace')!r} and following"
