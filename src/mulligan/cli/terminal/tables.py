"""Tables as text: in columns, and folded between cells where the terminal is too narrow for a row."""

from collections.abc import Iterator, Sequence

from mulligan.api.document import harmless
from mulligan.cli.answers.answer import Table
from mulligan.cli.terminal.folds import columns

_GAP = "  "
_CUT = "..."
_NARROWEST = 12  # columns of a terminal that a shortened cell keeps at least


def table_text(table: Table, *, width: int | None, encoding: str) -> tuple[str, str]:
    """Header and rows; what finds no room beside the cells before it goes on below, set in.

    A cell is never broken: a word that is torn or cut cannot be searched for, nor an id or path copied. Only what the
    table allows to be shortened, because the row has an id too, is cut where all rows then are one line.
    """
    cells = [[_spelled(cell, encoding) for cell in row] for row in (table.columns, *table.rows)]
    if table.shortened is not None and width is not None:
        _shorten(cells, table.columns.index(table.shortened), width)
    widths = [_width([columns(row[i]) for row in cells], width) for i in range(len(table.columns))]
    if width is not None:
        widths[-1] = _last_width(cells, widths, width)
    header, *rows = ["".join(_lines(row, widths, width)) for row in cells]
    return header, "".join(rows)


def _shorten(cells: Sequence[list[str]], column: int, width: int) -> None:
    """Cut the cells of a column to the remaining width, unless that is too little to distinguish them."""
    others = [max(columns(row[i]) for row in cells) for i in range(len(cells[0])) if i != column]
    room = width - sum(others) - len(_GAP) * len(others)
    if room < _NARROWEST:
        return
    for row in cells:
        if columns(row[column]) > room:
            row[column] = _begun(row[column], room - len(_CUT)) + _CUT


def _begun(text: str, room: int) -> str:
    """As much of a text as there is room for."""
    while columns(text) > room:
        text = text[:-1]
    return text.rstrip()


def _width(cells: Sequence[int], room: int | None) -> int:
    """Return the width of a column; single cells that take more than three fifths of the room do not widen it."""
    header, *rows = cells
    usual = [taken for taken in rows if room is None or taken <= room * 3 // 5]
    return max(header, *(usual if any(usual) else rows), 0)


def _last_width(cells: Sequence[Sequence[str]], widths: Sequence[int], room: int) -> int:
    """Return the width of the last column: if most of its cells fit beside the others, only the rest go below."""
    *before, wanted = widths
    left = room - sum(before) - len(_GAP) * len(before)
    fitting = [taken for row in cells if (taken := columns(row[-1])) <= left]
    return max(fitting) if 2 * len(fitting) > len(cells) else wanted


def _lines(row: Sequence[str], widths: Sequence[int], width: int | None) -> Iterator[str]:
    """A row as lines, most often one."""
    line, used = "", 0
    for cell, wanted in zip(row, widths, strict=True):
        taken = columns(cell)
        room = max(wanted, taken)
        if used and width is not None and used + len(_GAP) + room > width:
            if line.strip():
                yield f"{line.rstrip()}\n"
            line, used = _GAP, 0
        elif used:
            line, used = line + _GAP, used + len(_GAP)
        line += cell + " " * (room - taken)
        used += room + (len(_GAP) if line.startswith(_GAP) and not used else 0)
    if line.strip():
        yield f"{line.rstrip()}\n"


def _spelled(text: str, encoding: str) -> str:
    """The text as it will be written, so that what the locale does not have is counted as it is spelled."""
    shown = harmless(text)
    return shown if shown.isascii() else shown.encode(encoding, "backslashreplace").decode(encoding)
