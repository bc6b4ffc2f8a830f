"""A terminal as far as this program speaks to one: what stands on it in the end, and what scrolled away."""

import fcntl
import os
import re
import select
import struct
import termios
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.forked_program import start_program
from tests.support.patience import PATIENCE

_PIECE = re.compile(rb"\x1b\[([\d;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


class Terminal:
    """Lines of a terminal of fixed size, oldest first, those that scrolled away included."""

    def __init__(self, columns: int, lines: int) -> None:
        self.columns, self.height = columns, lines
        self.rows: list[list[str]] = [[]]
        self.row = self.column = 0
        self.unknown: list[bytes] = []

    def feed(self, data: bytes) -> "Terminal":
        for piece in _PIECE.finditer(data):
            number, letter, control, text = piece.groups()
            if text is not None:
                for character in text.decode():
                    self._put(character)
            elif control == b"\r":
                self.column = 0
            elif control == b"\n":
                self._down()
            elif letter == b"A":
                # The cursor goes no further up than the top of the screen.
                self.row = max(self.row - int(number or 1), len(self.rows) - self.height, 0)
            elif letter == b"K":
                del self.rows[self.row][self.column :]
            elif letter == b"J":
                del self.rows[self.row][self.column :]
                del self.rows[self.row + 1 :]
            elif letter != b"m":
                self.unknown.append(piece.group())
        return self

    @property
    def text(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.rows).rstrip()

    def _put(self, character: str) -> None:
        if self.column == self.columns:
            self.column = 0
            self._down()
        row = self.rows[self.row]
        row += [" "] * (self.column - len(row) + 1)
        row[self.column] = character
        self.column += 1

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append([])


def on_a_terminal(
    folder: Path,
    *words: str,
    columns: int = 80,
    lines: int = 24,
    environ: Mapping[str, str] | None = None,
    look: Callable[[bytes, int], None] = lambda _shown, _terminal: None,
) -> tuple[int, bytes]:
    """Run a command on a terminal of that size; `look` sees all that was shown whenever there is more, and may type."""
    terminal, theirs = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", **(environ or {})}
    program = start_program(
        words, folder=folder, environment=variables, streams=(theirs, theirs, theirs), terminal=True
    )
    os.close(theirs)
    shown = b""
    while select.select([terminal], [], [], PATIENCE)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            break  # the other side is closed
        look(shown, terminal)
    code = program.wait()
    os.close(terminal)
    return code, shown
