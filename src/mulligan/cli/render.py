"""Draws answers: rich on a terminal, plain when piped, one document for scripts."""

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TextIO

from mulligan.cli.answer import Answer, Document, Format, Line, Patch, Table
from mulligan.cli.encode import encode, harmless, harmless_lines
from mulligan.cli.patch_colours import styled_lines
from mulligan.cli.streams import lead_nowhere
from mulligan.domain.json_value import Json, JsonObject

_ANY = 1 << 20  # columns: as many as a table wants
_MANY = 1000  # rows; rich measures and breaks every cell, which of ten thousand takes seconds


def render(answer: Answer, command: str, format: Format, started: datetime, took: timedelta) -> None:
    """Write the answer to stdout; for people, errors and messages go to stderr."""
    if format.is_document:
        document = _envelope(answer, command, started, took)
        _write(
            sys.stdout, _as_yaml(document) if format is Format.YAML else json.dumps(document, indent=2) + "\n"
        )
        return
    draw_blocks(answer, format)
    for message in answer.messages:
        _write(sys.stderr, f"note: {harmless(message)}\n")
    if answer.error is not None:
        _write(sys.stderr, f"error: {harmless_lines(answer.error.text)}\n")
        if answer.error.next_step:
            _write(sys.stderr, f"hint: {harmless(answer.error.next_step)}\n")


def draw_blocks(answer: Answer, format: Format) -> None:
    """Write what people see of an answer to stdout."""
    drawn = list[Line | Table | Patch]()
    for block in answer.blocks:
        if isinstance(block, Document):
            _write(sys.stdout, block.data)
        else:
            drawn.append(block)
    if format is Format.RICH and drawn:
        _write(sys.stdout, _drawn(drawn))
        return
    for block in drawn:
        _write(sys.stdout, _patch(block) if isinstance(block, Patch) else _plain(block))


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


def _patch(block: Patch) -> bytes | str:
    """A patch as it is; where someone looks at it, what stands in the files must not speak to the terminal."""
    if not sys.stdout.isatty():
        return block.data
    return "".join(f"{harmless(line)}\n" for line, _ in styled_lines(block.data))


def _drawn(blocks: Sequence[Line | Table | Patch]) -> str:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    with console.capture() as drawn:
        for block in _flat(blocks):
            if isinstance(block, Patch):
                for line, style in styled_lines(block.data):
                    console.print(Text(harmless(line), style=style))
                continue
            if isinstance(block, Line):
                console.print(Text(harmless(block.text), style="bold" if block.title else ""))
                continue
            table = RichTable(box=None, pad_edge=False, header_style="bold")
            for index, column in enumerate(block.columns):
                table.add_column(column, no_wrap=index == 0)
            for row in block.rows[:_MANY]:
                table.add_row(*(Text(harmless(cell)) for cell in row))
            # A word that is torn or cut cannot be searched for, nor an id or path copied: the terminal breaks lines.
            needed = console.measure(table, options=console.options.update(width=_ANY)).minimum
            if len(block.rows) > _MANY or needed > console.width:
                header, _, rows = _plain(block).partition("\n")
                console.print(Text(header, style="bold"))
                console.out(rows, end="", highlight=False)
                continue
            console.print(table, soft_wrap=False)
    return drawn.get()


def _flat(blocks: Sequence[Line | Table | Patch]) -> Iterator[Line | Table | Patch]:
    for block in blocks:
        yield block
        if isinstance(block, Patch):
            yield from block.summary


def _write(stream: TextIO, text: str | bytes) -> None:
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
