"""Draws answers: rich on a terminal, plain when piped, one document for scripts."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TextIO

from mulligan.cli.answer import Answer, Block, Drawing, Format, Line, Patch, Row, Span, Table
from mulligan.cli.encode import encode, harmless, harmless_lines
from mulligan.cli.glyphs import has_signs, plain_signs
from mulligan.cli.patch_colours import styled_lines
from mulligan.cli.streams import lead_nowhere
from mulligan.cli.times import local_time
from mulligan.domain.json_value import Json, JsonObject

if TYPE_CHECKING:
    from rich.console import Console

    from mulligan.errors import MulliganError

_GAP = 2  # columns between those of a table
_SHORT = 16  # columns: in less nothing is broken
_NARROW = 20  # columns: with less room the terminal breaks lines itself
_MANY = 1000  # rows; rich measures and breaks every cell, which of ten thousand takes seconds


def render(answer: Answer, command: str, format: Format, started: datetime, took: timedelta) -> None:
    """Write the answer to stdout; for people, errors and messages go to stderr."""
    if format.is_document:
        document = _envelope(answer, command, started, took)
        write(
            sys.stdout, _as_yaml(document) if format is Format.YAML else json.dumps(document, indent=2) + "\n"
        )
        return
    draw_blocks(answer, format)
    for message in answer.messages:
        write(sys.stderr, f"note: {harmless(message)}\n")
    if answer.error is not None:
        write(sys.stderr, f"error: {harmless_lines(_with_local_times(answer.error))}\n")
        if answer.error.next_step:
            write(sys.stderr, f"hint: {harmless(answer.error.next_step)}\n")


def draw_blocks(answer: Answer, format: Format) -> None:
    """Write what people see of an answer to stdout."""
    if format is Format.RICH and answer.blocks:
        write(sys.stdout, _drawn(answer))
        return
    for block in answer.blocks:
        match block:
            case Patch():
                write(sys.stdout, _patch(block))
            case Drawing():
                write(sys.stdout, _plain_rows(block))
            case _:
                write(sys.stdout, _plain(block))


def _with_local_times(error: MulliganError) -> str:
    text = error.text
    for moment in (fact for fact in error.facts.values() if isinstance(fact, datetime)):
        text = text.replace(str(moment), local_time(moment))
    return text


def _envelope(answer: Answer, command: str, started: datetime, took: timedelta) -> JsonObject:
    document: JsonObject = {
        "command": command,
        "status": answer.status,
        "exit_code": answer.code,
        "data": encode(answer.data),
        "timing": {
            "started": encode(started.astimezone(UTC)),
            "duration_ms": round(took.total_seconds() * 1000),
        },
        "messages": [encode(m) for m in answer.messages],
    }
    if answer.error is not None:
        error = answer.error
        facts = {name: encode(value) for name, value in error.facts.items()}
        document["error"] = {
            **facts,
            "kind": error.kind,
            "message": encode(error.text),
            "hint": encode(error.next_step),
        }
    return document


def _as_yaml(document: Json) -> str:
    import yaml

    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _plain(block: Line | Table) -> str:
    if isinstance(block, Line):
        return harmless(block.text) + "\n"
    rows = [block.columns, *block.rows]
    cells = [[harmless(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(block.columns))]
    lines = ("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(lines) + "\n"


def _plain_rows(block: Drawing) -> str:
    return "".join(f"{_signs(_text(row.lead))}{harmless(_text(row.words))}\n" for row in block.rows)


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def _signs(drawn: str) -> str:
    return drawn if has_signs(sys.stdout.encoding, os.environ) else plain_signs(drawn)


def _patch(block: Patch) -> bytes | str:
    """A patch as it is; where someone looks at it, what stands in the files must not speak to the terminal."""
    if not sys.stdout.isatty():
        return block.data
    return "".join(f"{harmless(line)}\n" for line, _ in styled_lines(block.data))


def _drawn(answer: Answer) -> str:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as drawn:
        for block in _flat(answer.blocks):
            if isinstance(block, Patch):
                for line, style in styled_lines(block.data):
                    console.print(Text(harmless(line), style=style))
                continue
            if isinstance(block, Line):
                console.print(Text(harmless(block.text), style="bold" if block.title else ""))
                continue
            if isinstance(block, Drawing):
                if len(block.rows) > _MANY:
                    console.out(_plain_rows(block), end="", highlight=False)
                else:
                    _draw_rows(console, block.rows)
                continue
            # A word that is torn or cut cannot be searched for, nor an id or path copied: the terminal breaks lines.
            widths = _widths(block, console.width) if len(block.rows) <= _MANY else None
            if widths is None:
                header, _, rows = _plain(block).partition("\n")
                console.print(Text(header, style="bold"))
                console.out(rows, end="", highlight=False)
                continue
            table = RichTable(box=None, pad_edge=False, header_style="bold")
            for column, width in zip(block.columns, widths, strict=True):
                table.add_column(column, width=width)
            for row in block.rows:
                table.add_row(*(Text(harmless(cell)) for cell in row))
            console.print(table, soft_wrap=False)
    return drawn.get()


def _widths(table: Table, room: int) -> list[int] | None:
    """How wide each column is where all of them have room; None: they have none without cutting words.

    What is short, and the first column, is never broken into lines. The widest of the others gives way first.
    """
    from rich.cells import cell_len

    columns = [[harmless(cell) for cell in cells] for cells in zip(table.columns, *table.rows, strict=True)]
    widths = [max(map(cell_len, cells)) for cells in columns]
    least = [
        width if not n or width <= _SHORT else max(cell_len(word) for cell in cells for word in cell.split())
        for n, (width, cells) in enumerate(zip(widths, columns, strict=True))
    ]
    while (over := sum(widths) + _GAP * (len(widths) - 1) - room) > 0:
        broadest = max(range(len(widths)), key=lambda n: (widths[n] > least[n], widths[n]))
        if widths[broadest] == least[broadest]:
            return None
        widths[broadest] = max(least[broadest], widths[broadest] - over)
    return widths


def _draw_rows(console: Console, rows: Sequence[Row]) -> None:
    """Rows in colours; words that find no room go on below, beside the lines that lead on."""
    from rich.text import Text

    for row in rows:
        lead, rest = (
            Text.assemble(*((_signs(s.text), s.style) for s in row.lead)),
            Text(_signs(row.rest), "dim"),
        )
        words = Text.assemble(*((harmless(s.text), s.style) for s in row.words))
        room = max(_NARROW, console.width - max(lead.cell_len, rest.cell_len))
        for number, line in enumerate(words.divide(_breaks(words.plain, room))):
            line.rstrip()
            console.print(Text.assemble(rest if number else lead, line))


def _breaks(text: str, room: int) -> Iterator[int]:
    """Where to go on in a new line; never inside a word, which could be an id to be copied."""
    from rich.cells import cell_len

    used = 0
    for word in re.finditer(r"\s*\S+", text):
        width = cell_len(word.group())
        if used and used + width > room:
            begun = word.end() - len(word.group().lstrip())
            yield begun
            width, used = cell_len(text[begun : word.end()]), 0
        used += width


def _flat(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Patch):
            yield from block.summary


def write(stream: TextIO, text: str | bytes) -> None:
    """Write text whatever the locale, and bytes as they are.

    A reader that went away is no error of ours; an answer that is lost is.
    """
    data = text if isinstance(text, bytes) else text.encode(stream.encoding or "utf-8", "backslashreplace")
    try:
        stream.buffer.write(data)
        stream.buffer.flush()
    except OSError as exc:
        lead_nowhere(stream)  # as `mulligan … | head` ends
        if stream is sys.stdout and not isinstance(exc, BrokenPipeError):
            raise
