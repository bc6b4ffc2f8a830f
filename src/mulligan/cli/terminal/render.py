"""Draws answers: rich on a terminal, plain when piped, one document for scripts."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TextIO

from mulligan.api.document import document, harmless, harmless_lines, text_with_times
from mulligan.cli.answers.answer import (
    Answer,
    Block,
    Document,
    Drawing,
    Format,
    Line,
    Patch,
    Row,
    Span,
    Table,
)
from mulligan.cli.command_words import in_commands
from mulligan.cli.terminal.glyphs import has_signs, plain_signs
from mulligan.cli.terminal.tables import table_text
from mulligan.cli.terminal.times import local_time
from mulligan.domain.text.json_value import Json
from mulligan.errors import StepFailed

if TYPE_CHECKING:
    from rich.console import Console

    from mulligan.errors import MulliganError

_NARROW = 20  # columns: with less room the terminal breaks lines itself
_MANY = 1000  # rows; rich measures and breaks every one, which of ten thousand takes seconds

_PATCH_STYLES = {"header": "bold", "hunk": "cyan", "added": "green", "removed": "red"}


def render(answer: Answer, command: str, format: Format, started: datetime, took: timedelta) -> None:
    """Write the answer to stdout; for people, errors and messages go to stderr."""
    if format.is_document:
        made = document(answer, command, started, took, in_commands)
        write(sys.stdout, _as_yaml(made) if format is Format.YAML else json.dumps(made, indent=2) + "\n")
        return
    draw_blocks(answer, format)
    for message in answer.messages:
        write(sys.stderr, f"note: {harmless(in_commands(message))}\n")
    if answer.error is not None:
        write(sys.stderr, f"error: {harmless_lines(_told(answer.error))}\n")
        if answer.error.next_step:
            write(sys.stderr, f"hint: {harmless(in_commands(answer.error.next_step))}\n")


def draw_blocks(answer: Answer, format: Format) -> None:
    """Write what people see of an answer to stdout."""
    if format is not Format.RICH or (answer.blocks and isinstance(answer.blocks[0], Document)):
        for block in answer.blocks:
            write(sys.stdout, _plain(block))
    elif answer.blocks:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True)
        with console.capture() as drawn:
            _draw(console, answer.blocks)
        write(sys.stdout, drawn.get())


def _told(error: MulliganError) -> str:
    """The error for people; of a failed step its first line, for all of it was shown when the step failed."""
    text = text_with_times(error, local_time)
    return text.split("\n", 1)[0].removesuffix(":") if error.kind == StepFailed.kind else text


def _as_yaml(made: Json) -> str:
    import yaml

    # What the locale cannot write is spelled inside quotes: spelled afterwards it would be another text.
    writes_anything = _encoding(sys.stdout).lower().replace("-", "") == "utf8"
    return yaml.safe_dump(made, sort_keys=False, allow_unicode=writes_anything)


def _encoding(stream: TextIO) -> str:
    return stream.encoding or "utf-8"


def _plain(block: Block) -> str | bytes:
    match block:
        case Document():
            return block.data
        case Patch() if not sys.stdout.isatty():
            return block.data
        case Patch():  # the content of files must not control the terminal
            return "".join(f"{harmless(line)}\n" for line, _ in styled_lines(block.data))
        case Drawing():
            return "".join(f"{_signs(_text(row.lead))}{harmless(_text(row.words))}\n" for row in block.rows)
        case Line():
            return harmless(block.text) + "\n"
        case Table():
            return "".join(table_text(block, width=None, encoding=_encoding(sys.stdout)))


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def _signs(drawn: str) -> str:
    return drawn if has_signs(sys.stdout.encoding, os.environ) else plain_signs(drawn)


def styled_lines(patch: bytes) -> Iterator[tuple[str, str]]:
    """Each line without its end and with its tabs as spaces, and its style."""
    from mulligan.domain.trees.patch_lines import lines_of_patch  # here: few answers have a patch

    for line in lines_of_patch(patch):
        yield line.text.expandtabs(8), _PATCH_STYLES.get(line.kind.value, "")


def _draw(console: Console, blocks: Sequence[Block]) -> None:
    from rich.text import Text

    for block in blocks:
        match block:
            case Patch():
                for line, style in styled_lines(block.data):
                    console.print(Text(harmless(line), style=style))
                _draw(console, block.summary)
            case Line():
                console.print(Text(harmless(block.text), style="bold" if block.title else ""))
            case Drawing() if len(block.rows) > _MANY:
                console.out(_plain(block), end="", highlight=False)
            case Drawing():
                _draw_rows(console, block.rows)
            case Table():
                header, rows = table_text(block, width=console.width, encoding=_encoding(sys.stdout))
                console.print(Text(header, style="bold"), end="")
                console.out(rows, end="", highlight=False)
            case Document():
                pass  # is written, never drawn


def _draw_rows(console: Console, rows: Sequence[Row]) -> None:
    """Rows in colours; words that find no room go on below, beside the lines that lead on."""
    from rich.text import Text

    for row in rows:
        lead = Text.assemble(*((_signs(s.text), s.style) for s in row.lead))
        rest = Text(_signs(row.rest), "dim")
        words = Text.assemble(*((harmless(s.text), s.style) for s in row.words))
        room = max(_NARROW, console.width - max(lead.cell_len, rest.cell_len))
        for number, line in enumerate(words.divide(_breaks(words.plain, room))):
            line.rstrip()
            console.print(Text.assemble(rest if number else lead, line))


def _breaks(text: str, room: int) -> Iterator[int]:
    """Return where to break a line; never inside a word, which could be an id to be copied."""
    from rich.cells import cell_len

    used = 0
    for word in re.finditer(r"\s*\S+", text):
        width = cell_len(word.group())
        if used and used + width > room:
            begun = word.end() - len(word.group().lstrip())
            yield begun
            width, used = cell_len(text[begun : word.end()]), 0
        used += width


def write(stream: TextIO, text: str | bytes) -> None:
    """Write text whatever the locale, and bytes as they are.

    A reader that went away is not an error of ours; a lost answer is.
    """
    data = text if isinstance(text, bytes) else text.encode(_encoding(stream), "backslashreplace")
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except OSError as exc:
        lead_nowhere(stream)  # as `mulligan … | head` ends
        if stream is sys.stdout and not isinstance(exc, BrokenPipeError):
            raise


def lead_nowhere(stream: TextIO) -> None:
    """Let what is still to be written vanish, where the reader is gone or the disk full: else the exit fails."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
