"""Windows of a long patch: some of its lines at a time, without reading the others again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

_EVERY = 400  # lines between two places from which reading can start
_LONGEST = 2000  # characters of a line that are shown


class PatchRow(Struct, frozen=True, kw_only=True):
    """One line of a patch: of a hunk's head, or of the old, the new or both files."""

    kind: str  # hunk, context, removed, added or remark
    old: int | None
    new: int | None
    text: str
    cut: int = 0  # characters that are not shown
    found: bool = False  # it is the line that was searched for


class _Place(Struct, frozen=True):
    """A line of the patch, and what is known before it."""

    offset: int
    old: int
    new: int
    old_left: int
    new_left: int


class PatchWindows:
    """The patch of one file. Its places are found once, in one pass; it keeps no lines."""

    def __init__(self, patch: bytes) -> None:
        start = 0 if patch.startswith(b"@@ ") else patch.find(b"\n@@ ") + 1
        self._patch = patch
        self.size = len(patch)  # bytes
        self._places: list[_Place] = []
        self.count = 0
        if not start and not patch.startswith(b"@@ "):
            return
        for index, place in enumerate(self._passed(_Place(start, 0, 0, 0, 0))):
            if index % _EVERY == 0:
                self._places.append(place)
            self.count = index + 1

    def rows(self, first: int, count: int) -> list[PatchRow]:
        """Return some of its lines."""
        if not self._places or first >= self.count:
            return []
        place = self._places[first // _EVERY]
        skip, found = first % _EVERY, list[PatchRow]()
        for index, each in enumerate(self._passed(place)):
            if index >= skip + count:
                break
            if index >= skip:
                found.append(self._row(each))
        return found

    def find(self, words: str, first: int) -> int | None:
        """Return the index of the next line from there that has these words; None: there is none."""
        if not self._places or first >= self.count:
            return None
        fits = _match(words)
        place = self._places[first // _EVERY]
        base = first - first % _EVERY
        for index, each in enumerate(self._passed(place), base):
            if index >= first and fits(self._line(each)):
                return index
        return None

    def _line(self, place: _Place) -> bytes:
        end = self._patch.find(b"\n", place.offset)
        return self._patch[place.offset : end if end >= 0 else len(self._patch)]

    def _passed(self, place: _Place) -> Iterator[_Place]:
        """Yield the place of each line from one on."""
        patch, offset = self._patch, place.offset
        old, new, old_left, new_left = place.old, place.new, place.old_left, place.new_left
        while offset < len(patch):
            yield _Place(offset, old, new, old_left, new_left)
            sign = patch[offset]
            if sign == 92:
                pass
            elif old_left or new_left:
                if sign != 43:
                    old, old_left = old + 1, old_left - 1
                if sign != 45:
                    new, new_left = new + 1, new_left - 1
            elif patch.startswith(b"@@ ", offset):
                end = patch.find(b"\n", offset)
                words = patch[offset : end if end >= 0 else len(patch)].split(b" ")
                (old, old_left), (new, new_left) = _range(words[1]), _range(words[2])
            end = patch.find(b"\n", offset)
            offset = end + 1 if end >= 0 else len(patch)

    def _row(self, place: _Place) -> PatchRow:
        raw = self._line(place)
        text = raw.decode("utf-8", "surrogateescape")
        cut = max(0, len(text) - _LONGEST - 1)
        if raw.startswith(b"\\"):
            return PatchRow(kind="remark", old=None, new=None, text=text[2:])
        if not (place.old_left or place.new_left):
            return PatchRow(kind="hunk", old=None, new=None, text=text)
        body = text[1 : _LONGEST + 1]
        if text.startswith("+"):
            return PatchRow(kind="added", old=None, new=place.new, text=body, cut=cut)
        if text.startswith("-"):
            return PatchRow(kind="removed", old=place.old, new=None, text=body, cut=cut)
        return PatchRow(kind="context", old=place.old, new=place.new, text=body, cut=cut)


def _match(words: str) -> Callable[[bytes], bool]:
    """Return whether a line has these words, in small or capital letters."""
    small = words.lower()
    wanted = small.encode("utf-8", "surrogateescape")
    if words.isascii():
        return lambda line: wanted in line.lower()
    return lambda line: small in line.decode("utf-8", "surrogateescape").lower()


def _range(part: bytes) -> tuple[int, int]:
    start, _, length = part[1:].partition(b",")
    return int(start), int(length or 1)
