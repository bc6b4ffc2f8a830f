"""The lower end of a terminal, drawn in place again and again, and what scrolls away above it.

Whatever changes is one write, so that nobody sees it half done. Nothing of the terminal is switched (no cursor is
hidden, no other screen taken), so that there is nothing to switch back, not even after a kill.
"""

import os
from collections.abc import Sequence
from typing import TextIO

from mulligan.api.document import harmless
from mulligan.cli.answers.answer import Span
from mulligan.cli.terminal.glyphs import has_signs, plain_signs
from mulligan.cli.terminal.render import lead_nowhere

_STYLES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36",
}  # fmt: skip
_CUT = ".."
_MARGIN = 3  # columns: the terminal itself writes `^C` there
_USUAL = os.terminal_size((80, 24))


class Screen:
    """Writes to one stream; on a terminal with an area at its lower end."""

    def __init__(self, stream: TextIO, *, terminal: bool) -> None:
        """Without a terminal there is no area, and no colour."""
        self._stream = stream
        self.terminal = terminal
        self._signs = has_signs(stream.encoding, os.environ)
        self._colours = terminal and not os.environ.get("NO_COLOR")
        self._area: list[int] = []  # how wide each of its rows is
        self._at_line_start = True

    @property
    def size(self) -> os.terminal_size:
        """The current size of the terminal."""
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except OSError:
            return _USUAL
        return size if size.columns and size.lines else _USUAL  # some do not know

    @property
    def room(self) -> int:
        """The number of usable columns."""
        return self.size.columns - _MARGIN

    @property
    def encoding(self) -> str:
        """The encoding of the terminal."""
        return self._stream.encoding or "utf-8"

    @property
    def at_line_start(self) -> bool:
        """Return whether the last output was a whole line."""
        return self._at_line_start

    def forget(self) -> None:
        """Consider the area gone: another writer has overwritten it."""
        self._area = []

    def styled(self, spans: Sequence[Span]) -> str:
        """Words as the terminal shows them; what they hold cannot speak to it."""
        return "".join(self._styled(span) for span in spans if span.text)

    def update(self, above: bytes, area: Sequence[Sequence[Span]]) -> None:
        """Write what scrolls away, then the area as it is now; an area only where a line begins."""
        text = self._erased(keep=not above).encode() + above
        if above:
            self._at_line_start = above.endswith(b"\n")
        rows, widths = self._fitted(area) if area and self._at_line_start else ([], [])
        text += "\r\n".join(rows).encode(self.encoding, "backslashreplace")
        if not above and (self._area or rows):
            text += b"\x1b[J"
        self._area = widths
        if text:
            self._write(text)

    def _erased(self, *, keep: bool) -> str:
        """Return the codes that move to the start of the area and clear it; `keep`: the new one is drawn over it."""
        if not self._area:
            return ""
        columns = self.size.columns  # the terminal may have been made narrower, and has broken the rows then
        lines = sum(max(1, -(-width // columns)) for width in self._area)
        up = f"\x1b[{lines - 1}A" if lines > 1 else ""
        return f"\r{up}" + ("" if keep else "\x1b[J")

    def _fitted(self, area: Sequence[Sequence[Span]]) -> tuple[list[str], list[int]]:
        """The rows that there is room for, none of them wider than the terminal."""
        fitted = [_cut(spans, self.room) for spans in area[: self.size.lines - 1]]
        return [self.styled(row) + "\x1b[K" for row in fitted], [width(row) for row in fitted]

    def _styled(self, span: Span) -> str:
        text = harmless(span.text if self._signs else plain_signs(span.text))
        codes = [_STYLES[word] for word in span.style.split() if word in _STYLES] if self._colours else []
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if codes else text

    def _write(self, data: bytes) -> None:
        try:
            self._stream.buffer.write(data)
            self._stream.buffer.flush()
        except OSError:  # nobody reads it, or the disk is full; the operation itself continues
            lead_nowhere(self._stream)


def _cut(spans: Sequence[Span], room: int) -> list[Span]:
    """Words in one row: what is too much is cut from the longest, so that the rest can still be read."""
    from rich.cells import cell_len, set_cell_size

    row = [Span(harmless(span.text), span.style) for span in spans]
    while (over := width(row) - room) > 0:
        longest = max(range(len(row)), key=lambda n: cell_len(row[n].text))
        text, style = row[longest].text, row[longest].style
        kept = set_cell_size(text, max(0, cell_len(text) - over - len(_CUT))).rstrip()
        row[longest] = Span(kept + _CUT if kept else "", style)
    return row


def width(row: Sequence[Span]) -> int:
    """Return the number of columns of a row."""
    from rich.cells import cell_len

    return sum(cell_len(span.text) for span in row)


def can_draw(stream: TextIO) -> bool:
    """Return whether a stream leads to a terminal that can be drawn on."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
