"""Draws answers: rich on a terminal, plain when piped, one document for scripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TextIO, TypeAlias, cast

from mulligan import errors
from mulligan.api.document import document, harmless, harmless_lines, text_with_times
from mulligan.api.operations.command_words import in_commands
from mulligan.cli.answers.answer import (
    Answer,
    Block,
    Document,
    Drawing,
    Format,
    Line,
    Output,
    Patch,
    Row,
    Span,
    Table,
)
from mulligan.cli.answers.plain_words import in_words
from mulligan.cli.terminal.glyphs import has_signs, plain_signs
from mulligan.domain.text.json_value import Json, indented_json

if TYPE_CHECKING:
    from rich.console import Console

    from mulligan.cli.short_names import ShortNames
    from mulligan.errors import MulliganError

Pager: TypeAlias = Callable[[bytes], bool]  # shows a text; returns False where it did not

_NARROW = 20  # columns: with less room the terminal breaks lines itself
_MANY = 1000  # rows; rich measures and breaks every one, which of ten thousand takes seconds

_PATCH_STYLES = {"header": "bold", "hunk": "cyan", "added": "green", "removed": "red"}


def render(
    answer: Answer,
    command: str,
    format: Format,
    started: datetime,
    took: timedelta,
    names: ShortNames,
    pager: Pager | None,
) -> None:
    """Write the answer to stdout; for people, errors, messages and what is beside stdout go to stderr."""
    if format.is_document:
        made = document(answer, command, started, took, in_commands)
        write(sys.stdout, _as_yaml(made) if format is Format.YAML else indented_json(made) + "\n")
        return
    draw_blocks(answer, format, names, pager if answer.paged else None)
    for message in answer.messages:
        say(f"note: {harmless(in_words(names.text(message)))}")
    if answer.error is not None:
        step_index = cast("int | None", answer.error.facts.get("step_index"))
        say(f"error: {harmless_lines(in_words(names.text(_told(answer.error)), step_index))}")
        if answer.error.next_step:
            say(f"hint: {harmless(in_words(names.text(answer.error.next_step)))}")


def say(text: str) -> None:
    """Write to stderr; on a terminal in lines that are broken between words."""
    lines = text.split("\n")
    if sys.stderr.isatty():
        from shutil import get_terminal_size  # here: only a terminal has a size

        from mulligan.cli.terminal.folds import folded

        room = max(_NARROW, get_terminal_size().columns)
        lines = [folded_line for line in lines for folded_line in folded(line, room)]
    write(sys.stderr, "".join(f"{line}\n" for line in lines))


def draw_blocks(answer: Answer, format: Format, names: ShortNames, pager: Pager | None = None) -> None:
    """Write what people see of an answer to stdout, where it is long through a pager, or beside it."""
    stream = sys.stderr if answer.aside else sys.stdout
    names.know(answer.names)
    blocks = names.blocks(answer.blocks)
    if blocks and isinstance(blocks[0], Output):
        for block in blocks:
            if isinstance(block, Output):
                _replay(block)
    elif format is not Format.RICH or (blocks and isinstance(blocks[0], Document)):
        for block in blocks:
            write(stream, _plain(block, stream))
    elif blocks:
        from rich.console import Console

        console = Console(highlight=False, soft_wrap=True, stderr=answer.aside)
        with console.capture() as drawn:
            _draw(console, blocks, stream)
        data = drawn.get().encode(_encoding(stream), "backslashreplace")
        if pager is None or answer.aside or not pager(data):
            write(stream, data)


def _replay(output: Output) -> None:
    from mulligan.domain.text.inert_text import Inert  # here: few answers repeat what programs printed

    for stream, data in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        inert = Inert(_encoding(stream))
        write(stream, inert.piece(data) + inert.rest() if stream.isatty() else data)


def _told(error: MulliganError) -> str:
    """The error for people; of a failed step its first line, for all of it was shown when the step failed."""
    from mulligan.cli.terminal.times import local_time

    text = text_with_times(error, local_time)
    return text.split("\n", 1)[0].removesuffix(":") if error.kind == errors.StepFailed.kind else text


def _as_yaml(made: Json) -> str:
    import yaml

    # What the locale cannot write is spelled inside quotes: spelled afterwards it would be another text.
    writes_anything = _encoding(sys.stdout).lower().replace("-", "") == "utf8"
    return yaml.safe_dump(made, sort_keys=False, allow_unicode=writes_anything)


def _encoding(stream: TextIO) -> str:
    return stream.encoding or "utf-8"


def _plain(block: Block, stream: TextIO) -> str | bytes:
    match block:
        case Document():
            return block.data
        case Output():
            return block.stdout
        case Patch() if not stream.isatty():
            return block.data
        case Patch():  # the content of files must not control the terminal
            return "".join(f"{harmless(line)}\n" for line, _ in styled_lines(block.data))
        case Drawing():
            rows = ((_signs(_text(row.lead), stream), harmless(_text(row.words))) for row in block.rows)
            return "".join(f"{lead}{words}\n" for lead, words in rows)
        case Line():
            return f"{_line_text(block)}\n"
        case Table():
            from mulligan.cli.terminal.tables import table_text  # here: not every answer has a table

            return "".join(table_text(block, width=None, encoding=_encoding(stream)))


def _line_text(line: Line) -> str:
    text = harmless(line.text)
    return text if has_signs(sys.stdout.encoding, os.environ) else text.replace("…", "...")


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def _signs(drawn: str, stream: TextIO) -> str:
    return drawn if has_signs(stream.encoding, os.environ) else plain_signs(drawn)


def styled_lines(patch: bytes) -> Iterator[tuple[str, str]]:
    """Each line without its end and with its tabs as spaces, and its style."""
    from mulligan.domain.trees.patch_lines import lines_of_patch  # here: few answers have a patch

    for line in lines_of_patch(patch):
        yield line.text.expandtabs(8), _PATCH_STYLES.get(line.kind.value, "")


def _draw(console: Console, blocks: Sequence[Block], stream: TextIO) -> None:
    from rich.text import Text

    from mulligan.cli.terminal.folds import folded
    from mulligan.cli.terminal.tables import table_text

    for block in blocks:
        match block:
            case Patch():
                for line, style in styled_lines(block.data):
                    console.print(Text(harmless(line), style=style))
                _draw(console, block.summary, stream)
            case Line():
                for line in folded(_line_text(block), max(_NARROW, console.width)):
                    console.print(Text(line, style="bold" if block.title else ""))
            case Drawing() if len(block.rows) > _MANY:
                console.out(_plain(block, stream), end="", highlight=False)
            case Drawing():
                _draw_rows(console, block.rows, stream)
            case Table():
                header, rows = table_text(block, width=console.width, encoding=_encoding(stream))
                console.print(Text(header, style="bold"), end="")
                console.out(rows, end="", highlight=False)
            case Document() | Output():
                pass  # is written, never drawn


def _draw_rows(console: Console, rows: Sequence[Row], stream: TextIO) -> None:
    """Rows in colours; words that find no room go on below, beside the lines that lead on."""
    from rich.text import Text

    from mulligan.cli.terminal.folds import breaks

    for row in rows:
        lead = Text.assemble(*((_signs(s.text, stream), s.style) for s in row.lead))
        rest = Text(_signs(row.rest, stream), "dim")
        words = Text.assemble(*((harmless(s.text), s.style) for s in row.words))
        room = max(_NARROW, console.width - max(lead.cell_len, rest.cell_len))
        for number, line in enumerate(words.divide(breaks(words.plain, room))):
            line.rstrip()
            console.print(Text.assemble(rest if number else lead, line))


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
