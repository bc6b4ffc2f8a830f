"""Patterns of paths in the syntax of `.gitignore`, with git's own meaning of every character.

Names are bytes here, as they are for git: `?` is one byte. `_patterns.h` beside the walker in C does the same.
"""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

_SPECIAL = b"*?[\\"
_SLASH, _STAR, _QUESTION, _OPEN, _CLOSE, _ESCAPE = b"/*?[]\\"
_NOT, _CARET, _DASH, _COLON = b"!^-:"
_LOWER, _UPPER = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS, _PUNCTUATION = b"0123456789", b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_VISIBLE = _LOWER + _UPPER + _DIGITS + _PUNCTUATION
_CLASSES = {  # git's classes are those of ASCII
    b"alnum": _LOWER + _UPPER + _DIGITS,
    b"alpha": _LOWER + _UPPER,
    b"blank": b" \t",
    b"cntrl": bytes([*range(32), 127]),
    b"digit": _DIGITS,
    b"graph": _VISIBLE,
    b"lower": _LOWER,
    b"print": _VISIBLE + b" ",
    b"punct": _PUNCTUATION,
    b"space": b" \t\n\v\f\r",
    b"upper": _UPPER,
    b"xdigit": _DIGITS + b"abcdefABCDEF",
}


class Pattern(Struct, frozen=True):
    """One line of patterns, taken apart."""

    text: bytes  # without `!`, and without the slashes at both ends
    brings_back: bool  # it began with `!`
    folders_only: bool  # it ended with a slash
    anywhere: bool  # it has no other slash: it is about names, in any folder
    plain: int  # so many bytes at its beginning mean themselves

    def fits(self, path: bytes, name: bytes, *, is_folder: bool) -> bool:
        """Return whether a path, whose last part is the name, is one that the pattern is about."""
        if self.folders_only and not is_folder:
            return False
        subject = name if self.anywhere else path
        if self.plain == len(self.text):
            return subject == self.text
        if self.anywhere:
            return _Match(self.text, subject, across=True).found()
        if subject[: self.plain] != self.text[: self.plain]:
            return False
        return _Match(self.text[self.plain :], subject[self.plain :], across=False).found()


class PathPatterns:
    """A list of patterns: the last one that fits a path decides, and what is in a matched folder is matched."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        self._patterns = [p for line in self.lines if (p := read_pattern(os.fsencode(line))) is not None]
        self._folders: dict[
            str, bool
        ] = {}  # the answers so far: paths of one folder come one after the other

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __iter__(self) -> Iterator[Pattern]:
        return iter(self._patterns)

    def choose(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the patterns match this very path; the folders around it are not looked at."""
        if not self._patterns:
            return False
        whole = os.fsencode(path)
        name = whole.rpartition(b"/")[2]
        for pattern in reversed(self._patterns):
            if pattern.fits(whole, name, is_folder=is_folder):
                return not pattern.brings_back
        return False

    def match(self, path: str, *, is_folder: bool) -> bool:
        """Return whether the patterns match a path or a folder around it."""
        if not self._patterns:
            return False
        end = path.find("/")
        while end >= 0:
            around = path[:end]
            if around not in self._folders:
                self._folders[around] = self.choose(around, is_folder=True)
            if self._folders[around]:
                return True
            end = path.find("/", end + 1)
        return self.choose(path, is_folder=is_folder)


def lines_of(data: bytes) -> tuple[str, ...]:
    """Return the patterns in the bytes of a file of patterns, without comments and empty lines."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    lines = (line.removesuffix(b"\r") for line in text.split(b"\n"))
    return tuple(os.fsdecode(line) for line in lines if read_pattern(line) is not None)


def read_pattern(line: bytes) -> Pattern | None:
    """Read one line; None for a comment or a line that is empty."""
    if line.startswith(b"#"):
        return None
    text = _without_spaces(line)
    brings_back = text.startswith(b"!")
    text = text[brings_back:]
    folders_only = text.endswith(b"/")
    text = text[: len(text) - folders_only]
    if not text:
        return None
    anywhere = b"/" not in text
    text = text.removeprefix(b"/")
    plain = next((at for at, byte in enumerate(text) if byte in _SPECIAL), len(text))
    return Pattern(text, brings_back, folders_only, anywhere, plain)


def _without_spaces(line: bytes) -> bytes:
    """Drop spaces at the end, except escaped ones."""
    end = at = 0
    while at < len(line):
        if line[at] == _ESCAPE:
            at += 1
            if at == len(line):
                return line
            end = at + 1
        elif line[at] != 0x20:
            end = at + 1
        at += 1
    return line[:end]


class _Match:
    """One comparison of a pattern with a text, as git's `wildmatch` does it.

    Without `across`, only `**` between slashes matches a slash. A text and a pattern are compared at most once at
    each pair of places, so that no pattern takes long.
    """

    def __init__(self, pattern: bytes, text: bytes, *, across: bool) -> None:
        self._pattern = pattern
        self._text = text
        self._across = across
        self._failed: set[tuple[int, int]] = set()

    def found(self) -> bool:
        return self._from(0, 0)

    def _from(self, p: int, t: int) -> bool:
        pattern, text = self._pattern, self._text
        while p < len(pattern):
            byte = pattern[p]
            if byte == _STAR:
                return self._star(p, t)
            if t == len(text):
                return False
            if byte == _OPEN:
                p, matched = self._set(p, text[t])
                if not matched or (text[t] == _SLASH and not self._across):
                    return False
            elif byte == _QUESTION:
                if text[t] == _SLASH and not self._across:
                    return False
                p += 1
            else:
                if byte == _ESCAPE:
                    p += 1
                    if p == len(pattern):
                        return False
                if pattern[p] != text[t]:
                    return False
                p += 1
            t += 1
        return t == len(text)

    def _star(self, p: int, t: int) -> bool:
        """Match a run of stars, and all after it."""
        if (p, t) in self._failed:
            return False
        pattern, text, start = self._pattern, self._text, p
        while p < len(pattern) and pattern[p] == _STAR:
            p += 1
        across = self._across
        if not across and p - start > 1 and self._is_between_slashes(start, p):
            across = True
            if pattern[p : p + 1] == b"/" and self._from(p + 1, t):  # it matches nothing, not even a slash
                return True
        for at in range(t, len(text) + 1):
            if self._from(p, at):
                return True
            if at < len(text) and text[at] == _SLASH and not across:
                break
        self._failed.add((start, t))
        return False

    def _is_between_slashes(self, start: int, end: int) -> bool:
        before = start == 0 or self._pattern[start - 1] == _SLASH
        rest = self._pattern[end : end + 2]
        return before and (not rest or rest[0] == _SLASH or rest == b"\\/")

    def _set(self, p: int, byte: int) -> tuple[int, bool]:
        """Match a set in brackets; return where it ends. One that does not end matches nothing."""
        pattern, end = self._pattern, len(self._pattern)
        p += 1
        negated = p < end and pattern[p] in (_NOT, _CARET)
        p += negated
        matched, previous, first = False, 0, True
        while first or p >= end or pattern[p] != _CLOSE:
            first = False
            if p >= end:
                return end, False
            current = pattern[p]
            if current == _ESCAPE:
                p += 1
                if p >= end:
                    return end, False
                current = pattern[p]
                matched |= current == byte
            elif current == _DASH and previous and p + 1 < end and pattern[p + 1] != _CLOSE:
                p += 1
                if pattern[p] == _ESCAPE:
                    p += 1
                    if p >= end:
                        return end, False
                matched |= previous <= byte <= pattern[p]
                current = 0
            elif current == _OPEN and p + 1 < end and pattern[p + 1] == _COLON:
                close = pattern.find(b"]", p + 2)
                if close < 0:
                    return end, False
                if close - p - 3 < 0 or pattern[close - 1] != _COLON:
                    matched |= byte == _OPEN  # not the name of a class: a bracket as such
                else:
                    known = _CLASSES.get(pattern[p + 2 : close - 1])
                    if known is None:
                        return end, False
                    matched |= byte in known
                    p, current = close, 0
            else:
                matched |= current == byte
            previous = current
            p += 1
        return p + 1, matched != negated
